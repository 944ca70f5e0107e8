package resume

import (
	"path/filepath"
	"pawl"
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/outputs"
	"pawl/internal/recovery"
	"pawl/internal/supervise"
	"slices"
	"strings"
	"time"
)

// Evidence is what is known about an attempt that has ended.
type Evidence struct {
	Now         time.Time
	Begun       bool       // the supervisor recorded that it was about to start the command
	Rebooted    bool       // the system was rebooted since; unsynced files may be incomplete
	Forged      bool       // there is an exit record, but the supervisor did not write it
	BootUnknown bool       // the start record is lost, so a reboot cannot be ruled out
	Exit        *pawl.Exit // nil: the supervisor died
	Result      *pawl.Result
	ResultErr   error
	Outputs     pawl.Outputs
	OutputsErr  error
	Checks      []pawl.CheckRun // run by the engine because the supervisor did not run just these
	Lasted      time.Duration   // of a lost attempt: its minimum duration
	Present     recovery.Outputs
	Failures    int                        // failed attempts before this one
	LostInARow  int                        // attempts lost in a row before this one
	Verdict     *pawl.Verdict              // the evaluator's verdict, if one was asked
	Checkpoint  *history.PendingCheckpoint // checkpoint of what the attempt left; nil for none
	Away        string                     // the input of an attempt that a worker may carry out, and whose supervisor here is gone; see Rejoins
	WorkerLost  string                     // why it is not known what its worker did; "" for other attempts
	Swept       int                        // number of orphaned processes that were killed
	Unkillable  []int                      // processes that could not be killed
	Serves      bool                       // it runs a service, which is safe to rerun
	Unneeded    bool                       // it was a service that no step needs any more
}

// unsynced reports whether unsynced files may be incomplete.
func (ev Evidence) unsynced() bool { return ev.Rebooted || ev.BootUnknown }

// AddStatus adds the attempt's status. Records of another attempt, with another token, are ignored, as are exit records
// that the attempt's supervisor did not sign.
func (ev *Evidence) AddStatus(status supervise.Status, token pawl.Token, seal string) {
	if status.Exit != nil && status.Exit.Token == token {
		ev.Exit = status.ExitSealed(seal)
		ev.Forged = ev.Exit == nil
	}
	if ev.Exit != nil && ev.Exit.Reason == pawl.ReasonLost {
		ev.WorkerLost, ev.Exit = ev.Exit.Why, nil
	}
	ev.Begun, ev.Rebooted, ev.BootUnknown = status.HasBegun(), status.Rebooted(), status.HasBegun() && status.Begun == nil
}

// LooksDone reports whether the attempt claims success.
func (ev Evidence) LooksDone() bool {
	if ev.ResultErr != nil || ev.Result != nil && ev.Result.Status != pawl.ResultDone {
		return false
	}
	if ev.Exit == nil {
		return ev.Begun && !ev.unsynced() && ev.Result != nil
	}
	return ev.Exit.Reason == pawl.ReasonExited && ev.Exit.Exit != nil && *ev.Exit.Exit == 0
}

// NeedsChecks reports whether the engine must run the acceptance checks: they decide about a lost attempt, or the
// supervisor did not run exactly those that the step has.
func (ev Evidence) NeedsChecks(step *pawl.Step) bool {
	if ev.Exit != nil {
		return ev.LooksDone() && ev.OutputsErr == nil && len(step.Accept) > 0 && !checked(ev.Exit, step)
	}
	complete := ev.LooksDone() && ev.OutputsErr == nil || ev.Result == nil && ev.ResultErr == nil && ev.Present == recovery.AllOutputs
	return ev.Begun && complete && len(step.Accept) > 0
}

// checked reports whether an exit record has exactly one result of each of the step's acceptance checks.
func checked(exit *pawl.Exit, step *pawl.Step) bool {
	names := map[string]bool{}
	for _, c := range exit.Checks {
		_, known := step.Accept[c.Name]
		if !known || names[c.Name] {
			return false
		}
		names[c.Name] = true
	}
	return len(names) == len(step.Accept) && exit.Accept == pawl.AcceptOf(step)
}

// Judge returns the evaluator's verdict if there is one, or else that of the decision table.
func (ev Evidence) Judge(step *pawl.Step) pawl.Verdict {
	if ev.Verdict != nil {
		return *ev.Verdict
	}
	return recovery.Judge(ev.Case(step))
}

// Foresee returns the verdict that a resume will give on a case. The table does not judge an attempt that was stopped on request, or
// that reported that it is blocked or waits: neither is a failure.
func (ev Evidence) Foresee(c recovery.Case) pawl.Verdict {
	v := recovery.Judge(c)
	if ev.Exit == nil || c.Attempt == recovery.Live || v.Word == pawl.Next || !c.SameStep || !c.SamePlace {
		return v
	}
	switch end := unfinishedEnd(ev); end.Outcome {
	case pawl.Aborted:
		return pawl.Verdict{Word: pawl.Restart, Reasons: []string{"it was stopped on request, which uses up no attempt"}}
	case pawl.Blocked:
		return pawl.Verdict{Word: pawl.HumanReview, Reasons: []string{"it reported a blocker: " + strings.Join(BlockersOf(end), "; ")}}
	case pawl.WaitsFor:
		return pawl.Verdict{Word: pawl.HumanReview, Reasons: []string{"it waits for an answer"}}
	}
	return v
}

// Case returns the evidence as input of the decision table. Place and definition are unchanged: the engine runs where
// the attempt ran, and has terminated outdated attempts.
func (ev Evidence) Case(step *pawl.Step) recovery.Case {
	return recovery.Case{
		Attempt: ev.attemptAt(step), Result: ev.result(), Outputs: ev.outputs(step), Checks: ev.checks(),
		Idempotent: step.MayRepeat() || ev.Serves, SamePlace: true, SameStep: true, TriesLeft: ev.triesLeft(step),
	}
}

// attemptAt is attempt, but a service that ended by itself has failed, whatever its exit code.
func (ev Evidence) attemptAt(step *pawl.Step) recovery.Attempt {
	if a := ev.attempt(); step.Service == nil || a != recovery.ExitZero {
		return a
	}
	return recovery.ExitOther
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

// result returns the status in the result file. After a reboot an unsynced result does not count.
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

// outputs returns how many declared outputs exist. After a reboot unsynced outputs do not count.
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
	if ev.Exit != nil && ev.Checks == nil {
		return ev.Exit.Checks
	}
	return ev.Checks
}

// Unmet returns the names of the failed acceptance checks.
func (ev Evidence) Unmet() []string {
	var names []string
	for _, c := range ev.CheckRuns() {
		if c.Exit != 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// triesLeft reports whether the step may be retried. A lost attempt does not use up a retry, but after too many in a
// row a person must decide.
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
	return &pawl.AttemptStats{
		Seconds: ev.Exit.Seconds, CPUSeconds: ev.Exit.CPUSeconds, OutputBytes: ev.Exit.OutputBytes,
		Killed: ev.Exit.Killed, Leftovers: ev.Exit.Leftovers[:min(len(ev.Exit.Leftovers), pawl.MaxLeftovers)],
	}
}

// NonEmptyOutputs returns the declared outputs, relative to root, that have content. An empty file is not a sign of work.
func NonEmptyOutputs(root string, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(path string) bool { return !outputs.HasContent(root, path) })
}

// existingOutputs returns the declared outputs that exist.
func existingOutputs(root string, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(path string) bool { return !outputs.Exists(root, path) })
}

// CompareOutputs returns how many of the declared paths are in there.
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

// LastWrite returns the time of the attempt's last write, the zero time if it wrote nothing.
func LastWrite(dir string) time.Time {
	var last time.Time
	for _, name := range []string{pawl.OutFile, pawl.ErrFile, pawl.EventsFile, pawl.BeatFile} {
		if info, err := disk.Lstat(filepath.Join(dir, name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// MaxLosses is how many attempts in a row may be lost before a person must decide.
const MaxLosses = 3
