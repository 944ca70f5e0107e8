package engine_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl/internal/engine/enginetest"
	"pawl/internal/resume"
	"pawl/internal/supervise"
)

// randomRuns is the number of random plans that run; they are few because each starts processes.
const randomRuns = 20

// TestRandomInterruptions kills engines, and supervisors, at random while they carry out random plans, and compares what came
// of it with what the plan says. -rapid.seed repeats a failure: its seed is the name of the subtest that failed.
func TestRandomInterruptions(t *testing.T) {
	t.Parallel()
	first := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(flag.Lookup("rapid.seed").Value.String(), 10, 64); err == nil && given != 0 {
		first = given
	}
	for seed := first; seed < first+randomRuns; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rapid.MakeFuzz(func(r *rapid.T) { interrupt(t, r) })(t, bytesOf(seed))
		})
	}
}

// bytesOf returns random bytes, from which a test draws.
func bytesOf(seed uint64) []byte {
	source := rand.New(rand.NewPCG(seed, seed))
	var data []byte
	for range 4096 {
		data = binary.LittleEndian.AppendUint64(data, source.Uint64())
	}
	return data
}

// randomStep is a step of the model.
type randomStep struct {
	id    string
	needs []string
	items []string
	flaky bool
	fate  string // never: its condition is false; fails: always, with continue_on_error; sees: its condition is true; "": it has none
}

// work returns the names of what the step does.
func (s randomStep) work() []string {
	if s.items == nil {
		return []string{s.id}
	}
	names := make([]string, len(s.items))
	for i, item := range s.items {
		names[i] = s.id + "/" + item
	}
	return names
}

// yaml returns the step as a plan has it. It says in the ledger when it begins and when it ends.
func (s randomStep) yaml() string {
	name, fails, list := s.id, "", ""
	if s.items != nil {
		name, list = s.id+"/$PAWL_ITEM", ", foreach: {items: ["+strings.Join(s.items, ", ")+"]}"
	}
	if s.flaky {
		fails = fmt.Sprintf("test -e \"failed-%s-$PAWL_ITEM\" || { touch \"failed-%s-$PAWL_ITEM\"; exit 1; }; ", s.id, s.id)
	}
	switch s.fate {
	case "never":
		list += ", if: 1 > 2"
	case "fails":
		list, fails = list+", continue_on_error: true", "exit 1; "
	case "sees":
		list += fmt.Sprintf(", if: \"steps.%s.status != 'pending' && success()\"", s.needs[0])
	}
	return fmt.Sprintf("  - {id: %s, needs: [%s], retry: {attempts: 2, backoff: 1ms}%s, run: 'echo start %s >> ledger.txt; %secho end %s >> ledger.txt'}\n",
		s.id, strings.Join(s.needs, ", "), list, name, fails, name)
}

func drawSteps(r *rapid.T) []randomStep {
	all := make([]randomStep, rapid.IntRange(2, 5).Draw(r, "steps"))
	for i := range all {
		s := &all[i]
		s.id = fmt.Sprintf("s%d", i)
		for _, before := range all[:i] {
			if rapid.Bool().Draw(r, "needs "+before.id) {
				s.needs = append(s.needs, before.id)
			}
		}
		if rapid.IntRange(0, 2).Draw(r, "list") == 0 {
			s.items = []string{"x", "y", "z"}[:rapid.IntRange(1, 3).Draw(r, "items")]
		}
		s.flaky = rapid.IntRange(0, 3).Draw(r, "flaky") == 0
		s.fate = rapid.SampledFrom([]string{"", "", "", "never", "fails", "sees"}).Draw(r, "fate")
		if s.fate == "sees" && len(s.needs) == 0 {
			s.fate = ""
		}
	}
	return all
}

func interrupt(t *testing.T, r *rapid.T) {
	all := drawSteps(r)
	p := enginetest.New(t)
	plan := "name: random\n"
	if rapid.Bool().Draw(r, "one at a time") {
		plan += "parallel: 1\n"
	}
	plan += "steps:\n"
	for _, s := range all {
		plan += s.yaml()
	}
	p.Create(plan)
	lost := map[string]int{}
	for range rapid.IntRange(1, resume.MaxLosses-1).Draw(r, "interruptions") { // after MaxLosses, a person would be asked
		p.KilledAt("", rapid.IntRange(1, 15).Draw(r, "events"))
		if len(lost) == 0 && rapid.Bool().Draw(r, "supervisors too") {
			loseAll(p, lost)
		}
	}
	p.Check(p.GoOn())
	checkJournal(p, all)
	checkLedger(p, all, lost)
	if t.Failed() {
		t.Logf("plan:\n%s\nledger:\n%s\nstory: %v", plan, p.Text("ledger.txt"), p.Story())
	}
}

// loseAll kills the supervisors of all live attempts, and counts how often that may have cut work off.
func loseAll(p *enginetest.Project, lost map[string]int) {
	p.Helper()
	for _, live := range p.State().Live() {
		lost[live.Name()]++
		dir := p.AttemptDir(live.AttemptRef, p.Run)
		_ = supervise.Kill(dir) // it may have ended by itself meanwhile
		p.Check(supervise.Attach(dir).Wait(p.Context()))
	}
}

// checkJournal checks that work is finished once, and begun only when all that it needs was finished.
func checkJournal(p *enginetest.Project, all []randomStep) {
	p.Helper()
	finished := map[string]int{}
	for _, word := range p.Story("attempt.started", "item.done", "step.done", "step.failed", "step.skipped") {
		kind, name, _ := strings.Cut(word, ":")
		if kind != "attempt.started" {
			finished[name]++
			continue
		}
		if finished[name] > 0 {
			p.Errorf("%s was begun after it was finished", name)
		}
		id, _, _ := strings.Cut(name, "/")
		for _, need := range stepOf(all, id).needs {
			if finished[need] == 0 {
				p.Errorf("%s was begun before %s was finished", name, need)
			}
		}
	}
	for _, s := range all {
		names := []string{s.id}
		if s.fate == "" || s.fate == "sees" {
			names = append(names, s.work()...)
		}
		for _, name := range slices.Compact(names) {
			if finished[name] != 1 {
				p.Errorf("%s was finished %d times", name, finished[name])
			}
		}
	}
}

func stepOf(all []randomStep, id string) randomStep {
	return all[slices.IndexFunc(all, func(s randomStep) bool { return s.id == id })]
}

// checkLedger checks how often work really began and came to its end, and in which order.
func checkLedger(p *enginetest.Project, all []randomStep, lost map[string]int) {
	p.Helper()
	lines := strings.Split(p.Text("ledger.txt"), "\n")
	count := func(line string) (n int) {
		for _, l := range lines {
			if l == line {
				n++
			}
		}
		return n
	}
	for _, s := range all {
		usual := 1
		if s.flaky || s.fate == "fails" {
			usual = 2
		}
		for _, name := range s.work() {
			starts, ends := count("start "+name), count("end "+name)
			if s.fate == "never" || s.fate == "fails" {
				if ends > 0 || s.fate == "never" && starts > 0 || s.fate == "fails" && (starts < usual || starts > usual+lost[name]) {
					p.Errorf("%s, which %s, began %d times and ended %d times; it was lost %d times", name, s.fate, starts, ends, lost[name])
				}
				continue
			}
			if starts < usual || starts > usual+lost[name] || ends < 1 || ends > 1+lost[name] {
				p.Errorf("%s began %d times and ended %d times; it was lost %d times", name, starts, ends, lost[name])
			}
			for _, need := range s.needs {
				for _, before := range stepOf(all, need).work() {
					if !slices.Contains(lines, "end "+before) {
						continue // never done
					}
					if slices.Index(lines, "start "+name) < slices.Index(lines, "end "+before) {
						p.Errorf("%s began before %s had ended", name, before)
					}
				}
			}
		}
	}
}
