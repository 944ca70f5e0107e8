package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pawl/durable"
	"pawl/internal/journal"
)

func nothing(context.Context) (struct{}, error) { return struct{}{}, nil }

// durableSteps is row 6.
func (b *bench) durableSteps() ([]line, error) {
	p, err := b.project("durable")
	if err != nil {
		return nil, err
	}
	f, err := b.bareFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n := b.full(1000, 50)
	var m measured
	for _, name := range []string{"to learn how long its lines are", "steps"} {
		if err := durable.Run(b, p.Root, name, func(ctx context.Context) error {
			m, err = besideSteps(ctx, n, f)
			return err
		}); err != nil {
			return nil, err
		}
		if f.line, err = meanLine(p.Runs()); err != nil {
			return nil, err
		}
	}
	return []line{m.line(fmt.Sprintf("%d no-op steps in sequence through `durable`", n), "as many bare write + fdatasync", goal{ratio: 1.5})}, nil
}

// Row 6b: so many runs, with so many steps each, at once.
const (
	manyRuns  = 100
	someSteps = 10
)

// durableRuns is row 6b: from the start of the first run to the end of the last one.
func (b *bench) durableRuns() (lines []line, err error) {
	p, err := b.project("runs")
	if err != nil {
		return nil, err
	}
	f, err := b.bareFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	engine, err := durable.Open(p.Root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	round, steps := 0, durable.Register(engine, "steps", stepsInSequence)
	work := timed(func() error { round++; return runsAtOnce(b, steps, round) })
	if _, err := work(); err != nil { // to learn how long its lines are
		return nil, err
	}
	if f.line, err = meanLine(p.Runs()); err != nil {
		return nil, err
	}
	const n = manyRuns * someSteps
	m, err := inTurns(b.full(15, 3), n, work, timed(func() error {
		for range n {
			if err := f.appendOne(); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d runs of %d no-op steps at once through `durable`", manyRuns, someSteps)
	lines = append(lines, m.line(what, "as many bare write + fdatasync as steps, in sequence", goal{rate: 2}))
	other, err := b.besideDBOS(what, work)
	return append(lines, other), err
}

// stepsInSequence is the workflow of row 6b.
func stepsInSequence(ctx context.Context, n int) (int, error) {
	for i := range n {
		if _, err := durable.Step(ctx, "step-"+strconv.Itoa(i), nothing); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// runsAtOnce performs the runs of a round.
func runsAtOnce(ctx context.Context, w *durable.Workflow[int, int], round int) error {
	errs := make([]error, manyRuns)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = w.Run(ctx, fmt.Sprintf("run-%d-%d", round, i), someSteps) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// besideDBOS measures against DBOS Transact on SQLite with synchronous=FULL. Without the network, its module may not be there.
func (b *bench) besideDBOS(what string, work func() (time.Duration, error)) (line, error) {
	const yardstick = "the same in DBOS Transact 1.2.0 on SQLite, synchronous=FULL"
	program := filepath.Join(b.dir, "dbos")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("test", "bench", "dbos")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(string(text)+err.Error(), "\n")
		return line{work: what, yardstick: yardstick, measured: "not built: " + first, ratio: "–", goal: "≥ 3 × the rate", met: "–"}, nil
	}
	cmd := exec.Command(program, filepath.Join(b.dir, "dbos.db"), strconv.Itoa(manyRuns), strconv.Itoa(someSteps))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return line{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return line{}, err
	}
	if err := cmd.Start(); err != nil {
		return line{}, err
	}
	lines := bufio.NewScanner(out)
	m, err := inTurns(b.full(7, 2), manyRuns*someSteps, work, func() (time.Duration, error) {
		if _, err := in.Write([]byte("\n")); err != nil {
			return 0, err
		}
		if !lines.Scan() {
			return 0, errors.Join(lines.Err(), errors.New("DBOS has ended"))
		}
		took, err := strconv.ParseInt(lines.Text(), 10, 64)
		return time.Duration(took), err
	})
	err = errors.Join(err, in.Close(), cmd.Wait())
	return m.line(what, yardstick, goal{rate: 3}), err
}

// besideSteps measures n steps of a run against bare appends.
func besideSteps(ctx context.Context, n int, f *bare) (measured, error) {
	i := 0
	step := func() error {
		i++
		_, err := durable.Step(ctx, "step-"+strconv.Itoa(i), nothing)
		return err
	}
	return inTurns(n, 1, timed(step), timed(f.appendOne))
}

// meanLine returns as many bytes as a line of the first journal in runs has.
func meanLine(runs string) ([]byte, error) {
	ids, err := journal.Runs(runs)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(runs, string(ids[0]), journal.FileName))
	return bytes.Repeat([]byte("x"), len(data)/max(bytes.Count(data, []byte("\n")), 1)), err
}

// durableVerb makes this binary a program that uses package durable.
const durableVerb = "durable-program"

// doneSteps is how many steps are done when what resumes is killed.
const doneSteps = 100

// durableProgram does doneSteps steps, says how long Run took to come to the next one, and waits there to be killed.
func durableProgram(dir string) error {
	begin := time.Now()
	return durable.Run(context.Background(), dir, "killed", func(ctx context.Context) error {
		for i := range doneSteps {
			if _, err := durable.Step(ctx, "step-"+strconv.Itoa(i), nothing); err != nil {
				return err
			}
		}
		_, err := durable.Step(ctx, "next", func(context.Context) (struct{}, error) {
			fmt.Println(int64(time.Since(begin)))
			select {}
		})
		return err
	})
}

// durableResume is the half of row 8 that goes through package durable.
func (b *bench) durableResume() ([]line, error) {
	p, err := b.project("killed")
	if err != nil {
		return nil, err
	}
	var within time.Duration
	whole := func() (took time.Duration, err error) {
		begin := time.Now()
		within, err = b.killedProgram(p.Root, func() { took = time.Since(begin) })
		return took, err
	}
	inside := func() (time.Duration, error) { _, err := whole(); return within, err }
	rounds := b.full(21, 3)
	in, err := inTurns(rounds, 1, inside, b.startNothing)
	if err != nil {
		return nil, err
	}
	out, err := inTurns(rounds, 1, whole, b.startNothing)
	return []line{
		in.line("`kill -9` with 100 steps done, then `durable.Run` to the next step", "a do-nothing Go binary", goal{limit: 10 * time.Millisecond}),
		out.line("the same, from starting the program anew", "a do-nothing Go binary", goal{}),
	}, err
}

// startNothing times the least that a program takes.
func (b *bench) startNothing() (time.Duration, error) {
	return timed(func() error { return exec.Command(b.nothing).Run() })()
}

// killedProgram starts the program, calls there when it has come to the next step, and kills it. It returns how long
// the program says it took.
func (b *bench) killedProgram(dir string, there func()) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, durableVerb, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	text, err := bufio.NewReader(out).ReadString('\n')
	there()
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait() // it was killed
	if err != nil {
		return 0, err
	}
	took, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return time.Duration(took), err
}
