//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/test/machines/machine"
)

// Exit codes of pawl.
const (
	codeDone   = 0
	codeGate   = 3
	codeFailed = 4
	codeUnsafe = 5
	codeHeld   = 6
	codeOver   = 7
)

// operator is the person who started the run. They resume it when its engine has died, on another machine when the first one is gone,
// and answer what pawl asks, as somebody careful does.
type operator struct {
	*cluster
	run string // ID

	mu       sync.Mutex // guards what follows
	home     int        // the machine with the engine
	wanted   int        // the machine that is to have it
	calls    int
	approved map[string]int // how often a step was allowed to run again
	resumed  int
	moved    int
	stranded int // how often the files were only on the machine that was left
}

// journalOf returns the path of the journal that a machine has of the run.
func journalOf(m *machine.Machine) string {
	found, _ := filepath.Glob(m.Path(project + "/.pawl/runs/*/journal.jsonl")) // the pattern is valid
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// setUp makes the projects.
func (o *operator) setUp(steps []planned) error {
	for i, m := range o.engines {
		folder := m.Path(project)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		plan := text(steps, workers*places)
		files := errors.Join(os.WriteFile(filepath.Join(folder, "plan.yaml"), []byte(plan), 0o644), os.WriteFile(filepath.Join(folder, "step.sh"), []byte(script), 0o644))
		if files != nil {
			return files
		}
		for _, args := range [][]string{{"init"}, {"store", "move", "postgres"}, {"remote", "add", "origin", bucket, "--auto"}} {
			if code, said := o.call(i, args...); code != 0 {
				return fmt.Errorf("%s: pawl %v: exit code %d: %s", m.Name, args, code, said)
			}
		}
	}
	return nil
}

// call runs pawl in the project on a machine, and returns what it said.
func (o *operator) call(on int, args ...string) (code int, said string) {
	o.mu.Lock()
	o.calls++
	output := fmt.Sprintf("/home/said/%04d-%s", o.calls, args[0])
	o.mu.Unlock()
	m := o.engines[on]
	if err := os.MkdirAll(m.Path("/home/said"), 0o755); err != nil {
		return -1, err.Error()
	}
	code, err := m.Run(machine.Command{Args: append([]string{programs + "/pawl"}, args...), Env: o.env, Dir: project, Output: output})
	if err != nil {
		if !errors.Is(err, machine.ErrDown) {
			fmt.Fprintf(o.out, "%s: %v\n", m.Name, err)
		}
		return -1, err.Error()
	}
	data, err := os.ReadFile(m.Path(output))
	if err != nil {
		return code, err.Error()
	}
	return code, string(data)
}

// place returns where the engine is, and where it is to be.
func (o *operator) place() (home, wanted int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.home, o.wanted
}

// move has the operator continue the run on another machine.
func (o *operator) move(to int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted = to
}

// ended is how a call ended.
type ended struct {
	code int
	said string
}

// work carries out the run, and returns when it is completed.
func (o *operator) work() error {
	next := []string{"run", "plan.yaml"}
	for {
		home, _ := o.place()
		over := make(chan ended, 1)
		go func(args []string) {
			code, said := o.call(home, args...)
			over <- ended{code, said}
		}(next)
		e, moved := o.follow(home, over)
		if moved {
			next = []string{"resume", "--pull", o.run}
			continue
		}
		if e.code == codeDone || e.code == codeOver && strings.Contains(e.said, "already complete") {
			return nil
		}
		if next[0] == "resume" {
			o.mu.Lock()
			o.resumed++
			o.mu.Unlock()
		}
		var err error
		if next, err = o.react(home, next, e); err != nil {
			return err
		}
	}
}

// follow waits for the end of a command, or until the run is to continue on another machine and that is ready.
func (o *operator) follow(home int, over chan ended) (e ended, moved bool) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case e := <-over:
			if _, wanted := o.place(); wanted == home || e.code == codeDone {
				return e, false
			}
		case <-ticker.C:
		}
		if _, wanted := o.place(); wanted != home && o.prepare(wanted) {
			o.mu.Lock()
			o.home = wanted
			o.moved++
			o.mu.Unlock()
			return ended{}, true
		}
	}
}

// prepare has a machine know the run, so that it can continue it.
func (o *operator) prepare(on int) bool {
	known, err := filepath.Glob(o.engines[on].Path(project + "/.pawl/runs/" + o.run + "/journal.jsonl"))
	if err == nil && len(known) > 0 {
		return true
	}
	if code, _ := o.call(on, "store", "pull", o.run); code != 0 {
		return false
	}
	code, _ := o.call(on, "adopt", "--yes", o.run)
	return code == 0
}

// react does what a person does after a command has ended before the run, and returns the next command.
func (o *operator) react(home int, was []string, e ended) ([]string, error) {
	pause := 300 * time.Millisecond
	next := []string{"resume", o.run}
	switch e.code {
	case codeGate:
		if err := o.answer(home); err != nil {
			return nil, err
		}
	case codeFailed:
		return nil, fmt.Errorf("the run failed: %s", lastLines(e.said))
	case codeHeld:
		pause, next = time.Second, was // the lease of the other engine has not expired
	case codeUnsafe:
		if strings.Contains(e.said, "pawl adopt") { // a gate was answered on the other machine
			if code, said := o.call(home, "adopt", "--yes", o.run); code != 0 && code != -1 {
				return nil, fmt.Errorf("pawl adopt: %s", said)
			}
			next = was
			break
		}
		if len(was) < 3 || !strings.Contains(e.said, "does not have the files") {
			return nil, fmt.Errorf("pawl %v: %s", was, e.said)
		}
		o.mu.Lock() // only the other machine has them
		o.wanted, o.home = 1-home, 1-home
		o.stranded++
		o.mu.Unlock()
	case -1: // killed
	default:
		if strings.Contains(e.said, "does not answer") { // the database, for now
			pause, next = time.Second, was
			break
		}
		fmt.Fprintf(o.out, "%s: pawl %s: exit code %d: %s\n", o.engines[home].Name, strings.Join(was, " "), e.code, lastLines(e.said))
		pause, next = time.Second, was
	}
	if o.run == "" {
		next = was
	}
	if slices.Contains(was, "--pull") && e.code == -1 { // it was killed while it fetched the files
		next = was
	}
	time.Sleep(pause)
	return next, nil
}

// stalls returns when no step has written to the ledger for too long. The error says where the run stands.
func (o *operator) stalls(done chan struct{}) error {
	size, since := int64(0), time.Now()
	for {
		select {
		case <-done:
			return nil
		case <-time.After(time.Second):
		}
		if info, err := os.Stat(filepath.Join(o.dir, "ledger", "lines")); err == nil && info.Size() != size {
			size, since = info.Size(), time.Now()
		}
		if time.Since(since) > longestStall {
			home, wanted := o.place()
			up := []string{}
			for _, m := range o.machines() {
				if m.Up() {
					up = append(up, m.Name)
				}
			}
			return fmt.Errorf("no step has run for %s; engine on %s, wanted on %s; machines that are up: %v", longestStall, o.engines[home].Name, o.engines[wanted].Name, up)
		}
	}
}

// longestStall is longer than any outage, lease and take-over together.
const longestStall = 4 * time.Minute

func lastLines(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], " | ")
}

// gate is an open gate, as pawl reports it.
type gate struct {
	ID, Step, Purpose, Ask string
}

// answer answers the open gates. All of them ask whether a step that crashed may run again: the person knows that its machine has ended
// it, because pawl waits for that, and that to run again does no harm after that.
func (o *operator) answer(home int) error {
	code, said := o.call(home, "status", "--json", o.run)
	var status struct{ Gates []gate }
	if err := json.Unmarshal([]byte(said), &status); code != 0 || err != nil {
		return nil // it was killed, or the database does not answer
	}
	for _, g := range status.Gates {
		if g.Purpose != "repeat" {
			return fmt.Errorf("pawl asks: %+v", g)
		}
		if code, said := o.call(home, "approve", "--yes", "--run", o.run, g.ID); code == 0 {
			o.mu.Lock()
			o.approved[g.Step]++
			o.mu.Unlock()
		} else if code > 0 {
			fmt.Fprintf(o.out, "approve %s: exit code %d: %s\n", g.ID, code, lastLines(said))
		}
	}
	return nil
}

// started waits until the run is there.
func (o *operator) started() error {
	return await(2*time.Minute, func() bool {
		found, err := filepath.Glob(o.engines[0].Path(project + "/.pawl/runs/*/plan.yaml"))
		if err != nil || len(found) != 1 {
			return false
		}
		o.run = filepath.Base(filepath.Dir(found[0]))
		return true
	}, func() string { return "the run begins" })
}
