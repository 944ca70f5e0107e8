package durable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/durable"
	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
)

// orders is how many runs the program of the kill tests has.
const orders = 3

// manyRuns is a program that uses all of the package. Each step says what it does before it does it, and that it is done once the
// function has its result.
func manyRuns(args []string) (err error) {
	e, err := durable.Open(args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	label := durable.Register(e, "label", func(ctx context.Context, order string) (string, error) {
		return step(ctx, order, "label", nil)
	})
	ship := durable.Register(e, "ship", func(ctx context.Context, n int) (all string, err error) {
		order := fmt.Sprint("order-", n)
		failed := false
		first, err := step(ctx, order, "flaky", func() error {
			if !failed {
				failed = true
				return errBroken
			}
			return nil
		}, durable.Retry{Attempts: 5, Pause: time.Millisecond}) // it fails once in each life
		if err != nil {
			return "", err
		}
		if err := durable.Sleep(ctx, "sleep", time.Millisecond); err != nil {
			return "", err
		}
		printed := label.Start(ctx, "label", order)
		packed := durable.Go(ctx, "pack", func(ctx context.Context) (string, error) {
			return "pack", e.Signal(ctx, fmt.Sprint("order-", (n+1)%orders), "neighbor", n)
		})
		for range 2 {
			from, err := durable.Await[int](ctx, "outside", 0)
			if err != nil {
				return "", err
			}
			first += fmt.Sprint(" ", from)
		}
		neighbor, err := durable.Await[int](ctx, "neighbor", 0)
		if err != nil {
			return "", err
		}
		_, errPacked := packed.Wait(ctx)
		second, err := printed.Wait(ctx)
		return fmt.Sprint(first, " ", neighbor, " ", second), errors.Join(err, errPacked)
	})
	if _, err := e.Recover(context.Background()); err != nil {
		return err
	}
	var all []*durable.Future[string]
	for n := range orders {
		all = append(all, ship.Start(context.Background(), fmt.Sprint("order-", n), n))
	}
	fmt.Println("started -")
	for n, f := range all {
		result, err := f.Wait(context.Background())
		if err != nil {
			return err
		}
		fmt.Printf("result %d %s\n", n, result)
	}
	return nil
}

// step does a step whose effect is a line.
func step(ctx context.Context, order, name string, do func() error, retry ...durable.Retry) (string, error) {
	result, err := durable.Step(ctx, name, func(context.Context) (string, error) {
		fmt.Printf("effect %s/%s\n", order, name)
		if do != nil {
			return name, do()
		}
		return name, nil
	}, retry...)
	if err == nil {
		fmt.Printf("done %s/%s\n", order, name)
	}
	return result, err
}

// signalAll sends the signals from outside, once the runs are there, unless the program dies before. It is called in each life of the
// program; each signal counts once.
func signalAll(t *testing.T, dir string, dead <-chan struct{}) {
	t.Helper()
	for n := range orders {
		for k := 1; k <= 2; {
			err := durable.Signal(t.Context(), dir, fmt.Sprint("order-", n), "outside", k, fmt.Sprint("key ", k))
			switch {
			case errors.Is(err, pawl.ErrNoRun), errors.Is(err, pawl.ErrNoProject):
				select {
				case <-dead:
					return
				default:
				}
				continue
			case err != nil && !errors.Is(err, durable.ErrEnded):
				t.Error(err)
			}
			k++
		}
	}
}

// lives plays the program until it finishes, first with faults, and returns what it said in all its lives.
func lives(t *testing.T, dir string, faults ...string) (said []string) {
	t.Helper()
	for life := 0; ; life++ {
		var env []string
		if life < len(faults) {
			env = []string{disktest.FaultVar + "=" + faults[life]}
			if faults[life] == "count" {
				env = append(env, disktest.FaultLog+"="+filepath.Join(dir, "calls"))
			}
		}
		c := startProgramWith(t, env, "many", dir)
		dead := make(chan struct{})
		var sender sync.WaitGroup
		for c.lines.Scan() {
			if said = append(said, c.lines.Text()); c.lines.Text() == "started -" {
				sender.Go(func() { signalAll(t, dir, dead) })
			}
		}
		close(dead)
		sender.Wait()
		err := c.Wait()
		if err == nil {
			return said
		}
		if life >= len(faults) || c.ProcessState.ExitCode() >= 0 {
			t.Fatalf("life %d: %v", life, err)
		}
	}
}

// checkLives reports finished steps that ran again, results that are missing or wrong, and signals that came twice.
func checkLives(t *testing.T, what, dir string, said []string) {
	t.Helper()
	done, results := map[string]bool{}, map[string]bool{}
	for _, line := range said {
		kind, name, _ := strings.Cut(line, " ")
		switch {
		case kind == "done":
			done[name] = true
		case kind == "effect" && done[name]:
			t.Errorf("%s: step %s ran again after it was done", what, name)
		case kind == "result":
			results[name] = true
		}
	}
	for n := range orders {
		if want := fmt.Sprintf("%d flaky 1 2 %d label", n, (n+orders-1)%orders); !results[want] {
			t.Errorf("%s: no result %q in %v", what, want, results)
		}
	}
	states := fsck(t, dir)
	for _, s := range states {
		if s.Status != pawl.StatusCompleted || !strings.Contains(s.Name, "/") && len(s.Steps) != 9 {
			t.Errorf("%s: run %s is %s with %d steps", what, s.Name, s.Status, len(s.Steps))
		}
	}
	if len(states) != 2*orders || len(results) != orders {
		t.Errorf("%s: %d runs, %d results", what, len(states), len(results))
	}
	if _, err := os.Lstat(filepath.Join(dir, ".pawl", "runs", journal.CommitsName)); err == nil {
		t.Errorf("%s: the commit log is still there", what)
	}
}

// TestKilledAtEveryWrite kills the program at every call that changes the disk, and then, while it recovers, at a random one.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	checkLives(t, "without a fault", dir, lives(t, dir, "count"))
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Count(string(data), "\n")
	if calls < 100 {
		t.Fatalf("only %d calls", calls)
	}
	for n := range disktest.FaultPoints(rand.IntN(8), 8, calls) {
		dir := t.TempDir()
		faults := []string{fmt.Sprint("die:", n), fmt.Sprint("die:", 1+rand.IntN(calls))}
		checkLives(t, strings.Join(faults, ", "), dir, lives(t, dir, faults...))
	}
}

// TestSeveralProgramsAtOnce starts the program several times at once where it was killed. One of them works at a time, and the others are
// refused without having done anything.
func TestSeveralProgramsAtOnce(t *testing.T) {
	t.Parallel()
	for range 4 {
		dir := t.TempDir()
		c := startProgramWith(t, []string{fmt.Sprint(disktest.FaultVar, "=die:", 30+rand.IntN(60))}, "many", dir)
		var said []string
		for c.lines.Scan() {
			said = append(said, c.lines.Text())
		}
		_ = c.Wait()
		var mu sync.Mutex // guards said and finished
		finished := 0
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				c := startProgramWith(t, nil, "many", dir)
				lines := 0
				dead := make(chan struct{})
				var sender sync.WaitGroup
				for ; c.lines.Scan(); lines++ {
					if c.lines.Text() == "started -" {
						sender.Go(func() { signalAll(t, dir, dead) })
					}
					mu.Lock()
					said = append(said, c.lines.Text())
					mu.Unlock()
				}
				close(dead)
				sender.Wait()
				err := c.Wait()
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					finished++
				case lines > 0:
					t.Errorf("a program did something and failed: %v", err)
				}
			})
		}
		all.Wait()
		if finished == 0 {
			t.Error("every program was refused")
		}
		checkLives(t, "several", dir, said)
	}
}
