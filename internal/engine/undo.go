package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/decide/rewind"
	"pawl/internal/disk"
	"pawl/internal/redact"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// undo undoes one piece of work, or gets a person's decision about it.
func (r *Rollback) undo(ctx, helpers context.Context, f *rewind.Work) error {
	for {
		if ctx.Err() != nil {
			return rollbackInterrupted()
		}
		mayRepeat, err := r.mayRepeat(f)
		if err != nil {
			return err
		}
		switch f.Next(mayRepeat, r.gateOf(f)) {
		case rewind.Resolved:
			return nil
		case rewind.Wait:
			err = r.await(ctx, helpers, f)
		case rewind.Run:
			err = r.start(ctx, helpers, f)
		case rewind.Ask:
			return r.ask(helpers, f)
		case rewind.Skip:
			err = r.skip(helpers, f)
		case rewind.GiveUp:
			return r.giveUp(helpers, "an undo of "+f.Name()+" failed, and a person stopped the rollback")
		}
		if err != nil {
			return err
		}
	}
}

func (r *Rollback) mayRepeat(f *rewind.Work) (bool, error) {
	plan, err := r.plan(f.Planned)
	if err != nil {
		return false, err
	}
	return plan.Step(f.Step).MayRepeat(), nil
}

// gateOf returns this rollback's open or answered gate for the undo, or nil.
func (r *Rollback) gateOf(f *rewind.Work) *pawl.GateState {
	if f.Last == nil {
		return nil
	}
	if g := r.engine.state.Gate(r.rewind.Asked[f.Name()]); g != nil && g.Withdrawn == "" {
		return g
	}
	return nil
}

// start journals the intent and starts a supervisor that runs the undo command.
func (r *Rollback) start(ctx, helpers context.Context, f *rewind.Work) error {
	ref := pawl.UndoRef{AttemptRef: pawl.AttemptRef{
		Step: f.Step, Item: f.Item, Index: f.Index, Attempt: r.rewind.Tries[f.Name()] + 1, Token: runs.NewToken(),
	}, Of: f.Seq}
	job, err := r.undoJob(f, ref)
	if err != nil {
		return err
	}
	lock, err := supervise.Prepare(r.undoDir(ref))
	if err != nil {
		return fmt.Errorf("prepare undo %d of %s: %w", ref.Attempt, ref.Name(), err)
	}
	seal := supervise.NewSeal()
	if err := r.emit(helpers, pawl.UndoStarted{UndoRef: ref, Seal: seal.Public()}); err != nil {
		return errors.Join(err, lock.Release())
	}
	running, err := supervise.Start(lock, job, seal)
	if err != nil {
		return fmt.Errorf("start undo %d of %s: %w", ref.Attempt, ref.Name(), err)
	}
	return r.settle(ctx, helpers, f, running.Wait)
}

// await waits for an undo that an earlier engine started.
func (r *Rollback) await(ctx, helpers context.Context, f *rewind.Work) error {
	return r.settle(ctx, helpers, f, supervise.Attach(r.undoDir(f.Running.UndoRef)).Wait)
}

// settle journals how an undo ended, once its supervisor is gone.
func (r *Rollback) settle(ctx, helpers context.Context, f *rewind.Work, ended func(context.Context) error) error {
	if err := ended(ctx); err != nil {
		if ctx.Err() != nil {
			return rollbackInterrupted()
		}
		return err
	}
	dir := r.undoDir(f.Running.UndoRef)
	status, err := supervise.Probe(dir)
	if err != nil {
		return err
	}
	if status.Exit != nil && status.Exit.Token != f.Running.Token && (status.Begun == nil || status.Begun.Token != f.Running.Token) {
		status = supervise.Status{State: supervise.NotBegun}
	}
	var ev resume.Evidence
	ev.AddStatus(status, f.Running.Token, f.Running.Seal)
	if ev.Exit == nil && ev.Begun {
		if ev.Swept, ev.Unkillable, err = supervise.Sweep(dir, f.Running.Token); err != nil {
			return err
		}
	}
	return r.emit(helpers, undoVerdict(f.Running.UndoRef, ev, lastErrorLine(dir)))
}

// undoVerdict returns the event for a finished undo. Only an exit record of its supervisor with code 0 proves it done. It is pure.
func undoVerdict(ref pawl.UndoRef, ev resume.Evidence, words string) pawl.Payload {
	x := ev.Exit
	if x == nil {
		end := resume.LostAttemptEnd(ev)
		return pawl.UndoFailed{UndoRef: ref, Outcome: end.Outcome, Why: end.Why}
	}
	stats := &pawl.AttemptStats{Seconds: x.Seconds, CPUSeconds: x.CPUSeconds, OutputBytes: x.OutputBytes}
	if x.Reason == pawl.ReasonExited && x.Exit != nil && *x.Exit == 0 {
		return pawl.UndoDone{UndoRef: ref, Stats: stats}
	}
	why := resume.ExitText(x)
	if x.Reason != pawl.ReasonExited {
		why = cmp.Or(x.Why, string(x.Reason))
	}
	if words != "" {
		why += ": " + words
	}
	return pawl.UndoFailed{UndoRef: ref, Outcome: pawl.Failed, Reason: x.Reason, Exit: x.Exit, Why: runs.ClipText(why), Stats: stats}
}

// maxErrorTail is how many bytes at the end of the error output are read.
const maxErrorTail = 1 << 10

// lastErrorLine returns the last line of an undo's error output, redacted as the journal will have it: the id of the gate
// depends on it.
func lastErrorLine(dir string) string {
	f, err := disk.Open(filepath.Join(dir, pawl.ErrFile))
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxErrorTail {
		f.Seek(-maxErrorTail, io.SeekEnd) // on error, the start of the file is read
	}
	data, _ := io.ReadAll(io.LimitReader(f, maxErrorTail)) // best effort
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(data), "?")), "\n")
	return redact.OfProcess().Text(lines[len(lines)-1])
}

// emit makes events durable and applies them to r.
func (r *Rollback) emit(helpers context.Context, payloads ...pawl.Payload) error {
	e := r.engine
	e.emit(payloads...)
	if err := e.flush(helpers); err != nil {
		return err
	}
	for _, p := range payloads {
		r.rewind.ApplyUndo(p)
	}
	return nil
}

// ask opens a gate unless it is open, and returns an error of KindAtGate.
func (r *Rollback) ask(helpers context.Context, f *rewind.Work) error {
	gate := f.Gate(r.relative(r.undoDir(f.Last.UndoRef)))
	if r.gateOf(f) == nil {
		r.engine.emit(pawl.GateOpened{Gate: gate})
		if err := r.engine.flush(helpers); err != nil {
			return err
		}
	}
	return &pawl.Error{
		Kind: pawl.KindAtGate, Err: fmt.Errorf("rollback is waiting for gate %s: %s", gate.ID, gate.Ask),
		Hint: "pawl gates " + string(r.Run),
	}
}

// skip journals that a person skipped the undo.
func (r *Rollback) skip(helpers context.Context, f *rewind.Work) error {
	ref := f.Last.UndoRef
	return r.emit(helpers, pawl.UndoSkipped{UndoRef: ref, Why: r.gateOf(f).Answer.Why})
}

// giveUp ends the rollback unfinished.
func (r *Rollback) giveUp(helpers context.Context, why string) error {
	e := r.engine
	for _, g := range e.state.OpenGates() {
		if g.Purpose == pawl.ForUndo {
			e.emit(pawl.GateWithdrawn{Gate: g.ID, Why: "the rollback was stopped"})
		}
	}
	e.emit(pawl.RollbackEnded{Checkpoint: r.Target.ID, Stopped: why})
	r.Stopped = why
	return e.flush(helpers)
}
