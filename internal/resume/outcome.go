package resume

import (
	"cmp"
	"fmt"
	"pawl"
	"pawl/internal/runs"
	"strings"
)

// Conclude says what an attempt came to: done, with why it is believed where no supervisor saw its end; or how it
// ended otherwise. It is pure.
func Conclude(step *pawl.Step, ev Evidence) (done bool, adopted string, end pawl.AttemptEnded) {
	v := ev.Judge(step)
	if v.Word == pawl.Next {
		if ev.Exit == nil {
			adopted = "its supervisor was lost, but " + v.Reasons[0]
		}
		return true, adopted, end
	}
	end = unfinishedEnd(ev)
	switch end.Outcome {
	case pawl.Failed, pawl.Lost, pawl.NotStarted:
		end.Verdict = &v
	}
	return false, "", end
}

// unfinishedEnd says how an attempt ended that did not finish its work.
func unfinishedEnd(ev Evidence) pawl.AttemptEnded {
	switch {
	case ev.Exit == nil:
		return LostAttemptEnd(ev)
	case ev.Exit.Reason == pawl.ReasonAbort || ev.Exit.Reason == pawl.ReasonOutdated:
		return ended(pawl.Aborted, ev.Exit.Reason, cmp.Or(ev.Exit.Why, "ended on request"))
	case ev.Exit.Reason != pawl.ReasonExited:
		return ended(pawl.Failed, ev.Exit.Reason, cmp.Or(ev.Exit.Why, string(ev.Exit.Reason)))
	case ev.ResultErr != nil:
		return ended(pawl.Failed, pawl.ReasonError, ev.ResultErr.Error())
	case ev.Result != nil && ev.Result.Status != pawl.ResultDone:
		return resultEnd(ev.Result)
	case ev.Exit.Exit == nil || *ev.Exit.Exit != 0:
		return ended(pawl.Failed, pawl.ReasonExited, ExitText(ev.Exit))
	case ev.OutputsErr != nil:
		return ended(pawl.Failed, pawl.ReasonExited, "outputs: "+ev.OutputsErr.Error())
	}
	return ended(pawl.Failed, pawl.ReasonExited, CheckText(ev.Exit.Checks))
}

// LostAttemptEnd says how an attempt ended whose supervisor died.
func LostAttemptEnd(ev Evidence) pawl.AttemptEnded {
	if !ev.Begun {
		return ended(pawl.NotStarted, "", "lost before it began")
	}
	why := "its supervisor was lost"
	if ev.Rebooted {
		why += " when the system was restarted"
	}
	if ev.BootUnknown {
		why += ", and so was the record of its beginning"
	}
	if ev.Swept > 0 {
		why += fmt.Sprintf("; %d processes of it were ended", ev.Swept)
	}
	if len(ev.Unkillable) > 0 {
		why += fmt.Sprintf("; these could not be: %v", ev.Unkillable)
	}
	return ended(pawl.Lost, "", why)
}

func resultEnd(r *pawl.Result) pawl.AttemptEnded {
	outcome := map[pawl.ResultStatus]pawl.Outcome{
		pawl.ResultFailed: pawl.Failed, pawl.ResultBlocked: pawl.Blocked, pawl.ResultWaiting: pawl.WaitsFor,
	}[r.Status]
	end := ended(outcome, pawl.ReasonExited, cmp.Or(r.Summary, "it says that it is "+string(r.Status)))
	end.Summary, end.Blockers = r.Summary, r.Blockers
	return end
}

func ended(outcome pawl.Outcome, reason pawl.EndReason, why string) pawl.AttemptEnded {
	return pawl.AttemptEnded{Outcome: outcome, Reason: reason, Why: why}
}

func ExitText(x *pawl.Exit) string {
	switch {
	case x.Signal != "":
		return "ended by " + x.Signal
	case x.Exit == nil:
		return cmp.Or(x.Why, "did not start")
	}
	return fmt.Sprintf("exit code %d", *x.Exit)
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

// BlockersOf returns what blocks an attempt, its summary where it names nothing.
func BlockersOf(end pawl.AttemptEnded) []string {
	if len(end.Blockers) > 0 {
		return end.Blockers
	}
	return []string{end.Why}
}
