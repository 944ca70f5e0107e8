package decide

import (
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/oneline"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// Limits of a notice's texts, in bytes.
const (
	maxNoticeTitle = 200
	maxNoticeText  = 4 << 10
)

// Notices returns the notices that are due in a run that can do nothing more for now: one for each open gate, missing review and
// blocker, and one for its end. end is the action that is about to end the run, the zero action for none. The same cause gives
// the same id whenever it is asked. Whether a notice was sent already does not matter here.
func Notices(plan *pawl.Plan, s *pawl.State, end Action, now time.Time) []pawl.Notice {
	n := noticer{plan: plan, state: s, now: now}
	if end.Ends() {
		n.end(s.Ends+1, pawl.RunEnded{Status: end.Status(), Why: end.Why}, now)
		return n.due
	}
	for i := range s.Gates {
		if g := &s.Gates[i]; g.Open() {
			n.gate(i, g)
		}
	}
	for _, step := range plan.Steps() {
		if st := s.Steps[step.ID]; st != nil && st.Status == pawl.AwaitsReview && st.ScoredTooLow() == "" {
			n.review(step.ID, st)
		}
	}
	for _, b := range s.OpenBlockers() {
		n.add(pawl.Notice{ID: fmt.Sprintf("blocker-%d", b.ID), Kind: pawl.NoticeBlocked, Step: b.Step, Blocker: b.ID, Time: b.Opened},
			"blocked: "+b.Text, b.Text, fmt.Sprintf("pawl unblock %d", b.ID))
	}
	return n.due
}

// Expiring returns a notice for each open gate that expires within pawl.ExpirySoon. Its time is when that begins.
func Expiring(plan *pawl.Plan, s *pawl.State, now time.Time) []pawl.Notice {
	n := noticer{plan: plan, state: s, now: now}
	for i := range s.Gates {
		g := &s.Gates[i]
		if !g.Open() || g.Expires.IsZero() || g.Expires.Sub(now) > pawl.ExpirySoon {
			continue
		}
		x := noticeOf(i, g)
		x.ID, x.Kind, x.Time = x.ID+"-expiry", pawl.NoticeExpiry, g.Expires.Add(-pawl.ExpirySoon)
		if x.Time.Before(g.Opened) {
			x.Time = g.Opened
		}
		n.ask(x, g, "expires at "+g.Expires.UTC().Format(time.RFC3339)+": "+g.Ask)
	}
	return n.due
}

// Ended returns the notice of a run's end that is in the journal, by its number among the ends of the run.
func Ended(plan *pawl.Plan, s *pawl.State, number int, end pawl.RunEnded, at time.Time) pawl.Notice {
	n := noticer{plan: plan, state: s, now: at}
	n.end(number, end, at)
	return n.due[0]
}

type noticer struct {
	plan  *pawl.Plan
	state *pawl.State
	now   time.Time
	due   []pawl.Notice
}

// add completes a notice. lines that are empty are left out.
func (n *noticer) add(x pawl.Notice, title string, lines ...string) {
	s := n.state
	x.Version, x.Run, x.Plan = 1, s.Run, s.Name
	if x.Status == "" {
		x.Status = s.Status
	}
	if x.Time.IsZero() {
		x.Time = n.now
	}
	var text []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			text = append(text, line)
		}
	}
	clean := redact.OfProcess() // before anything is cut
	x.Title = oneline.Clip(oneline.Printable(clean.Text(s.Name+": "+title)), maxNoticeTitle)
	x.Text = oneline.Clip(clean.Text(strings.Join(text, "\n")), maxNoticeText)
	if x.Gate != nil {
		x.Gate.Ask = oneline.Clip(clean.Text(x.Gate.Ask), maxNoticeText)
	}
	n.due = append(n.due, x)
}

// noticeOf returns what a notice has of a gate, by the gate's place in the run.
func noticeOf(index int, g *pawl.GateState) pawl.Notice {
	return pawl.Notice{
		ID: fmt.Sprintf("gate-%d", index+1), Kind: pawl.NoticeGate, Step: g.Step, Time: g.Opened,
		Gate: &pawl.NoticeGated{ID: g.ID, Type: g.Type, Ask: g.Ask, Options: g.Options, Expires: g.Expires},
	}
}

func (n *noticer) gate(index int, g *pawl.GateState) { n.ask(noticeOf(index, g), g, g.Ask) }

// ask completes a notice about a gate.
func (n *noticer) ask(x pawl.Notice, g *pawl.GateState, title string) {
	expect := ""
	if g.Expect != "" {
		expect = g.ExpectLabel() + ": " + g.Expect
	}
	n.add(x, title, g.Ask, expect, "answer: "+strings.Join(runs.AnswerCommands(g), "; "), "run: "+string(n.state.Run))
}

func (n *noticer) review(id pawl.StepID, st *pawl.StepState) {
	title := fmt.Sprintf("step %s waits for review by %s", id, strings.Join(st.Unreviewed(), ", "))
	commands := runs.ReviewCommands(id, st, func(command string) string { return command })
	n.add(pawl.Notice{ID: fmt.Sprintf("review-%d", st.Done), Kind: pawl.NoticeGate, Step: id, Time: st.Ended}, title,
		title, st.Summary, "answer: "+strings.Join(commands, "; "), "run: "+string(n.state.Run))
}

func (n *noticer) end(number int, end pawl.RunEnded, at time.Time) {
	x := pawl.Notice{ID: fmt.Sprintf("end-%d", number), Kind: pawl.NoticeSuccess, Status: end.Status, Time: at}
	handler := ""
	if number >= n.state.Ends { // else the run was reopened since, and the state says other things
		x.Failed, handler = n.state.FailedSteps(n.plan), HandlerFailure(n.plan, n.state, end.Status)
	}
	title := "completed"
	if x.Status == pawl.StatusFailed {
		x.Kind, title = pawl.NoticeFailure, "failed: "+end.Why
	}
	n.add(x, title, "run "+string(n.state.Run)+" "+string(x.Status), end.Why, handler, "pawl status "+string(n.state.Run))
}

// HandlerFailure says that the handler of a run that ends with this status failed, "" if it did not.
func HandlerFailure(plan *pawl.Plan, s *pawl.State, status pawl.RunStatus) string {
	step := plan.Handler(status)
	if step == nil {
		return ""
	}
	if st := s.Steps[step.ID]; st != nil && st.Status == pawl.FailedForGood {
		return fmt.Sprintf("%s failed: %s", step.ID, st.Why)
	}
	return ""
}
