//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
)

// planned is a step of the plan.
type planned struct {
	name   string
	needs  []string // whose files it reads
	ticks  int      // tenths of a second that it takes
	unsafe bool     // not idempotent
}

// makePlan returns the steps of a plan. Each but the first ones reads the files of one or two of those before it, and writes one.
func makePlan(dice *rand.Rand, n, longest int) (steps []planned) {
	const window = 40 // so there are always many steps that can run
	for i := range n {
		s := planned{name: fmt.Sprintf("s%03d", i), ticks: 1 + dice.IntN(longest), unsafe: dice.IntN(10) == 0}
		for _, back := range dice.Perm(window)[:1+dice.IntN(2)] {
			if j := i - 1 - back; j >= 0 {
				s.needs = append(s.needs, steps[j].name)
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// text returns the plan as YAML.
func text(steps []planned, parallel int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nname: machines\nmode: autopilot\nparallel: %d\ndefaults: {timeout: 5m, on: {queue: work}}\nsteps:\n", parallel)
	for _, s := range steps {
		extra := ""
		if s.unsafe {
			extra = ", idempotent: false"
		}
		fmt.Fprintf(&b, "  - {id: %s, needs: [%s], run: sh step.sh %s %d %s, inputs: [%s], outputs: [out/%s]%s}\n", s.name, strings.Join(s.needs, ", "),
			s.name, s.ticks, strings.Join(s.needs, " "), strings.Join(append([]string{"step.sh"}, paths(s.needs)...), ", "), s.name, extra)
	}
	return b.String()
}

func paths(names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, "out/"+name)
	}
	return paths
}

// script is what each step runs: NAME TICKS NEED… It writes a file whose first line says who wrote it, with a number that nobody else
// has, and whose others follow from the files that it reads. The ledger, outside of pawl, gets a line at the beginning, which says whose
// files it read, then one each tenth of a second, and one at the end.
const script = `set -eu
name=$1 ticks=$2
shift 2
number=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
tell() { echo "$1 $name $PAWL_TOKEN $number $(hostname) $(date +%s%N) $2" >>/ledger/lines; }
read_from= content=$name
for need; do
	{ read -r _ _ from; read -r sum; } <out/$need
	read_from="$read_from $need=$from" content="$content $sum"
done
tell begin "$read_from"
while [ "$ticks" -gt 0 ]; do
	sleep 0.1
	ticks=$((ticks - 1))
	tell tick ''
done
sum=$(printf %s "$content" | sha256sum | cut -d ' ' -f 1)
mkdir -p out
{
	echo "$name $PAWL_TOKEN $number"
	i=0
	while [ $i -lt 64 ]; do
		echo "$sum"
		i=$((i + 1))
	done
} >out/$name
tell end ''
`

// expected returns what follows the first line of each file.
func expected(steps []planned) map[string]string {
	sums, bodies := map[string]string{}, map[string]string{}
	for _, s := range steps {
		content := s.name
		for _, need := range s.needs {
			content += " " + sums[need]
		}
		sums[s.name] = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		bodies[s.name] = strings.Repeat(sums[s.name]+"\n", 64)
	}
	return bodies
}
