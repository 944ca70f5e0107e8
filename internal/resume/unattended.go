package resume

import (
	"time"

	"pawl"
)

// Unattended reports whether a run is to be resumed without anybody asking for it, and why or why not. That is so if its engine died, if
// an engine left running attempts behind, if the command that started it died before its engine worked on it, if a person has answered
// since what the run waited for, or if a gate that it waits for has expired. A fork or an import starts only when a person resumes it.
// engine reports whether a live engine holds the run; plan may be nil.
func Unattended(s *pawl.State, plan *pawl.Plan, engine bool, now time.Time) (resume bool, why string) {
	status := s.StatusIn(plan, engine)
	word, reason := s.StandingIn(plan, engine)
	expired := expiredGate(s, now)
	switch {
	case engine:
		return false, "an engine works on it"
	case s.Kind == pawl.SessionRun || s.Kind == pawl.DurableRun:
		return false, "pawl resume does not continue it: it is a " + string(s.Kind) + " run"
	case s.Rollback != nil, s.Restore != nil:
		return false, "a person must finish its rollback or restore"
	case word == pawl.ReadyToResume && s.Epoch > 0:
		return true, reason
	case status == pawl.StatusWaiting && s.Epoch > 0 && expired != "":
		return true, "gate " + string(expired) + " has expired"
	case status != pawl.StatusInterrupted:
		return false, string(status)
	case s.Engine != nil:
		return true, "its engine died"
	case len(s.Working()) > 0:
		return true, "no engine watches its running attempts"
	case s.Epoch > 0:
		return false, "a person stopped it"
	case s.Forked != nil || s.Import.System != "":
		return false, "nobody has started it yet"
	}
	return true, "no engine has worked on it yet"
}

// expiredGate returns the first open gate that has expired; "" for none.
func expiredGate(s *pawl.State, now time.Time) pawl.GateID {
	for _, g := range s.OpenGates() {
		if !g.Expires.IsZero() && !now.Before(g.Expires) {
			return g.ID
		}
	}
	return ""
}
