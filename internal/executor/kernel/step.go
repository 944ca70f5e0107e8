package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/agents/headless"
	"pawl/internal/disk"
	"pawl/internal/executor/events"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/redact"
)

// Step executes one attempt at a kernel step, as its environment specifies.
type Step struct {
	Out, Err io.Writer
}

// attempt is one attempt at a step.
type attempt struct {
	Step
	dir    string // of the attempt
	job    pawl.Job
	cells  []cell
	doc    *document
	runner *runner.Client
	events events.Writer
	clean  func(string) string
	seed   string
	done   int    // cells that are finished
	caught bool   // the notebook has, or gets, what the cells put out that earlier attempts executed
	noted  string // the last note on variables that are not saved
	report kernel.Report
}

// cell is a cell of a step.
type cell struct {
	runner.Link
	id string // in the notebook; empty: the step has code
}

// prefix names the cell at the start of a text, if the step has several.
func (c cell) prefix() string {
	if c.id == "" {
		return ""
	}
	return "cell " + c.Name + ": "
}

// Run executes the cells that are not finished and returns the status of the step. When ctx ends, it interrupts the running cell.
func (s Step) Run(ctx context.Context) (pawl.ResultStatus, error) {
	a := &attempt{Step: s, dir: os.Getenv("PAWL_ATTEMPT_DIR"), clean: redact.New(os.Environ()).Text}
	a.events = events.Writer{Path: os.Getenv("PAWL_EVENTS"), Clean: a.clean, Errors: s.Err}
	job, err := runner.ReadJob(a.dir)
	if err != nil {
		return "", err
	}
	a.job = *job
	summary, err := a.execute(ctx)
	if err := a.report.Write(a.dir); err != nil {
		fmt.Fprintf(a.Err, "pawl: kernel: %v\n", err)
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, runner.ErrGone):
		return "", err
	case err != nil:
		return a.finish(failed(err))
	}
	return a.finish(pawl.Result{Status: pawl.ResultDone, Summary: summary})
}

// execute does the work of an attempt, and returns its summary.
func (a *attempt) execute(ctx context.Context) (string, error) {
	if err := a.connect(ctx); err != nil {
		return "", err
	}
	defer a.runner.Close()
	base, err := a.base(ctx)
	if err != nil {
		return "", err
	}
	if err := a.load(base); err != nil {
		return "", err
	}
	before, err := a.cellsFrom(ctx, base)
	if err := errors.Join(err, a.doc.save()); err != nil {
		return "", err
	}
	summary := fmt.Sprintf("%s executed", countOf(len(a.cells)-before, "cell", "cells"))
	if before > 0 {
		summary += fmt.Sprintf(", %d finished before", before)
	}
	if note := a.doc.note(); note != "" {
		summary += "; " + note
	}
	return summary, nil
}

// maxRevivals is how often an attempt continues in a new kernel without having finished a cell.
const maxRevivals = 2

// cellsFrom executes the cells that are not finished, and returns how many were finished before. If the kernel dies, it continues in a new
// one with the variables of a checkpoint.
func (a *attempt) cellsFrom(ctx context.Context, base runner.Key) (before int, err error) {
	for deaths, first := 0, true; ; first = false {
		next, err := a.prepare(ctx, base)
		if err != nil {
			return before, err
		}
		if first {
			before = next
			if err := a.doc.clear(a.cells[next:]); err != nil {
				return before, err
			}
		}
		if err := a.describe(ctx); err != nil {
			return before, err
		}
		finished := a.done
		for i := next; i < len(a.cells) && err == nil; i++ {
			err = a.cell(ctx, i, base)
		}
		if !errors.Is(err, errKernelDied) || ctx.Err() != nil {
			return before, err
		}
		if deaths++; a.done > finished {
			deaths = 1
		}
		if deaths > maxRevivals || a.job.Kernel.Once {
			return before, err
		}
		a.note(err.Error() + "; continuing in a new kernel")
	}
}

// describe has the notebook describe the kernel, so that other programs know its language.
func (a *attempt) describe(ctx context.Context) error {
	if a.doc.path == "" {
		return nil
	}
	done, err := a.runner.Do(ctx, runner.Request{Op: runner.OpStatus}, nil)
	if err != nil {
		return err
	}
	a.doc.describe(done.Status.Info)
	return nil
}

// errKernelDied is the error of a cell whose kernel died.
var errKernelDied = errors.New("the kernel died")

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// failed returns the result of an attempt with an error. One that only a person can resolve blocks the step.
func failed(err error) pawl.Result {
	if pawl.KindOf(err) == pawl.KindAtGate {
		return pawl.Result{Status: pawl.ResultBlocked, Summary: err.Error(), Blockers: []string{err.Error()}}
	}
	return pawl.Result{Status: pawl.ResultFailed, Summary: err.Error()}
}

// connect connects to the session's runner and reserves the kernel.
func (a *attempt) connect(ctx context.Context) (err error) {
	if a.runner, err = runner.Dial(ctx, a.job.Kernel.Folder); err != nil {
		return a.explained(err)
	}
	by := fmt.Sprintf("step %s, attempt %d", a.job.Name(), a.job.Attempt)
	_, err = a.runner.Do(ctx, runner.Request{Op: runner.OpAcquire, By: by, Wait: pawl.Duration(queueWait)}, nil)
	if err != nil {
		a.runner.Close()
	}
	return err
}

// queueWait is how long a step waits for another client of the kernel.
const queueWait = 30 * time.Second

// explained adds the last line of the runner's errors, if it is gone.
func (a *attempt) explained(err error) error {
	if !errors.Is(err, runner.ErrGone) {
		return err
	}
	if line := runner.LastError(a.job.Kernel.Folder); line != "" {
		return fmt.Errorf("%w: %s", err, a.clean(line))
	}
	return err
}

// base returns where the variables stood before the step, and decides the seed of the keys: that of an earlier attempt if the step's
// work is the same.
func (a *attempt) base(ctx context.Context) (runner.Key, error) {
	k := a.job.Kernel
	done, err := a.runner.Do(ctx, runner.Request{Op: runner.OpBase, After: k.After, Step: a.job.Step}, nil)
	if err != nil {
		return "", a.explained(err)
	}
	a.seed = k.Seed + ":" + string(a.job.Token)
	if before, _, _ := strings.Cut(done.Seed, ":"); before == k.Seed && !k.Again {
		a.seed = done.Seed
	}
	return done.Base, nil
}

// prepare brings the kernel to where the cells continue, and returns the index of the first one to execute.
func (a *attempt) prepare(ctx context.Context, base runner.Key) (int, error) {
	links := make([]runner.Link, len(a.cells))
	keys := make([]runner.Key, len(a.cells))
	for i, c := range a.cells {
		links[i], keys[i] = c.Link, c.Key
	}
	done, err := a.runner.Do(ctx, runner.Request{Op: runner.OpPrepare, Base: base, Cells: links, Once: a.job.Kernel.Once, Strict: a.job.Kernel.Action.Strict}, nil)
	if err != nil {
		return 0, a.explained(err)
	}
	for _, note := range done.Prepared.Notes {
		a.note(note)
	}
	next := done.Prepared.Next
	a.done = next
	if done.Prepared.Checkpoint != "" {
		fmt.Fprintf(a.Out, "[REHYDRATED:from=%s]\n", done.Prepared.Checkpoint) // as Gyoshu's cells print it
		a.note("new kernel with the variables of checkpoint " + done.Prepared.Checkpoint)
	}
	if !a.caught {
		if err := a.catchUp(ctx, keys[:next]); err != nil {
			return 0, err
		}
	}
	_, err = a.runner.Do(ctx, runner.Request{Op: runner.OpEnviron, Env: a.variables()}, nil)
	return next, err
}

// catchUp does what an earlier attempt, which executed the first cells, may not have done: it reports them as items, and replays the log
// from the first cell on whose results the notebook does not have, or which may get more.
func (a *attempt) catchUp(ctx context.Context, keys []runner.Key) error {
	a.caught = true
	done, err := a.runner.Do(ctx, runner.Request{Op: runner.OpResults, Keys: keys}, nil)
	if err != nil {
		return a.explained(err)
	}
	earlier, err := headless.ParseResume(os.Getenv("PAWL_RESUME"))
	if err != nil {
		return err
	}
	cells, from := map[kernel.CellID]cell{}, int64(-1)
	for i, r := range done.Results { // in the order of the keys
		c := a.cells[slices.Index(keys, r.Key)]
		if earlier == nil || !slices.Contains(earlier.ItemsDone, pawl.ItemIDOf(c.id)) {
			a.reportItem(c)
		}
		if from < 0 && a.doc.has(c) && i < len(done.Results)-remembered {
			continue
		}
		cells[r.Begin.Cell] = c
		if from < 0 {
			from = r.From
		}
	}
	if from < 0 || a.doc.recorder == nil {
		return nil
	}
	return a.runner.Replay(from, func(r runner.Record) error { return a.replay(cells, r) })
}

// replay has the notebook get a record of the log, if it is of a finished cell or updates a display.
func (a *attempt) replay(cells map[kernel.CellID]cell, r runner.Record) error {
	switch {
	case r.Begin != nil:
		if c, ok := cells[r.Begin.Cell]; ok {
			a.doc.beginAgain(c, r.Begin.Cell)
		}
	case r.Message != nil:
		if _, ok := cells[r.Message.Cell]; ok || r.Message.Kind == kernel.KindUpdate {
			return a.doc.add(*r.Message)
		}
	case r.End != nil:
		if c, ok := cells[r.End.Cell]; ok {
			return a.doc.end(c, r.End)
		}
	}
	return nil
}

// notebookVar has the path of the notebook that gets the outputs; it is empty for code.
const notebookVar = "PAWL_NOTEBOOK"

// variables returns the variables of this step for its code.
func (a *attempt) variables() []string {
	env := []string{notebookVar + "=" + a.doc.path} // an earlier step of the session may have set another one
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "PAWL_") && !strings.HasPrefix(v, "PAWL_STATE=") {
			env = append(env, v)
		}
	}
	return env
}

// cell executes a cell.
func (a *attempt) cell(ctx context.Context, i int, base runner.Key) error {
	c := a.cells[i]
	after := base
	if i > 0 {
		after = a.cells[i-1].Key
	}
	if c.id != "" {
		begins := a.progress("cell " + c.Name)
		begins.Cell = a.clean(c.Name)
		a.events.Progress(begins)
	}
	a.report.InFlight, a.report.Code, a.report.Output, a.report.Stacks = a.clean(c.Name), a.clean(c.Code), "", ""
	stopped := a.interruptWith(ctx)
	x := runner.Execution{Link: c.Link, After: after, Step: a.job.Step, Seed: a.seed, Timeout: a.job.Kernel.Action.CellTimeout}
	var running kernel.CellID
	saving := time.AfterFunc(time.Hour, a.saving(c))
	saving.Stop() // until the cell is over
	end, err := a.runner.Execute(context.WithoutCancel(ctx), x, func(id kernel.CellID) { running = id; a.doc.begin(c, id) }, func(m kernel.Message) error {
		if m.Kind == kernel.KindIdle && m.Cell == running {
			saving.Reset(savingSoon)
		}
		a.show(m)
		return a.doc.add(m)
	})
	saving.Stop()
	stopped()
	if err != nil {
		return errors.Join(a.explained(err), a.doc.save())
	}
	if err := a.doc.end(c, end); err != nil {
		return err
	}
	a.report.Executed = max(a.report.Executed, end.Count)
	switch {
	case end.Finished(&runner.Begin{MayFail: c.MayFail}):
		a.report = kernel.Report{Executed: a.report.Executed}
	case end.Status == kernel.Lost:
		return fmt.Errorf("%s%w: %s", c.prefix(), errKernelDied, end.Reason())
	default:
		return errors.New(c.prefix() + end.Reason())
	}
	if end.Note != "" && end.Note != a.noted {
		a.noted = end.Note
		a.note(c.prefix() + end.Note)
	}
	a.done++
	a.reportItem(c)
	return nil
}

// savingSoon is how long saving the variables takes before the user is told.
const savingSoon = 100 * time.Millisecond

// saving returns a function that says that the variables are saved after a cell.
func (a *attempt) saving(c cell) func() {
	p := a.progress(c.prefix() + "saving the variables")
	p.Saving = true
	return func() { a.events.Progress(p) }
}

// interruptWith interrupts the running cell when ctx ends. The returned function waits until that is over.
func (a *attempt) interruptWith(ctx context.Context) (stop func()) {
	over := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(over)
		a.interrupt(context.WithoutCancel(ctx))
	})
	return func() {
		if !cancel() {
			<-over
		}
	}
}

// StacksFile has the stacks of the kernel's threads when a cell was interrupted, in the attempt's folder.
const StacksFile = "stacks.txt"

// interrupt interrupts the running cell through a second connection.
func (a *attempt) interrupt(ctx context.Context) {
	c, err := runner.Dial(ctx, a.job.Kernel.Folder)
	if err != nil {
		fmt.Fprintf(a.Err, "pawl: kernel: %v\n", err)
		return
	}
	defer c.Close()
	done, err := c.Do(ctx, runner.Request{Op: runner.OpInterrupt}, nil)
	if err != nil {
		fmt.Fprintf(a.Err, "pawl: kernel: %v\n", err)
		return
	}
	s := done.Stopped
	text := fmt.Sprintf("interrupted by %s after %s", s.By, s.After)
	if !s.Alive {
		text = fmt.Sprintf("ended by %s after %s; the kernel is dead", s.By, s.After)
	}
	text += ": the next attempt continues after the last finished cell"
	if s.By != "" {
		a.note(text)
	}
	if s.Stacks != "" {
		a.report.Stacks = a.clean(s.Stacks)
		if err := disk.Replace(filepath.Join(a.dir, StacksFile), []byte(a.report.Stacks)); err != nil {
			fmt.Fprintf(a.Err, "pawl: kernel: %v\n", err)
		}
	}
}

// show prints what a cell puts out, for people and for the markers in it.
func (a *attempt) show(m kernel.Message) {
	switch m.Kind {
	case kernel.KindStream:
		to := a.Out
		if m.Stream == kernel.Stderr {
			to = a.Err
		}
		a.put(to, m.Text)
	case kernel.KindDisplay, kernel.KindResult:
		if text := m.PlainText(); text != "" {
			a.put(a.Out, text+"\n")
		}
	case kernel.KindError:
		a.put(a.Err, m.Error.String()+"\n")
	}
}

// lastOutput is how much of a cell's output a report has, in bytes.
const lastOutput = 4 << 10

// put prints a text of the running cell, and keeps its end for the report.
func (a *attempt) put(to io.Writer, text string) {
	io.WriteString(to, text)
	last := a.report.Output + a.clean(text[max(0, len(text)-lastOutput):])
	a.report.Output = strings.ToValidUTF8(last[max(0, len(last)-lastOutput):], "")
}

// note tells the user something.
func (a *attempt) note(text string) {
	fmt.Fprintf(a.Out, "[pawl: %s]\n", text)
	p := a.progress(text)
	p.Note = true
	a.events.Progress(p)
}

// progress returns progress of the step.
func (a *attempt) progress(text string) pawl.Progress {
	return pawl.Progress{Text: text, Done: new(float64(a.done)), Total: new(float64(len(a.cells)))}
}

// reportItem reports a finished cell as an item of the step.
func (a *attempt) reportItem(c cell) {
	if c.id == "" {
		return
	}
	a.events.Write(pawl.Line{Item: &pawl.ItemNamed{Item: pawl.ItemIDOf(c.id), Title: a.clean(c.Name), Status: pawl.ItemIsDone}})
}

// finish writes the attempt's result. A result that the code wrote itself counts, unless it claims success for a failed attempt.
func (a *attempt) finish(r pawl.Result) (pawl.ResultStatus, error) {
	path := os.Getenv("PAWL_RESULT")
	if own, ok := events.ReadResult(path); ok {
		r = events.Merged(own, r)
	}
	r.Summary = a.clean(r.Summary)
	if r.Status != pawl.ResultDone {
		fmt.Fprintf(a.Err, "pawl: kernel: %s\n", r.Summary)
	}
	return r.Status, events.WriteResult(path, r)
}
