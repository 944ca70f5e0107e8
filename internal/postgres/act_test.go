package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/postgres"
)

// actVar makes the test binary another process, on another host or the same: "<folder> <name> <batches> <DSN>". It appends batches of
// two events, and prints what was acknowledged.
const actVar = "PAWL_TEST_POSTGRES"

const runID pawl.RunID = "test-20260101-000000-abcd"

func act() int {
	var folder, name, dsn string
	var batches int
	if _, err := fmt.Sscan(os.Getenv(actVar), &folder, &name, &batches, &dsn); err != nil {
		return 2
	}
	ctx := context.Background()
	connect(ctx, dsn)
	log, err := journal.Open(folder, runID)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	defer log.Close()
	for b := range batches {
		text := name + "." + strconv.Itoa(b)
		seq, err := log.Append(ctx, 0, textEvent(text+".a"), textEvent(text+".b"))
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("done", seq, text)
	}
	return 0
}

// connect connects the journals of this process to a database. Its calls are among those that a fault can select.
func connect(ctx context.Context, dsn string) {
	journal.Connect(ctx, journal.Connection{Retry: 10 * time.Millisecond, Open: func(ctx context.Context, _, _ string) (journal.Remote, error) {
		s, err := postgres.Open(ctx, dsn)
		return faulty{s}, err
	}})
}

// faulty is a store whose calls may suffer the fault that the environment selects: before the database gets them, or after it has
// committed.
type faulty struct{ *postgres.Store }

func (f faulty) Append(ctx context.Context, key string, b journal.Batch) (bool, error) {
	if err := suffer("before the commit"); err != nil {
		return false, err
	}
	added, err := f.Store.Append(ctx, key, b)
	if fault := suffer("after the commit"); fault != nil {
		return false, fault
	}
	return added, err
}

func (f faulty) Keep(ctx context.Context, key string, end journal.Head) error {
	return f.around("keep", func() error { return f.Store.Keep(ctx, key, end) })
}

func (f faulty) Receive(ctx context.Context, key string, about journal.About) error {
	return f.around("receive", func() error { return f.Store.Receive(ctx, key, about) })
}

func (f faulty) Forget(ctx context.Context, key string) error {
	return f.around("forget", func() error { return f.Store.Forget(ctx, key) })
}

func (f faulty) Release(ctx context.Context, key string, end journal.Head) (released bool, err error) {
	err = f.around("release", func() error {
		released, err = f.Store.Release(ctx, key, end)
		return err
	})
	return released, err
}

// around calls do, with a call that may suffer the fault before and after it.
func (f faulty) around(name string, do func() error) error {
	if err := suffer("before " + name); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return suffer("after " + name)
}

func suffer(call string) error {
	if disk.Fault == nil {
		return nil
	}
	if err := disk.Fault(call); err != nil {
		return fmt.Errorf("%w: %w", journal.ErrUnreachable, err)
	}
	return nil
}

func textEvent(text string) pawl.Event {
	e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByHook}, pawl.MemoryLearned{Memory: pawl.Memory{Text: text}})
	if err != nil {
		panic(err)
	}
	return e
}

func actor(t testing.TB, folder, name string, batches int, dsn string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("%s=%s %s %d %s", actVar, folder, name, batches, dsn)), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// report is what an actor printed.
type report struct {
	done   map[string]pawl.Seq // text of the batch → its last event
	errors []string
	killed bool
}

func runActor(t testing.TB, cmd *exec.Cmd) report {
	t.Helper()
	out, err := cmd.Output()
	r := report{done: map[string]pawl.Seq{}}
	if exit, ok := err.(*exec.ExitError); ok {
		status, _ := exit.Sys().(syscall.WaitStatus)
		r.killed = status.Signaled()
	} else if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "done":
			seq, text, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(seq)
			if err != nil {
				t.Fatal(err)
			}
			r.done[text] = pawl.Seq(n)
		case "error":
			r.errors = append(r.errors, rest)
		}
	}
	return r
}
