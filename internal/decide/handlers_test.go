package decide

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/runs"
)

const handled = `name: demo
on_success: {run: ./yes, retry: {attempts: 2, backoff: 5s}}
on_failure: ./no
steps:
  - {id: a, run: make a}
  - {id: b, needs: [], run: make b}
`

// end is a failed attempt after which a step has failed.
var end = pawl.AttemptEnded{Outcome: pawl.Failed, Final: true}

func TestHandlerRunsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, handled)
	w.done("a")
	ref := w.begin("b", "", 0)
	w.want(4, "")
	w.say(pawl.StepDone{Step: "b", Attempt: 1, Token: ref.Token})
	w.want(4, "start on_success")

	ref = w.begin(pawl.OnSuccess, "", 0)
	w.want(4, "")
	w.say(pawl.AttemptEnded{AttemptRef: ref, Outcome: pawl.Failed, RetryAt: w.now.Add(5 * time.Second)})
	w.want(4, "wait 5s")
	w.now = w.now.Add(6 * time.Second)
	w.want(4, "start on_success")
	w.fails(pawl.OnSuccess, end)
	w.say(pawl.StepFailed{Step: pawl.OnSuccess, Why: "exit 1"})
	w.want(4, "complete on_success") // all the same
}

// TestHandlerWaits: no handler starts while another attempt is live, while the run is paused, or while the handler is blocked.
func TestHandlerWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, handled)
	other := w.begin("b", "", 0)
	w.fails("a", end)
	w.say(pawl.StepFailed{Step: "a", Why: "exit 1"})
	w.want(4, "")
	w.say(pawl.StepDone{Step: "b", Attempt: 1, Token: other.Token})
	w.say(pawl.RunPaused{})
	w.want(4, "")
	w.say(pawl.RunContinued{}, pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key", Step: pawl.OnFailure}})
	w.want(4, "")
	w.say(pawl.BlockerCleared{ID: 1})
	w.want(4, "start on_failure")
	w.say(pawl.RunStopped{})
	w.want(4, "")
}

// TestHandlerRunsForEachEnd: a run that continues after its handler ran has another end.
func TestHandlerRunsForEachEnd(t *testing.T) {
	t.Parallel()
	failed := func() *world {
		w := newWorld(t, handled)
		w.done("b")
		w.fails("a", end)
		w.say(pawl.StepFailed{Step: "a", Why: "exit 1"})
		return w
	}
	again := pawl.StepReopened{Step: "a", Why: "again", Asked: true}

	w := failed() // queued for retry after the end
	w.done(pawl.OnFailure)
	w.want(4, "fail on_failure")
	w.say(pawl.RunEnded{Status: pawl.StatusFailed, Handler: pawl.OnFailure}, again, pawl.RunReopened{})
	w.want(4, "start a")
	w.fails("a", end)
	w.say(pawl.StepFailed{Step: "a", Why: "exit 1"})
	w.want(4, "start on_failure")

	w = failed() // while the handler runs
	ref := w.begin(pawl.OnFailure, "", 0)
	w.say(again)
	w.want(4, "")
	w.say(pawl.StepDone{Step: pawl.OnFailure, Attempt: 1, Token: ref.Token})
	w.want(4, "reopen [on_failure]")
	w.say(pawl.StepReopened{Step: pawl.OnFailure})
	w.want(4, "start a")

	w = failed() // reopened, and nothing can start
	w.done(pawl.OnFailure)
	w.say(pawl.RunEnded{Status: pawl.StatusFailed, Handler: pawl.OnFailure}, pawl.RunReopened{})
	w.want(4, "start on_failure")

	w = failed() // the handler itself is queued
	w.done(pawl.OnFailure)
	w.say(pawl.RunEnded{Status: pawl.StatusFailed, Handler: pawl.OnFailure}, pawl.StepReopened{Step: pawl.OnFailure, Asked: true}, pawl.RunReopened{})
	w.want(4, "start on_failure")

	w = failed() // skipped
	w.say(pawl.StepSkipped{Step: pawl.OnFailure})
	w.want(4, "fail on_failure")
}

// TestAnswerEndsTheRun: a rejected gate of the run ends it, after the handler, and no step starts before that.
func TestAnswerEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, handled)
	w.say(pawl.GateOpened{Gate: pawl.Gate{ID: "g", Type: pawl.HumanVerify, Ask: "Go on?"}}, pawl.GateAnswered{Gate: "g", Answer: pawl.Refused})
	w.want(4, "start on_failure")
	ref := w.begin(pawl.OnFailure, "", 0)
	w.want(4, "")
	w.say(pawl.StepDone{Step: pawl.OnFailure, Attempt: 1, Token: ref.Token})
	w.want(4, "fail on_failure")
}

// TestEachEndIsHandledOnce plays random runs, in which steps fail, are queued again at any time and handlers fail too. Before each end,
// exactly one attempt series of the right handler ran, after the last attempt of any step.
func TestEachEndIsHandledOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, handled)
		outline := runs.NewOutline(w.plan)
		handlers := 0 // that concluded since the last attempt of a step
		ends := 0
		for range rapid.IntRange(5, 40).Draw(r, "moves") {
			actions := Next(outline, w.state, w.now, 2)
			if rapid.IntRange(0, 3).Draw(r, "retry") == 0 {
				id := rapid.SampledFrom([]pawl.StepID{"a", "b"}).Draw(r, "step")
				if st := w.state.Steps[id]; st != nil && len(st.Live()) == 0 {
					w.say(pawl.StepReopened{Step: id, Asked: true})
					if w.state.Ended() {
						w.say(pawl.RunReopened{})
						handlers = 0
					}
				}
				continue
			}
			for _, a := range actions {
				switch a.Kind {
				case Start:
					ref := w.begin(a.Step.ID, "", 0)
					if !w.plan.HandlesEnd(a.Step.ID) {
						handlers = 0
					}
					w.live[string(a.Step.ID)] = ref
				case Sleep:
					w.now = a.Until
				default:
					w.say(a.Payloads(w.state)...)
				}
				if a.Ends() {
					if ends++; handlers != 1 {
						r.Fatalf("%d handlers ran before end %d: %s", handlers, ends, a.Kind)
					}
				}
			}
			for name, ref := range w.live {
				id := pawl.StepID(name)
				if rapid.Bool().Draw(r, "runs on") {
					continue
				}
				delete(w.live, name)
				if rapid.Bool().Draw(r, "good") {
					w.say(pawl.StepDone{Step: id, Attempt: ref.Attempt, Token: ref.Token})
				} else {
					w.say(pawl.AttemptEnded{AttemptRef: ref, Outcome: pawl.Failed, Final: true}, pawl.StepFailed{Step: id, Why: "bad luck"})
				}
				if w.plan.HandlesEnd(id) {
					handlers++
				}
			}
		}
	})
}

func TestNotices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "name: demo\non_failure: ./no\nsteps:\n  - {id: a, run: make, review: {ann: 80}}\n  - {id: b, gate: {type: decision, ask: 'Which?', options: [x, y]}}\n")
	ids := func(end Action) string {
		var all []string
		for _, n := range Notices(w.plan, w.state, end, w.now) {
			if n.Version != 1 || n.Run != w.state.Run || n.Time.IsZero() || n.Status == "" {
				t.Errorf("%+v", n)
			}
			all = append(all, n.ID+": "+n.Title)
		}
		return strings.Join(all, "; ")
	}
	same := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	same(ids(Action{}), "")
	ref := w.begin("a", "", 0)
	w.say(pawl.StepDone{Step: "a", Attempt: 1, Token: ref.Token, Review: map[string]int{"ann": 80}})
	same(ids(Action{}), "review-5: : step a waits for review by ann")
	w.say(pawl.StepReviewed{Step: "a", Reviewer: "ann", Score: 90})
	for range 2 { // the same gate asks again, and is another notice
		w.say(pawl.GateOpened{Gate: pawl.Gate{ID: "g", Step: "b", Type: pawl.DecisionFor, Ask: "Which\none?", Options: []string{"x", "y"}}})
		w.say(pawl.GateWithdrawn{Gate: "g", Why: "edited"})
	}
	same(ids(Action{}), "")
	w.say(pawl.GateOpened{Gate: pawl.Gate{ID: "g", Step: "b", Type: pawl.DecisionFor, Ask: "Which\none?", Options: []string{"x", "y"}}})
	w.say(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key", Step: "a"}})
	same(ids(Action{}), "gate-3: : Which one?; blocker-1: : blocked: no key")
	w.say(pawl.StepFailed{Step: pawl.OnFailure, Why: "exit 3"})
	fail := Action{Kind: FailRun, Why: "step b failed: exit 1"}
	same(ids(fail), "end-1: : failed: step b failed: exit 1")
	if n := Notices(w.plan, w.state, fail, w.now)[0]; n.Kind != pawl.NoticeFailure || !strings.Contains(n.Text, "on_failure failed: exit 3") {
		t.Errorf("%+v", n)
	}
	w.say(pawl.RunEnded{Status: pawl.StatusFailed}, pawl.RunReopened{})
	same(ids(Action{Kind: Complete}), "end-2: : completed")
}
