package durable_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pawl"
	"pawl/durable"
)

// ledger is what the program said in all its lives, in order.
type ledger []string

// play runs the program to its end, whatever that is, and reports whether it finished.
func (l *ledger) play(t *testing.T, args ...string) (finished bool) {
	t.Helper()
	c := startProgram(t, args...)
	for c.lines.Scan() {
		*l = append(*l, c.lines.Text())
	}
	return c.Wait() == nil
}

// check finds effects of steps that had been done before, and steps that were never done.
func (l ledger) check(t *testing.T) (effects map[string]int) {
	t.Helper()
	effects, done := map[string]int{}, map[string]bool{}
	for _, line := range l {
		what, n, _ := strings.Cut(line, " ")
		switch {
		case what == "done":
			done[n] = true
		case done[n]:
			t.Errorf("step %s ran again after it was done", n)
		default:
			effects[n]++
		}
	}
	if len(done) != steps {
		t.Errorf("%d of %d steps were done", len(done), steps)
	}
	return effects
}

func TestKilledInsideAndBehindEachStep(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"inside", "behind"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var said ledger
			for i := range steps {
				if said.play(t, dir, where, fmt.Sprint(i)) {
					t.Fatalf("it did not die %s step %d", where, i)
				}
			}
			if !said.play(t, dir, "nowhere", "-1") {
				t.Fatal("it did not finish")
			}
			want := map[string]int{"inside": 2, "behind": 1}[where]
			for n, times := range said.check(t) {
				if times != want {
					t.Errorf("step %s: %d effects, want %d", n, times, want)
				}
			}
			states := fsck(t, dir)
			if len(states) != 1 || states[0].Status != pawl.StatusCompleted || states[0].Deaths != steps {
				t.Errorf("want one completed run with %d deaths: %+v", steps, states)
			}
		})
	}
}

func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var said ledger
	for lives := 1; ; lives++ {
		c := startProgram(t, dir, "nowhere", "-1")
		for patience := rand.IntN(6); patience > 0 && c.lines.Scan(); patience-- {
			said = append(said, c.lines.Text())
		}
		if lives < 15 {
			_ = c.Process.Kill()
		}
		for c.lines.Scan() {
			said = append(said, c.lines.Text())
		}
		_ = c.Wait()
		if states := fsck(t, dir); len(states) > 0 && states[0].Ended() {
			break
		}
	}
	said.check(t)
}

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startProgram(t, dir, "wait", "0")
	c.lines.Scan()
	err := durable.Run(t.Context(), dir, "another", nil)
	if pawl.KindOf(err) != pawl.KindHeld || !strings.Contains(err.Error(), fmt.Sprintf("pid %d, run program-", c.Process.Pid)) {
		t.Errorf("beside another process: %v", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	var said ledger
	if !said.play(t, dir, "nowhere", "-1") {
		t.Error("the lock did not end with its holder")
	}
}
