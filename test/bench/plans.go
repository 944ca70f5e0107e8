package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
)

// shellSteps is row 9.
func (b *bench) shellSteps() ([]line, error) {
	p, err := b.project("steps")
	if err != nil {
		return nil, err
	}
	n := b.full(300, 20)
	if err := writePlan(p.Root, n, 0, ""); err != nil {
		return nil, err
	}
	m, err := inTurns(b.full(5, 3), n, timed(func() error {
		return quiet(exec.Command(b.pawl, "-C", p.Root, "run", "plan.yaml"))
	}), timed(func() error {
		for range n {
			if err := exec.Command("sh", "-c", "true").Run(); err != nil {
				return err
			}
		}
		return nil
	}))
	return []line{m.line(fmt.Sprintf("%d shell no-op steps with their supervisors", n), "as many `sh -c true`", goal{ratio: 5})}, err
}

// items is row 9b.
func (b *bench) items() ([]line, error) {
	p, err := b.project("items")
	if err != nil {
		return nil, err
	}
	n := b.full(1000, 50)
	var lines, targets strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "item-%d\n", i)
		fmt.Fprintf(&targets, " out/item-%d", i)
	}
	for name, text := range map[string]string{
		"items.txt": lines.String(),
		"plan.yaml": "name: bench\nsteps:\n  - id: each\n    foreach: {lines: items.txt}\n    parallel: 2\n    run: echo $PAWL_ITEM > out/$PAWL_ITEM\n    outputs: [out/$PAWL_ITEM]\n",
		"Makefile":  "all:" + targets.String() + "\nout/%:\n\t@echo $* > $@\n",
	} {
		if err := os.WriteFile(filepath.Join(p.Root, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	inFreshFolder := func(command ...string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			out := filepath.Join(p.Root, "out")
			if err := errors.Join(os.RemoveAll(out), os.Mkdir(out, 0o700)); err != nil {
				return 0, err
			}
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir = p.Root
			took, err := timed(func() error { return quiet(cmd) })()
			if made, readErr := os.ReadDir(out); err == nil && (readErr != nil || len(made) != n) {
				err = fmt.Errorf("%s made %d of %d files: %w", command[0], len(made), n, readErr)
			}
			return took, err
		}
	}
	m, err := inTurns(b.full(5, 3), n, inFreshFolder(b.pawl, "run", "plan.yaml"), inFreshFolder("make", "-j2"))
	return []line{m.line(fmt.Sprintf("foreach over %d items, two at a time, each with a declared output", n), "the same by `make -j2`", goal{ratio: 3})}, err
}

// quiet runs a command whose output matters only when it fails.
func quiet(cmd *exec.Cmd) error {
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, text)
	}
	return nil
}

// workspaceFiles is how many files lie in the project of the half of row 8 that goes through the command line.
const workspaceFiles = 10_000

// resume is the half of row 8 that goes through the command line.
func (b *bench) resume() ([]line, error) {
	rounds := b.full(15, 3)
	k, err := b.newKilled(rounds)
	if err != nil {
		return nil, err
	}
	f, err := b.bareFile()
	if err != nil {
		return nil, errors.Join(err, k.end())
	}
	defer f.Close()
	var syncs []time.Duration
	m, err := inTurns(rounds, 1, k.resume, func() (time.Duration, error) {
		took, err := b.startNothing()
		begin := time.Now()
		err = errors.Join(err, f.appendOne())
		syncs = append(syncs, time.Since(begin))
		return took + syncs[len(syncs)-1], err
	})
	if err != nil {
		return nil, errors.Join(err, k.end())
	}
	intent := m
	intent.work = median(k.intents) + median(syncs) // an event has the time at which it is written, before its sync
	intent.ratio = float64(intent.work) / float64(intent.yardstick)
	work := fmt.Sprintf("`kill -9` with %d steps done, then `pawl resume` to the next step's intent on disk", doneSteps)
	return []line{
		intent.line(work, "a do-nothing Go binary + one fdatasync", goal{ratio: 12}),
		m.line("the same, to that step's first instruction", "a do-nothing Go binary + one fdatasync", goal{}),
	}, k.end()
}

// killed is a run whose engine is killed again and again, each time in the middle of a step, which then ends under its
// supervisor. The steps say that they have begun, and wait to be let go, through named pipes.
type killed struct {
	ctx            context.Context
	pawl           string
	project        *project.Project
	run            pawl.RunID
	engine         *exec.Cmd
	begun, release *os.File
	lines          *bufio.Reader
	step           pawl.StepID // that has begun
	intents        []time.Duration
}

func (b *bench) newKilled(rounds int) (*killed, error) {
	p, err := b.project("resume")
	if err != nil {
		return nil, err
	}
	k := &killed{ctx: b, pawl: b.pawl, project: p}
	if k.begun, err = pipe(filepath.Join(b.dir, "begun")); err != nil {
		return nil, err
	}
	if k.release, err = pipe(filepath.Join(b.dir, "go")); err != nil {
		return nil, err
	}
	k.lines = bufio.NewReader(k.begun)
	for i := range workspaceFiles {
		path := filepath.Join(p.Root, fmt.Sprint("folder-", i%100), fmt.Sprint("file-", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			return nil, err
		}
	}
	waiting := fmt.Sprintf("echo $PAWL_STEP >%s; read go <%s", k.begun.Name(), k.release.Name())
	if err := writePlan(p.Root, doneSteps, rounds+2, waiting); err != nil {
		return nil, err
	}
	return k, k.start("run", "plan.yaml")
}

// pipe makes a named pipe and opens it so that neither end ever waits for the other.
func pipe(path string) (*os.File, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make pipe %s: %w", path, err)
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

// writePlan writes a plan of no-op steps, and then of others.
func writePlan(dir string, noops, others int, run string) error {
	var text strings.Builder
	text.WriteString("version: 1\nname: bench\nsteps:\n")
	for i := range noops + others {
		command := ":"
		if i >= noops {
			command = run
		}
		fmt.Fprintf(&text, "  - id: step-%d\n    run: %q\n", i, command)
	}
	return os.WriteFile(filepath.Join(dir, "plan.yaml"), []byte(text.String()), 0o600)
}

// start starts an engine and waits until a step has begun.
func (k *killed) start(args ...string) error {
	k.engine = exec.Command(k.pawl, append([]string{"-C", k.project.Root}, args...)...)
	k.engine.Stderr = os.Stderr
	if err := k.engine.Start(); err != nil {
		return err
	}
	text, err := k.lines.ReadString('\n')
	k.step = pawl.StepID(strings.TrimSpace(text))
	return err
}

// kill kills the engine and waits until the step has ended that it leaves.
func (k *killed) kill() error {
	if err := k.engine.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	_ = k.engine.Wait() // it was killed
	if _, err := k.release.WriteString("\n"); err != nil {
		return err
	}
	runs, err := journal.Runs(k.project.Runs())
	if err != nil {
		return err
	}
	k.run = runs[0]
	dir := k.project.AttemptDir(pawl.AttemptRef{Step: k.step, Attempt: 1}, k.run)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		_, ended := os.Stat(filepath.Join(dir, pawl.ExitFile))
		held, err := process.Locked(filepath.Join(dir, pawl.LockFile))
		if ended == nil && !held && err == nil {
			return nil
		}
	}
	return fmt.Errorf("step %s does not end", k.step)
}

// resume kills the engine and times how long the next one takes to have the next step begin.
func (k *killed) resume() (time.Duration, error) {
	if err := k.kill(); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := k.start("resume"); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	r, err := runs.Load(k.ctx, k.project, k.run)
	if err != nil {
		return 0, err
	}
	live := r.State.Live()
	if len(live) != 1 || live[0].Step != k.step {
		return 0, fmt.Errorf("step %s has begun, but live are %+v", k.step, live)
	}
	k.intents = append(k.intents, live[0].Started.Sub(begin))
	return took, r.Log.Close()
}

// end lets the last step end.
func (k *killed) end() error {
	return errors.Join(k.kill(), k.begun.Close(), k.release.Close())
}
