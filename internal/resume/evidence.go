package resume

import (
	"os"
	"path/filepath"
	"pawl"
	"pawl/internal/history"
	"pawl/internal/outputs"
	"pawl/internal/recovery"
	"pawl/internal/supervise"
	"slices"
	"time"
)

// Evidence is what is known of an attempt that is over.
type Evidence struct {
	Now         time.Time
	Begun       bool       // its supervisor said that it was about to start the child
	Rebooted    bool       // the system was restarted since: what nobody synced may be anything
	BootUnknown bool       // the record of its beginning is gone: whether the system was restarted nobody knows
	Exit        *pawl.Exit // nil: the supervisor was lost
	Result      *pawl.Result
	ResultErr   error
	Outputs     pawl.Outputs
	OutputsErr  error
	Checks      []pawl.CheckRun // run by us, because the supervisor could not
	Lasted      time.Duration   // of a lost attempt: at least how long it ran
	Present     recovery.Outputs
	Failures    int                        // tries used up before
	LostInARow  int                        // attempts lost in a row before
	Verdict     *pawl.Verdict              // an evaluator's, where it was asked
	Checkpoint  *history.PendingCheckpoint // the checkpoint that was taken of what the attempt left
	Swept       int                        // processes of a lost attempt that were ended
	Unkillable  []int                      // and those that could not be
}

// unsynced reports whether what nobody synced may be anything.
func (ev Evidence) unsynced() bool { return ev.Rebooted || ev.BootUnknown }

// AddStatus adds what the attempt's folder says.
func (ev *Evidence) AddStatus(status supervise.Status, token pawl.Token) {
	if status.Exit != nil && status.Exit.Token == token {
		ev.Exit = status.Exit
	}
	ev.Begun, ev.Rebooted, ev.BootUnknown = status.HasBegun(), status.Rebooted(), status.HasBegun() && status.Begun == nil
}

// LooksDone reports whether the attempt says of itself that it did its work.
func (ev Evidence) LooksDone() bool {
	if ev.ResultErr != nil || ev.Result != nil && ev.Result.Status != pawl.ResultDone {
		return false
	}
	if ev.Exit == nil {
		return ev.Begun && !ev.unsynced() && ev.Result != nil
	}
	return ev.Exit.Reason == pawl.ReasonExited && ev.Exit.Exit != nil && *ev.Exit.Exit == 0
}

// NeedsChecks reports whether a lost attempt may be believed, or be taken for complete, once its acceptance checks pass.
func (ev Evidence) NeedsChecks(step *pawl.Step) bool {
	complete := ev.LooksDone() && ev.OutputsErr == nil || ev.Result == nil && ev.ResultErr == nil && ev.Present == recovery.AllOutputs
	return ev.Exit == nil && ev.Begun && complete && len(step.Accept) > 0
}

// Judge says what is safe to do: by the rules, or as an evaluator chose among what they leave open.
func (ev Evidence) Judge(step *pawl.Step) pawl.Verdict {
	if ev.Verdict != nil {
		return *ev.Verdict
	}
	return recovery.Judge(ev.Case(step))
}

// Case is the evidence as the rules know it. Here place and definition are the same: an engine is at work where the
// attempt ran, and has ended those that the plan does not have any more.
func (ev Evidence) Case(step *pawl.Step) recovery.Case {
	return recovery.Case{
		Attempt: ev.attempt(), Result: ev.result(), Outputs: ev.outputs(step), Checks: ev.checks(),
		Idempotent: step.MayRepeat(), SamePlace: true, SameStep: true, TriesLeft: ev.triesLeft(step),
	}
}

func (ev Evidence) attempt() recovery.Attempt {
	switch {
	case ev.Exit == nil && !ev.Begun:
		return recovery.NotBegun
	case ev.Exit == nil:
		return recovery.Lost
	case ev.Exit.Reason == pawl.ReasonExited && ev.Exit.Exit != nil && *ev.Exit.Exit == 0:
		return recovery.ExitZero
	}
	return recovery.ExitOther
}

// result is what the attempt said of itself. What a restart of the system may have left of that is no word.
func (ev Evidence) result() recovery.Result {
	switch {
	case ev.ResultErr != nil:
		return recovery.Unreadable
	case ev.Result == nil, ev.Exit == nil && (ev.unsynced() || !ev.Begun):
		return recovery.NoResult
	case ev.Result.Status == pawl.ResultDone:
		return recovery.SaysDone
	}
	return recovery.SaysOther
}

// outputs is what there is of the declared outputs. What was not synced before a restart of the system may be half.
func (ev Evidence) outputs(step *pawl.Step) recovery.Outputs {
	switch {
	case len(step.Outputs) == 0:
		return recovery.Undeclared
	case ev.LooksDone() && ev.OutputsErr == nil:
		return recovery.AllOutputs
	case ev.Present == recovery.AllOutputs && (ev.unsynced() || ev.OutputsErr != nil):
		return recovery.SomeOutputs
	case ev.Present == "":
		return recovery.NoOutputs
	}
	return ev.Present
}

func (ev Evidence) checks() recovery.Checks {
	switch runs := ev.CheckRuns(); {
	case !pawl.Passed(runs):
		return recovery.ChecksFail
	case len(runs) > 0:
		return recovery.ChecksPass
	}
	return recovery.NoChecks
}

func (ev Evidence) CheckRuns() []pawl.CheckRun {
	if ev.Exit != nil {
		return ev.Exit.Checks
	}
	return ev.Checks
}

// Unmet names the acceptance checks that failed.
func (ev Evidence) Unmet() []string {
	var names []string
	for _, c := range ev.CheckRuns() {
		if c.Exit != 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// triesLeft reports whether it may be tried again: a loss costs no try, but a person is asked after too many.
func (ev Evidence) triesLeft(step *pawl.Step) bool {
	if ev.Exit == nil {
		return ev.LostInARow+1 < MaxLosses
	}
	return ev.Failures+1 < step.Retry.Attempts
}

func (ev Evidence) Stats() *pawl.AttemptStats {
	if ev.Exit == nil {
		return &pawl.AttemptStats{Seconds: max(0, ev.Lasted.Seconds())}
	}
	return &pawl.AttemptStats{Seconds: ev.Exit.Seconds, CPUSeconds: ev.Exit.CPUSeconds, OutputBytes: ev.Exit.OutputBytes}
}

// NonEmptyOutputs returns the declared outputs in which there is something. An empty file is no sign of work.
func NonEmptyOutputs(root string, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(path string) bool { return !outputs.Begun(root, path) })
}

// existingOutputs returns the declared outputs that are there, whatever they hold.
func existingOutputs(root string, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(path string) bool { return !outputs.Exists(root, path) })
}

// CompareOutputs says how much of what is declared is there.
func CompareOutputs(declared, there []string) recovery.Outputs {
	switch {
	case len(declared) == 0:
		return recovery.Undeclared
	case len(there) == len(declared):
		return recovery.AllOutputs
	case len(there) > 0:
		return recovery.SomeOutputs
	}
	return recovery.NoOutputs
}

// LastWrite returns when an attempt last wrote something, zero where it never did.
func LastWrite(dir string) time.Time {
	var last time.Time
	for _, name := range []string{pawl.OutFile, pawl.ErrFile, pawl.EventsFile, pawl.BeatFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// MaxLosses is how often in a row an attempt may be lost before a person is asked.
const MaxLosses = 3
