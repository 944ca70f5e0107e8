package engine

import (
	"cmp"
	"fmt"
	"pawl"
	"strings"
)

// verdictOn says what an attempt came to: done, with why it is believed where no supervisor saw its end; or how it
// ended otherwise. It is pure.
func verdictOn(step *pawl.Step, ev evidence) (done bool, adopted string, end pawl.AttemptEnded) {
	v := ev.judge(step)
	if v.Word == pawl.Next {
		if ev.exit == nil {
			adopted = "its supervisor was lost, but " + v.Reasons[0]
		}
		return true, adopted, end
	}
	end = endOf(ev)
	switch end.Outcome {
	case pawl.Failed, pawl.Lost, pawl.NotStarted:
		end.Verdict = &v
	}
	return false, "", end
}

// endOf says how an attempt ended that did not finish its work.
func endOf(ev evidence) pawl.AttemptEnded {
	switch {
	case ev.exit == nil:
		return lostEnd(ev)
	case ev.exit.Reason == pawl.ReasonAbort || ev.exit.Reason == pawl.ReasonOutdated:
		return ended(pawl.Aborted, ev.exit.Reason, cmp.Or(ev.exit.Why, "ended on request"))
	case ev.exit.Reason != pawl.ReasonExited:
		return ended(pawl.Failed, ev.exit.Reason, cmp.Or(ev.exit.Why, string(ev.exit.Reason)))
	case ev.resultErr != nil:
		return ended(pawl.Failed, pawl.ReasonError, ev.resultErr.Error())
	case ev.result != nil && ev.result.Status != pawl.ResultDone:
		return resultVerdict(ev.result)
	case ev.exit.Exit == nil || *ev.exit.Exit != 0:
		return ended(pawl.Failed, pawl.ReasonExited, exitText(ev.exit))
	case ev.outputsErr != nil:
		return ended(pawl.Failed, pawl.ReasonExited, "outputs: "+ev.outputsErr.Error())
	}
	return ended(pawl.Failed, pawl.ReasonExited, checkText(ev.exit.Checks))
}

// lostEnd says how an attempt ended whose supervisor died.
func lostEnd(ev evidence) pawl.AttemptEnded {
	if !ev.begun {
		return ended(pawl.NotStarted, "", "lost before it began")
	}
	why := "its supervisor was lost"
	if ev.rebooted {
		why += " when the system was restarted"
	}
	if ev.vague {
		why += ", and so was the record of its beginning"
	}
	if ev.swept > 0 {
		why += fmt.Sprintf("; %d processes of it were ended", ev.swept)
	}
	if len(ev.left) > 0 {
		why += fmt.Sprintf("; these could not be: %v", ev.left)
	}
	return ended(pawl.Lost, "", why)
}

func resultVerdict(r *pawl.Result) pawl.AttemptEnded {
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

func exitText(x *pawl.Exit) string {
	switch {
	case x.Signal != "":
		return "ended by " + x.Signal
	case x.Exit == nil:
		return cmp.Or(x.Why, "did not start")
	}
	return fmt.Sprintf("exit code %d", *x.Exit)
}

func checkText(checks []pawl.CheckRun) string {
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
	return clip(strings.Join(failed, "; "))
}

// orBlockers returns what blocks an attempt, its summary where it names nothing.
func orBlockers(end pawl.AttemptEnded) []string {
	if len(end.Blockers) > 0 {
		return end.Blockers
	}
	return []string{end.Why}
}
