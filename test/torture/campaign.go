package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
)

// A trial is one case of the campaign: a project in which everything died at some moment and something was damaged, and
// what pawl and its person made of it.
type trial struct {
	*story
	number int
	dice   *rand.Rand

	deaths  []string
	damages []damage
	full    string // the fault of a resume on a full disk, empty: none

	own     map[string]string // what the person wrote, by path in the project, as it should be
	edited  map[string]string // outputs that they edited, by name
	atLast  map[string]string // the person's files as they were last seen or put back
	before  *history          // the journal when all had died
	ends    map[string]end    // attempts that had ended well then, by token
	mark    int               // lines of the ledger then
	journal string            // as it was damaged; empty: it is gone

	stops    []stop
	doubted  map[string]bool // works that the person accepted as in doubt, or as not done
	because  string          // the complaint before `pawl recover` was typed
	lastSaid string
	ended    bool
	heard    strings.Builder // all that was typed and said

	wrongs   []string
	needless []string
}

// tell notes what was typed and said.
func (c *trial) tell(format string, args ...any) { fmt.Fprintf(&c.heard, format, args...) }

// campaign has pawl and its person go on after every case, prints the table, and fails where a verdict was wrong or too
// many questions were needless.
func (t *torture) campaign() error {
	var (
		mu    sync.Mutex
		table = newTable()
	)
	numbers := make([]int, t.cases)
	for i := range numbers {
		numbers[i] = i
	}
	if t.number >= 0 {
		numbers = []int{t.number}
	}
	began := time.Now()
	err := abreast(2*t.parallel, len(numbers), func(i int) error {
		c, err := t.trial(numbers[i])
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		table.add(c)
		return c.close()
	})
	table.print(t.out, time.Since(began))
	return errors.Join(err, table.fault())
}

// close forgets a case in which all was well; of the others it keeps the folder, with what was said in it.
func (c *trial) close() error {
	if c.torture.number >= 0 {
		fmt.Fprintf(c.out, "%s\n%s", c, c.heard.String())
	}
	if len(c.wrongs)+len(c.needless) == 0 {
		return c.remove()
	}
	return os.WriteFile(filepath.Join(c.dir, "said"), []byte(c.String()+"\n"+c.heard.String()), 0o600)
}

// String says a case in one line.
func (c *trial) String() string {
	words := slices.Clone(c.deaths)
	for _, d := range c.damages {
		words = append(words, d.what)
	}
	return fmt.Sprintf("case %d: %s", c.number, strings.Join(words, "; "))
}

// trial carries one case out.
func (t *torture) trial(number int) (*trial, error) {
	s := &story{torture: t, dir: filepath.Join(t.dir, fmt.Sprintf("case-%d", number)), folder: "project", killed: map[string]bool{}}
	c := &trial{story: s, number: number, dice: t.rand("campaign", number), edited: map[string]string{}}
	for _, phase := range []func() error{c.settle, c.die, c.look, c.suffer, c.goOn, c.judge} {
		if err := phase(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// settle makes the project, with git and with files that are none of pawl's business.
func (c *trial) settle() error {
	if err := c.furnish("campaign"); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"README.md": "mine\n", ".gitignore": "*.env\n", "notes.txt": "not added\n", "secret.env": "TOKEN=1\n",
	} {
		if err := os.WriteFile(c.project(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "--template="}, {"add", "README.md", "plan.yaml", "step.sh", ".gitignore"}, {"commit", "-qm", "base"},
		{"switch", "-q", "-c", "other"}, {"rm", "-q", "README.md"}, {"commit", "-qm", "away"}, {"switch", "-q", "main"},
	} {
		if err := c.git(args...); err != nil {
			return err
		}
	}
	if err := os.WriteFile(c.project("README.md"), []byte("mine too\n"), 0o600); err != nil {
		return err
	}
	if err := errors.Join(c.git("commit", "-qam", "changed"), c.init()); err != nil {
		return err
	}
	return os.WriteFile(c.project(pawlFolder, "config.yaml"), []byte("# mine\nsnapshots:\n  quota: 1GiB\n"), 0o600)
}

// die runs the plan, kills a supervisor or a child up to twice meanwhile, and in the end the engine or everything.
func (c *trial) die() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd, said := c.command(ctx, c.torture.pawl, nil, "run", "plan.yaml")
	strikes := []role{engine, engine, everybody}[c.dice.IntN(3):][:1]
	for range c.dice.IntN(3) {
		strikes = append([]role{[]role{supervisor, child}[c.dice.IntN(2)]}, strikes...)
	}
	moments := make([]moment, len(strikes))
	for i := range moments {
		moments[i] = moment{lines: c.dice.IntN(usualLines + 1), delay: time.Duration(c.dice.IntN(30)) * time.Millisecond}
	}
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Or(cmp.Compare(a.lines, b.lines), cmp.Compare(a.delay, b.delay)) })
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	for i, who := range strikes {
		c.await(moments[i], ended)
		c.strikeAt(who, cmd.Process.Pid, moments[i])
	}
	<-ended
	c.tell("$ pawl run plan.yaml\n%s", said)
	if chance(c.dice, 60) {
		return c.calm()
	}
	return nil
}

// everybody is hit when a machine dies.
const everybody role = "everybody"

// A moment is so long after the ledger has so many lines.
type moment struct {
	lines int
	delay time.Duration
}

// await returns at a moment, or when the engine has ended.
func (c *trial) await(m moment, ended <-chan struct{}) {
	for {
		data, err := os.ReadFile(c.outside("truth"))
		if err == nil && strings.Count(string(data), "\n") >= m.lines || m.lines == 0 {
			break
		}
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
	select {
	case <-ended:
	case <-time.After(m.delay):
	}
}

// strikeAt kills one of a role, or everybody.
func (c *trial) strikeAt(who role, enginePID int, m moment) {
	hit := 0
	var victims []proc
	for _, p := range c.processes() {
		switch {
		case who == everybody, who == engine && p.pid == enginePID, who == p.role && who != engine:
			victims = append(victims, p)
		}
	}
	if len(victims) > 1 && who != everybody {
		victims = victims[c.dice.IntN(len(victims)):][:1]
	}
	for _, p := range victims {
		hit += c.kill(p)
	}
	if hit > 0 {
		c.deaths = append(c.deaths, fmt.Sprintf("killed %s %s after line %d", who, m.delay, m.lines))
	}
}

// calm waits until what the engine left has ended by itself.
func (c *trial) calm() error {
	for end := time.Now().Add(patience); len(c.processes()) > 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return c.wrong("what the engine left does not end")
		}
	}
	return nil
}

// look remembers how things were before anything was damaged. Sometimes snapshots were pruned before.
func (c *trial) look() error {
	if chance(c.dice, 25) {
		c.types("pawl prune")
	}
	var err error
	if c.before, err = c.history(); err != nil {
		return err
	}
	c.ends, err = c.endedWell()
	c.own = map[string]string{"plan.yaml": "", filepath.Join(pawlFolder, "config.yaml"): ""}
	for name := range c.own {
		data, readErr := os.ReadFile(c.project(name))
		c.own[name], err = string(data), errors.Join(err, readErr)
	}
	return err
}

// suffer damages the project, once or up to three times, or not at all.
func (c *trial) suffer() error {
	for range []int{0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3}[c.dice.IntN(12)] {
		if err := c.harm(); err != nil {
			return err
		}
	}
	effects, err := c.truth()
	if err != nil {
		return err
	}
	c.mark = len(effects)
	if data, err := os.ReadFile(c.project(pawlFolder, "runs", string(c.before.run), "journal.jsonl")); err == nil {
		c.journal = string(data)
	}
	if c.atLast, err = c.users(); err != nil || c.full == "" {
		return err
	}
	return c.faulted([]string{faultVar + c.full, faultOnly + "resume", faultCount + c.calls("resume")}, "resume")
}

// An end is a record of an attempt that ended well.
type end struct {
	work string
	dir  string // of its records, below .pawl
}

// endedWell returns the attempts whose exit records say so, by token.
func (c *trial) endedWell() (map[string]end, error) {
	found := map[string]end{}
	for _, pattern := range []string{"*/*", "*/*/*"} {
		paths, err := filepath.Glob(c.project(pawlFolder, "runs", "*", "steps", pattern, pawl.ExitFile))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			var exit pawl.Exit
			if !readJSON(path, &exit) || exit.Reason != pawl.ReasonExited || exit.Exit == nil || *exit.Exit != 0 || !pawl.Passed(exit.Checks) {
				continue
			}
			dir, err := filepath.Rel(c.project(pawlFolder), filepath.Dir(path))
			if err != nil {
				return nil, err
			}
			if work, known := c.before.started[string(exit.Token)]; known {
				found[string(exit.Token)] = end{work: work, dir: dir}
			}
		}
	}
	return found, nil
}

// kinds returns of which kinds the damages of a case are.
func (c *trial) kinds() []string {
	if len(c.damages) == 0 {
		return []string{"nothing damaged"}
	}
	kinds := map[string]bool{}
	for _, d := range c.damages {
		kinds[d.kind] = true
	}
	return slices.Sorted(maps.Keys(kinds))
}
