package resume

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/oneline"
	"pawl/internal/outputs"
	"pawl/internal/runs"
)

// Conclude returns the outcome of an attempt: done, with the reason in adopted if no supervisor saw it end, or how it
// ended otherwise. It is pure.
func Conclude(step *pawl.Step, ev Evidence) (done bool, adopted string, end pawl.AttemptEnded) {
	if step.Service != nil {
		return concludeService(step, ev)
	}
	v := ev.Judge(step)
	if v.Word == pawl.Next {
		if ev.Exit == nil {
			adopted = ev.death() + ", but " + v.Reasons[0]
		}
		return true, adopted, end
	}
	end = unfinishedEnd(ev)
	if end.Reason == pawl.ReasonTimeout && step.Kernel != nil && step.Kernel.File == "" && step.Timeout > longCode {
		end.Why += "; split the step: code that runs for more than " + longCode.String() + " loses much if it is interrupted"
	}
	switch end.Outcome {
	case pawl.Failed, pawl.Lost, pawl.NotStarted:
		end.Verdict = &v
	}
	return false, "", end
}

// longCode is the time limit of a kernel step's code above which it should be several steps, as in Gyoshu.
const longCode = pawl.Duration(3 * time.Minute)

// concludeService is Conclude for a service. It is done when no step needs it any longer, however it ended; before that, every
// end is a failure or an interruption.
func concludeService(step *pawl.Step, ev Evidence) (done bool, adopted string, end pawl.AttemptEnded) {
	if ev.Unneeded {
		if ev.Exit == nil {
			adopted = supervisorDied + ", but no step needs it any longer"
		}
		return true, adopted, end
	}
	end = unfinishedEnd(ev)
	if end.Outcome == pawl.Failed && end.Reason == pawl.ReasonExited {
		end.Why = "service ended while steps need it: " + ExitText(ev.Exit)
		if ev.Exit.Exit != nil && *ev.Exit.Exit == 0 {
			end.Why += "; it must stay in the foreground"
		}
	}
	switch end.Outcome {
	case pawl.Failed, pawl.Lost, pawl.NotStarted:
		v := ev.Judge(step)
		end.Verdict = &v
	}
	return false, "", end
}

// unfinishedEnd returns the end of an attempt that did not finish its work.
func unfinishedEnd(ev Evidence) pawl.AttemptEnded {
	switch {
	case ev.Exit == nil:
		return LostAttemptEnd(ev)
	case slices.Contains([]pawl.EndReason{pawl.ReasonAbort, pawl.ReasonOutdated, pawl.ReasonOrphaned}, ev.Exit.Reason):
		return ended(pawl.Aborted, ev.Exit.Reason, cmp.Or(ev.Exit.Why, "stopped on request"))
	case ev.Exit.Reason != pawl.ReasonExited:
		return ended(pawl.Failed, ev.Exit.Reason, cmp.Or(ev.Exit.Why, string(ev.Exit.Reason)))
	case ev.ResultErr != nil:
		return ended(pawl.Failed, pawl.ReasonError, ev.ResultErr.Error())
	case ev.Result != nil && ev.Result.Status != pawl.ResultDone:
		return resultEnd(ev.Result)
	case ev.Exit.Exit == nil || *ev.Exit.Exit != 0:
		return ended(pawl.Failed, pawl.ReasonExited, ExitText(ev.Exit))
	case ev.OutputsErr != nil:
		return ended(pawl.Failed, pawl.ReasonExited, outputsText(ev.OutputsErr))
	}
	return ended(pawl.Failed, pawl.ReasonExited, CheckText(ev.CheckRuns()))
}

// outputsText describes why outputs could not be recorded.
func outputsText(err error) string {
	if missing, ok := errors.AsType[*outputs.MissingError](err); ok {
		return "missing output: " + oneline.Paths(missing.Paths)
	}
	return "outputs: " + err.Error()
}

// LostAttemptEnd returns the end of an attempt whose supervisor died.
func LostAttemptEnd(ev Evidence) pawl.AttemptEnded {
	if !ev.Begun {
		return ended(pawl.NotStarted, "", "crashed before it started")
	}
	if ev.Elsewhere {
		return ended(pawl.Lost, "", "it was started in another project; how it ended is unknown here")
	}
	why := ev.death()
	if ev.WorkerLost != "" {
		why = ev.WorkerLost
	}
	if ev.Forged {
		why += ", and its exit record was not written by the supervisor"
	}
	if ev.Rebooted {
		why += " when the system rebooted"
	}
	if ev.BootUnknown {
		why += ", and its start record is lost"
	}
	if ev.Swept > 0 {
		why += fmt.Sprintf("; leftover processes terminated: %d", ev.Swept)
	}
	if len(ev.Unkillable) > 0 {
		why += fmt.Sprintf("; processes that could not be terminated: %v", ev.Unkillable)
	}
	return ended(pawl.Lost, "", why)
}

func resultEnd(r *pawl.Result) pawl.AttemptEnded {
	outcome := map[pawl.ResultStatus]pawl.Outcome{
		pawl.ResultFailed: pawl.Failed, pawl.ResultBlocked: pawl.Blocked, pawl.ResultWaiting: pawl.WaitsFor,
	}[r.Status]
	end := ended(outcome, pawl.ReasonExited, cmp.Or(r.Summary, "it reported "+string(r.Status)))
	end.Summary, end.Blockers = r.Summary, r.Blockers
	return end
}

func ended(outcome pawl.Outcome, reason pawl.EndReason, why string) pawl.AttemptEnded {
	return pawl.AttemptEnded{Outcome: outcome, Reason: reason, Why: why}
}

// ExitText says how a command ended. It is for one that pawl did not end: only another process, or the kernel when memory runs out, can
// have killed it then.
func ExitText(x *pawl.Exit) string {
	switch {
	case x.Signal == "SIGKILL", x.Signal == "SIGTERM":
		return "ended by " + x.Signal + ", not by pawl"
	case x.Signal != "":
		return "ended by " + x.Signal
	case x.Exit == nil:
		return cmp.Or(x.Why, "did not start")
	}
	return fmt.Sprintf("exit code %d", *x.Exit) + killedText(*x.Exit)
}

// killedText explains the exit code of a shell whose command was killed; "" for other exit codes.
func killedText(code int) string {
	switch code - 128 {
	case 9:
		return ": a command was killed by signal 9 (SIGKILL), not by pawl"
	case 15:
		return ": a command was killed by signal 15 (SIGTERM), not by pawl"
	}
	return ""
}

// EndedText says how an attempt ended while no engine followed it, from the record of its supervisor.
func EndedText(x *pawl.Exit) string {
	const alone = " while pawl was not running"
	why := cmp.Or(x.Why, string(x.Reason))
	switch {
	case x.Reason == pawl.ReasonAbort && strings.HasPrefix(x.Why, "stopped"):
		return x.Why
	case x.Reason == pawl.ReasonAbort:
		return "stopped on request: " + cmp.Or(x.Why, "no reason given")
	case x.Reason != pawl.ReasonExited:
		return "terminated" + alone + ": " + why
	case x.Exit == nil || *x.Exit != 0:
		return "failed" + alone + ": " + ExitText(x)
	}
	return "finished" + alone
}

func CheckText(checks []pawl.CheckRun) string {
	var failed []string
	for _, c := range checks {
		if c.Exit != 0 {
			text := fmt.Sprintf("check %s failed (exit code %d)", c.Name, c.Exit)
			if lines := strings.Split(strings.TrimSpace(c.Output), "\n"); lines[len(lines)-1] != "" {
				text += ": " + lines[len(lines)-1]
			}
			failed = append(failed, text)
		}
	}
	return runs.ClipText(strings.Join(failed, "; "))
}

// BlockersOf returns what blocks the attempt, or its summary if it names nothing.
func BlockersOf(end pawl.AttemptEnded) []string {
	if len(end.Blockers) > 0 {
		return end.Blockers
	}
	return []string{end.Why}
}
