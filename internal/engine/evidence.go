package engine

import (
	"os"
	"path/filepath"
	"pawl"
	"pawl/internal/outputs"
	"pawl/internal/recovery"
	"pawl/internal/supervise"
	"slices"
	"time"
)

// evidence is what is known of an attempt that is over.
type evidence struct {
	now        time.Time
	begun      bool       // its supervisor said that it was about to start the child
	rebooted   bool       // the system was restarted since: what nobody synced may be anything
	vague      bool       // the record of its beginning is gone: whether the system was restarted nobody knows
	exit       *pawl.Exit // nil: the supervisor was lost
	result     *pawl.Result
	resultErr  error
	outputs    pawl.Outputs
	outputsErr error
	checks     []pawl.CheckRun // run by us, because the supervisor could not
	lasted     time.Duration   // of a lost attempt: at least how long it ran
	present    recovery.Outputs
	failures   int           // tries used up before
	losses     int           // attempts lost in a row before
	verdict    *pawl.Verdict // an evaluator's, where it was asked
	saved      *saved        // the checkpoint that was taken of what the attempt left
	swept      int           // processes of a lost attempt that were ended
	left       []int         // and those that could not be
}

// unsynced reports whether what nobody synced may be anything.
func (ev evidence) unsynced() bool { return ev.rebooted || ev.vague }

// probed adds what the attempt's folder says.
func (ev *evidence) probed(status supervise.Status, token pawl.Token) {
	if status.Exit != nil && status.Exit.Token == token {
		ev.exit = status.Exit
	}
	ev.begun, ev.rebooted, ev.vague = status.HasBegun(), status.Rebooted(), status.HasBegun() && status.Begun == nil
}

// looksDone reports whether the attempt says of itself that it did its work.
func (ev evidence) looksDone() bool {
	if ev.resultErr != nil || ev.result != nil && ev.result.Status != pawl.ResultDone {
		return false
	}
	if ev.exit == nil {
		return ev.begun && !ev.unsynced() && ev.result != nil
	}
	return ev.exit.Reason == pawl.ReasonExited && ev.exit.Exit != nil && *ev.exit.Exit == 0
}

// needsChecks reports whether a lost attempt may be believed, or be taken for complete, once its acceptance checks pass.
func (ev evidence) needsChecks(step *pawl.Step) bool {
	complete := ev.looksDone() && ev.outputsErr == nil || ev.result == nil && ev.resultErr == nil && ev.present == recovery.AllOutputs
	return ev.exit == nil && ev.begun && complete && len(step.Accept) > 0
}

// judge says what is safe to do: by the rules, or as an evaluator chose among what they leave open.
func (ev evidence) judge(step *pawl.Step) pawl.Verdict {
	if ev.verdict != nil {
		return *ev.verdict
	}
	return recovery.Judge(ev.caseOf(step))
}

// caseOf is the evidence as the rules know it. Here place and definition are the same: an engine is at work where the
// attempt ran, and has ended those that the plan does not have any more.
func (ev evidence) caseOf(step *pawl.Step) recovery.Case {
	return recovery.Case{
		Attempt: ev.attempt(), Result: ev.resultSaid(), Outputs: ev.outputsThere(step), Checks: ev.checked(),
		Idempotent: step.MayRepeat(), SamePlace: true, SameStep: true, TriesLeft: ev.triesLeft(step),
	}
}

func (ev evidence) attempt() recovery.Attempt {
	switch {
	case ev.exit == nil && !ev.begun:
		return recovery.NotBegun
	case ev.exit == nil:
		return recovery.Lost
	case ev.exit.Reason == pawl.ReasonExited && ev.exit.Exit != nil && *ev.exit.Exit == 0:
		return recovery.ExitZero
	}
	return recovery.ExitOther
}

// resultSaid is what the attempt said of itself. What a restart of the system may have left of that is no word.
func (ev evidence) resultSaid() recovery.Result {
	switch {
	case ev.resultErr != nil:
		return recovery.Unreadable
	case ev.result == nil, ev.exit == nil && (ev.unsynced() || !ev.begun):
		return recovery.NoResult
	case ev.result.Status == pawl.ResultDone:
		return recovery.SaysDone
	}
	return recovery.SaysOther
}

// outputsThere is what there is of the declared outputs. What was not synced before a restart of the system may be half.
func (ev evidence) outputsThere(step *pawl.Step) recovery.Outputs {
	switch {
	case len(step.Outputs) == 0:
		return recovery.Undeclared
	case ev.looksDone() && ev.outputsErr == nil:
		return recovery.AllOutputs
	case ev.present == recovery.AllOutputs && (ev.unsynced() || ev.outputsErr != nil):
		return recovery.SomeOutputs
	case ev.present == "":
		return recovery.NoOutputs
	}
	return ev.present
}

func (ev evidence) checked() recovery.Checks {
	switch runs := ev.checkRuns(); {
	case !pawl.Passed(runs):
		return recovery.ChecksFail
	case len(runs) > 0:
		return recovery.ChecksPass
	}
	return recovery.NoChecks
}

func (ev evidence) checkRuns() []pawl.CheckRun {
	if ev.exit != nil {
		return ev.exit.Checks
	}
	return ev.checks
}

// unmet names the acceptance checks that failed.
func (ev evidence) unmet() []string {
	var names []string
	for _, c := range ev.checkRuns() {
		if c.Exit != 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// triesLeft reports whether it may be tried again: a loss costs no try, but a person is asked after too many.
func (ev evidence) triesLeft(step *pawl.Step) bool {
	if ev.exit == nil {
		return ev.losses+1 < maxLosses
	}
	return ev.failures+1 < step.Retry.Attempts
}

func (ev evidence) stats() *pawl.AttemptStats {
	if ev.exit == nil {
		return &pawl.AttemptStats{Seconds: max(0, ev.lasted.Seconds())}
	}
	return &pawl.AttemptStats{Seconds: ev.exit.Seconds, CPUSeconds: ev.exit.CPUSeconds, OutputBytes: ev.exit.OutputBytes}
}

// workedOn returns the declared outputs in which there is something. An empty file is no sign of work.
func workedOn(root string, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(path string) bool { return !outputs.Begun(root, path) })
}

// existing returns the declared outputs that are there, whatever they hold.
func existing(root string, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(path string) bool { return !outputs.Exists(root, path) })
}

// howMuch says how much of what is declared is there.
func howMuch(declared, there []string) recovery.Outputs {
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

// lastSign returns when an attempt last wrote something, zero where it never did.
func lastSign(dir string) time.Time {
	var last time.Time
	for _, name := range []string{pawl.OutFile, pawl.ErrFile, pawl.EventsFile, pawl.BeatFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// maxLosses is how often in a row an attempt may be lost before a person is asked.
const maxLosses = 3
