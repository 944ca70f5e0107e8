package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// world is a run in memory: a plan, and a state folded from events as a journal would number them.
type world struct {
	t     testing.TB
	plan  *pawl.Plan
	state *pawl.State
	now   time.Time
	live  map[string]pawl.AttemptRef
}

func newWorld(t testing.TB, yaml string) *world {
	t.Helper()
	plan, err := planfile.Read("plan.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, plan: plan, state: pawl.NewState(), now: time.Unix(1_000_000, 0).UTC(), live: map[string]pawl.AttemptRef{}}
	w.say(pawl.RunCreated{Format: 1, Run: "demo-20260101-000000-0000", Kind: pawl.PlanRun}, pawl.RunPlanned{Revision: 1, Mode: plan.Mode})
	w.say(pawl.EngineStarted{Epoch: 1})
	return w
}

// say folds payloads, and fails the test where one does not fit.
func (w *world) say(payloads ...pawl.Payload) {
	w.t.Helper()
	for _, p := range payloads {
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			w.t.Fatal(err)
		}
		e.Seq, e.Time, e.Epoch = w.state.Seq+1, w.now, 1
		before := w.state.RejectedCount
		w.state.Apply(e)
		if w.state.RejectedCount > before {
			w.t.Fatalf("%s does not fit: %+v", p.Event(), w.state.RejectedEvents[len(w.state.RejectedEvents)-1])
		}
	}
}

// begin starts an attempt of a step or item.
func (w *world) begin(step pawl.StepID, item pawl.ItemID, index int) pawl.AttemptRef {
	w.t.Helper()
	ref := pawl.AttemptRef{Step: step, Item: item, Index: index, Attempt: 1, Token: pawl.Token(fmt.Sprintf("t%d", w.state.Seq))}
	st := w.state.Steps[step]
	if st != nil && item == "" {
		ref.Attempt = st.Retries.Attempt + 1
	} else if st != nil && st.Items.Retries[index] != nil {
		ref.Attempt = st.Items.Retries[index].Attempt + 1
	}
	w.say(pawl.AttemptStarted{AttemptRef: ref})
	return ref
}

// done finishes a step in one go.
func (w *world) done(step pawl.StepID) {
	w.t.Helper()
	ref := w.begin(step, "", 0)
	w.say(pawl.StepDone{Step: step, Attempt: ref.Attempt, Token: ref.Token})
}

// fails ends a new attempt of a step badly.
func (w *world) fails(step pawl.StepID, end pawl.AttemptEnded) {
	w.t.Helper()
	end.AttemptRef = w.begin(step, "", 0)
	w.say(end)
}

// next returns the decisions as words, such as "start b" or "start each[2]".
func (w *world) next(slots int) string {
	var words []string
	for _, a := range Next(runs.NewOutline(w.plan), w.state, w.now, slots) {
		word := string(a.Kind)
		switch {
		case a.Kind == Sleep:
			word += " " + a.Until.Sub(w.now).String()
		case a.Kind == Reopen:
			word += fmt.Sprintf(" %v", a.Steps)
		case a.Step != nil && a.Index >= 0:
			word += fmt.Sprintf(" %s[%d]", a.Step.ID, a.Index)
		case a.Step != nil:
			word += " " + string(a.Step.ID)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func (w *world) want(slots int, want string) {
	w.t.Helper()
	if got := w.next(slots); got != want {
		w.t.Errorf("next: %q, want %q", got, want)
	}
}

func TestNextFollowsOrder(t *testing.T) {
	w := newWorld(t, `
name: p
phases:
  - name: one
    steps:
      - {id: a, run: ":"}
      - {id: b, run: ":", needs: []}
      - {id: c, run: ":", needs: [a, b]}
  - name: two
    steps:
      - {id: d, run: ":"}
`)
	w.want(1, "start a")
	w.want(8, "start a, start b")
	w.done("a")
	w.want(8, "start b")
	ref := w.begin("b", "", 0)
	w.want(8, "")
	w.say(pawl.StepDone{Step: "b", Attempt: 1, Token: ref.Token})
	w.want(8, "start c")
	w.done("c")
	w.want(8, "start d")
	w.say(pawl.StepSkipped{Step: "d"})
	w.want(8, "complete")
	w.say(pawl.RunEnded{Status: pawl.StatusCompleted})
	w.want(8, "")
}

// TestNextWaitsForAllBefore: what is open waits for all that is open before it, also where a step lies in between that was
// skipped, was found finished when the run was made, or stands on something that is done again.
func TestNextWaitsForAllBefore(t *testing.T) {
	for name, between := range map[string]func(*world){
		"skipped": func(w *world) { w.say(pawl.StepSkipped{Step: "b"}, pawl.StepSkipped{Step: "c"}) },
		"imported": func(w *world) {
			w.say(pawl.StepDone{Step: "b", Adopted: "imported"}, pawl.StepDone{Step: "c", Adopted: "imported"})
		},
		"done again": func(w *world) {
			w.done("a")
			w.done("b")
			w.done("c")
			w.say(pawl.StepReopened{Step: "a", Why: "again", Asked: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "name: p\nsteps:\n  - {id: a, run: ':'}\n  - {id: b, run: ':'}\n  - {id: c, run: ':'}\n  - {id: d, run: ':'}\n")
			between(w)
			w.want(8, "start a")
		})
	}
}

func TestNextRetries(t *testing.T) {
	w := newWorld(t, `
name: p
steps:
  - {id: a, run: ":", retry: {attempts: 3, backoff: 10s}}
  - {id: b, run: ":", needs: []}
`)
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Failed, RetryAt: w.now.Add(10 * time.Second)})
	w.want(8, "start b, wait 10s")
	w.done("b")
	w.want(8, "wait 10s")
	w.now = w.now.Add(10 * time.Second)
	w.want(8, "start a")
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Failed, Final: true})
	w.say(pawl.StepFailed{Step: "a", Why: "no"})
	w.want(8, "fail")
	w.say(pawl.RunEnded{Status: pawl.StatusFailed}, pawl.StepReopened{Step: "a", Why: "again"}, pawl.RunReopened{})
	w.want(8, "start a")
}

func TestNextStartsNothingNewAfterAFailure(t *testing.T) {
	w := newWorld(t, `
name: p
steps:
  - {id: a, run: ":"}
  - {id: b, run: ":", needs: []}
  - {id: c, run: ":", needs: []}
`)
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Failed, Final: true})
	w.say(pawl.StepFailed{Step: "a", Why: "no"})
	ref := w.begin("b", "", 0)
	w.want(8, "")
	w.say(pawl.StepDone{Step: "b", Attempt: 1, Token: ref.Token})
	w.want(8, "fail")
}

// TestNextConditions has a step that fails, one that handles it, and one that could not start because of it.
func TestNextConditions(t *testing.T) {
	w := newWorld(t, `
name: p
steps:
  - {id: a, run: ":"}
  - {id: other, run: ":", needs: []}
  - {id: list, run: ":", needs: [], foreach: {items: [x]}}
  - {id: after, run: ":", needs: [a]}
  - {id: never, run: ":", needs: [a], if: success()}
  - {id: rescue, run: ":", needs: [after, other, list], if: "failure() && steps.after.status == 'pending'"}
  - {id: last, run: ":", needs: [rescue], if: always()}
`)
	w.say(pawl.StepListed{Step: "list", Items: []string{"x"}})
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Failed, Final: true})
	w.say(pawl.StepFailed{Step: "a", Why: "no"})
	w.want(8, "start list[0], skip never")
	w.say(pawl.StepSkipped{Step: "never", Condition: "success()"})
	w.say(pawl.StepDone{Step: "list"})
	w.want(8, "start rescue")
	w.say(pawl.BlockerOpened{Blocker: pawl.Blocker{Step: "rescue", Text: "no network"}})
	w.want(8, "") // a person clears it, then the run ends
	w.say(pawl.BlockerCleared{ID: 1})
	w.done("rescue")
	w.want(8, "start last")
	w.fails("last", pawl.AttemptEnded{Outcome: pawl.Failed, Final: true})
	w.say(pawl.StepFailed{Step: "last", Why: "no"})
	w.want(8, "fail")
	w.say(pawl.StepReopened{Step: "a", Asked: true}, pawl.StepReopened{Step: "last", Asked: true})
	w.done("a")
	w.want(8, "reopen [never]")
}

// TestNextContinueOnError: the run continues behind a step that failed, unless a person decided that.
func TestNextContinueOnError(t *testing.T) {
	w := newWorld(t, `
name: p
steps:
  - {id: a, run: ":", continue_on_error: true}
  - {id: b, run: ":", if: "success() && steps.a.status == 'failed'"}
`)
	w.say(pawl.StepFailed{Step: "a", Why: "no"})
	w.want(8, "skip b") // a person rejected the gate about a
	w.say(pawl.StepFailed{Step: "a", Why: "no", Continued: true})
	w.want(8, "start b")
	w.done("b")
	if got := Next(runs.NewOutline(w.plan), w.state, w.now, 8); len(got) != 1 || got[0].Kind != Complete || got[0].Why != "1 step failed (continue_on_error)" {
		t.Errorf("next: %+v", got)
	}
}

func TestNextItems(t *testing.T) {
	w := newWorld(t, `
name: p
steps:
  - {id: each, foreach: {items: [x, y, z]}, parallel: 2, run: ":"}
  - {id: after, run: ":"}
`)
	w.want(8, "list each")
	w.say(pawl.StepListed{Step: "each", Items: []string{"x", "y", "z"}})
	w.want(8, "start each[0], start each[1]")
	w.want(1, "start each[0]")
	x := w.begin("each", "x", 0)
	w.want(8, "start each[1]")
	w.say(pawl.ItemDone{AttemptRef: x})
	w.want(8, "start each[1], start each[2]")
	y := w.begin("each", "y", 1)
	w.say(pawl.AttemptEnded{AttemptRef: y, Outcome: pawl.Failed, Final: true, Why: "bad"})
	w.want(8, "start each[2]")
	z := w.begin("each", "z", 2)
	w.say(pawl.ItemDone{AttemptRef: z})
	w.want(8, "give-up each")
	w.say(pawl.StepReopened{Step: "each", Items: []int{1}})
	w.want(8, "start each[1]")
	y = w.begin("each", "y", 1)
	w.say(pawl.ItemDone{AttemptRef: y})
	w.want(8, "finish each")
	w.say(pawl.StepDone{Step: "each"})
	w.want(8, "start after")
}

func TestNextEmptyList(t *testing.T) {
	w := newWorld(t, "name: p\nsteps:\n  - {id: each, foreach: {files: 'none/*'}, run: ':'}\n")
	w.say(pawl.StepListed{Step: "each"})
	w.want(8, "finish each")
}

const gatePlan = `
name: p
mode: %s
steps:
  - {id: a, run: ":"}
  - {id: look, gate: {type: %s, ask: "Good?"%s}}
  - {id: b, run: ":"}
`

func TestNextGates(t *testing.T) {
	w := newWorld(t, fmt.Sprintf(gatePlan, "guided", "human_verify", ""))
	w.done("a")
	w.want(8, "open look")
	gate := w.plan.Step("look").Gate.Gate("look", "", time.Time{})
	w.say(pawl.GateOpened{Gate: gate})
	w.want(8, "")
	w.say(pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Rejected, Why: "typo"})
	w.want(8, "reopen [a look]")
	w.say(pawl.StepReopened{Step: "a", Why: "typo"}, pawl.StepReopened{Step: "look", Why: "typo"})
	w.want(8, "start a")
	w.done("a")
	w.want(8, "open look")
	w.say(pawl.GateOpened{Gate: gate}, pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Approved})
	w.want(8, "finish look")
	w.say(pawl.StepDone{Step: "look"})
	w.want(8, "start b")
}

func TestNextRefusedGateFails(t *testing.T) {
	w := newWorld(t, fmt.Sprintf(gatePlan, "guided", "human_verify", ""))
	w.done("a")
	gate := w.plan.Step("look").Gate.Gate("look", "", time.Time{})
	w.say(pawl.GateOpened{Gate: gate}, pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Refused})
	w.want(8, "give-up look")
	w.say(pawl.StepFailed{Step: "look"})
	w.want(8, "fail")
}

func TestNextGatesByMode(t *testing.T) {
	passed, failed := []pawl.CheckRun{{Name: "c"}}, []pawl.CheckRun{{Name: "c", Exit: 1}}
	tests := []struct {
		mode   pawl.Mode
		typ    pawl.GateType
		more   string
		checks []pawl.CheckRun
		want   string
	}{
		{pawl.Guided, pawl.HumanVerify, "", passed, ""},
		{pawl.Guided, pawl.DecisionFor, ", options: [x, y], default: x", nil, ""},
		{pawl.Autopilot, pawl.HumanVerify, "", passed, "answer"},
		{pawl.Autopilot, pawl.HumanVerify, "", failed, ""},
		{pawl.Autopilot, pawl.HumanVerify, "", nil, ""},
		{pawl.Autopilot, pawl.DecisionFor, ", options: [x, y], default: x", nil, "answer"},
		{pawl.Autopilot, pawl.DecisionFor, ", options: [x, y]", nil, ""},
		{pawl.Autopilot, pawl.HumanAction, "", passed, ""},
	}
	for _, tt := range tests {
		w := newWorld(t, fmt.Sprintf(gatePlan, tt.mode, tt.typ, tt.more))
		w.done("a")
		gate := w.plan.Step("look").Gate.Gate("look", "", time.Time{})
		gate.Checks = tt.checks
		w.say(pawl.GateOpened{Gate: gate})
		if got := w.next(8); got != tt.want {
			t.Errorf("%s %s %s: %q, want %q", tt.mode, tt.typ, tt.more, got, tt.want)
		}
	}
}

func TestNextExpiry(t *testing.T) {
	for _, def := range []string{"", "x"} {
		w := newWorld(t, fmt.Sprintf(gatePlan, "guided", "decision", ", options: [x, y]"))
		w.done("a")
		gate := w.plan.Step("look").Gate.Gate("look", "", time.Time{})
		gate.Expires, gate.Default = w.now.Add(time.Hour), def
		w.say(pawl.GateOpened{Gate: gate})
		w.want(8, "wait 1h0m0s")
		w.now = w.now.Add(time.Hour)
		if def == "" {
			w.want(8, "expire")
			w.say(pawl.GateExpired{Gate: gate.ID})
			w.want(8, "give-up look")
		} else {
			w.want(8, "answer")
		}
	}
}

func TestNextHandsOnAsksBeforeEachStep(t *testing.T) {
	w := newWorld(t, "name: p\nmode: hands_on\nsteps:\n  - {id: a, run: ':'}\n")
	w.want(8, "open a")
	gate := Next(runs.NewOutline(w.plan), w.state, w.now, 8)[0].Gate
	gate.ID = gate.Identify()
	w.say(pawl.GateOpened{Gate: gate})
	w.want(8, "")
	w.say(pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Approved})
	w.want(8, "start a")
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Aborted})
	w.want(8, "start a")
}

func TestNextAsksBeforeRepeatingWhatIsNotIdempotent(t *testing.T) {
	w := newWorld(t, "name: p\nsteps:\n  - {id: a, run: ':', idempotent: false}\n")
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.NotStarted})
	w.want(8, "start a")
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Lost, Why: "its supervisor died"})
	w.want(8, "open a")
	gate := Next(runs.NewOutline(w.plan), w.state, w.now, 8)[0].Gate
	gate.ID = gate.Identify()
	w.say(pawl.GateOpened{Gate: gate})
	w.want(8, "")
	w.say(pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Approved})
	w.want(8, "start a")
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Lost, Why: "its supervisor died"})
	w.want(8, "open a") // each loss is asked about
}

// A gate that another version of pawl opened counts, however it worded its question.
func TestNextFindsItsGateByPurpose(t *testing.T) {
	w := newWorld(t, "name: p\nsteps:\n  - {id: a, run: ':', idempotent: false}\n")
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Lost, Why: "its supervisor died"})
	gate := pawl.Gate{Step: "a", Type: pawl.HumanVerify, Purpose: pawl.ForRepeat, Ask: "another wording"}
	gate.ID = gate.Identify()
	w.say(pawl.GateOpened{Gate: gate})
	w.want(8, "")
	w.say(pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Approved})
	w.want(8, "start a")
}

func TestNextAsksNobodyWhoHasAskedForIt(t *testing.T) {
	w := newWorld(t, "name: p\nsteps:\n  - {id: a, run: ':', idempotent: false}\n")
	review := &pawl.Verdict{Word: pawl.HumanReview, Rule: "unsafe", Reasons: []string{"it may have done some of its work"}}
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Failed, Final: true, Why: "exit code 1", Verdict: review})
	w.say(pawl.StepFailed{Step: "a", Why: "exit code 1"})
	w.want(8, "fail")
	w.say(pawl.StepReopened{Step: "a", Why: "its definition in the plan changed"})
	w.want(8, "open a")
	gate := Next(runs.NewOutline(w.plan), w.state, w.now, 8)[0].Gate
	gate.ID = gate.Identify()
	w.say(pawl.GateOpened{Gate: gate}, pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Rejected})
	w.want(8, "give-up a")
	w.say(pawl.StepFailed{Step: "a", Why: "not to be run"})
	w.say(pawl.StepReopened{Step: "a", Why: "its definition in the plan changed"})
	w.want(8, "open a") // the answer was to the step as it was
	w.say(pawl.StepReopened{Step: "a", Why: "retried by a person", Asked: true})
	w.want(8, "start a")
	w.fails("a", pawl.AttemptEnded{Outcome: pawl.Failed, Why: "exit code 1", Verdict: review})
	w.want(8, "open a") // it was asked for once
}

func TestNextBlockersBudgetPauseStop(t *testing.T) {
	plan := "name: p\nbudget: {usd: 1}\nsteps:\n  - {id: a, run: ':'}\n  - {id: b, run: ':', needs: []}\n"
	w := newWorld(t, plan)
	w.say(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key", Step: "a"}})
	w.want(8, "start b")
	w.say(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no net"}})
	w.want(8, "")
	w.say(pawl.BlockerCleared{ID: 1}, pawl.BlockerCleared{ID: 2})
	w.want(8, "start a, start b")

	ref := w.begin("a", "", 0)
	w.say(pawl.RunPaused{})
	w.want(8, "")
	w.say(pawl.RunContinued{})
	w.want(8, "start b")
	w.say(pawl.RunStopped{})
	w.want(8, "stop-live")
	w.say(pawl.AttemptEnded{AttemptRef: ref, Outcome: pawl.Aborted, Usage: pawl.Usage{USD: 1}}, pawl.RunContinued{})
	w.want(8, "spend")
	gate := Next(runs.NewOutline(w.plan), w.state, w.now, 8)[0].Gate
	gate.ID = gate.Identify()
	w.say(pawl.GateOpened{Gate: gate})
	w.want(8, "")
	w.say(pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Approved})
	w.want(8, "start a, start b")
}

func TestNextReviewBelowMinimumReopens(t *testing.T) {
	w := newWorld(t, "name: p\nsteps:\n  - {id: a, run: ':', review: {ann: 80}}\n")
	ref := w.begin("a", "", 0)
	w.say(pawl.StepDone{Step: "a", Attempt: 1, Token: ref.Token, Review: map[string]int{"ann": 80}})
	w.want(8, "")
	w.say(pawl.StepReviewed{Step: "a", Reviewer: "ann", Score: 79})
	w.want(8, "reopen [a]")
	w.say(pawl.StepReviewed{Step: "a", Reviewer: "ann", Score: 80})
	w.want(8, "complete")
}

func TestNextReopensWhatStandsOnChangedGround(t *testing.T) {
	w := newWorld(t, "name: p\nsteps:\n  - {id: a, run: ':'}\n  - {id: b, run: ':'}\n")
	out := func(sum string) pawl.Outputs { return pawl.Outputs{"f": {SHA256: sum}} }
	a := w.begin("a", "", 0)
	w.say(pawl.StepDone{Step: "a", Attempt: 1, Token: a.Token, Outputs: out("1")})
	b := w.begin("b", "", 0)
	key := pawl.Key{Needs: map[pawl.StepID]string{"a": w.state.Steps["a"].Gives()}}
	w.say(pawl.StepDone{Step: "b", Attempt: 1, Token: b.Token, Key: key})
	for _, tt := range []struct{ sum, want string }{{"1", "complete"}, {"2", "reopen [b]"}} {
		w.say(pawl.StepReopened{Step: "a", Why: "edited"})
		a = w.begin("a", "", 0)
		w.say(pawl.StepDone{Step: "a", Attempt: a.Attempt, Token: a.Token, Outputs: out(tt.sum)})
		w.want(8, tt.want)
	}
}

// TestNextReopensBehindASkippedStep: a step that is skipped gives nothing any more.
func TestNextReopensBehindASkippedStep(t *testing.T) {
	w := newWorld(t, "name: p\nsteps:\n  - {id: a, run: ':'}\n  - {id: b, run: ':'}\n")
	a := w.begin("a", "", 0)
	w.say(pawl.StepDone{Step: "a", Attempt: 1, Token: a.Token, Outputs: pawl.Outputs{"f": {SHA256: "1"}}})
	b := w.begin("b", "", 0)
	key := pawl.Key{Needs: map[pawl.StepID]string{"a": w.state.Steps["a"].Gives()}}
	w.say(pawl.StepDone{Step: "b", Attempt: 1, Token: b.Token, Key: key})
	w.want(8, "complete")
	w.say(pawl.StepReopened{Step: "a", Why: "edited"}, pawl.StepSkipped{Step: "a", Why: "by hand"})
	w.want(8, "reopen [b]")
}

// TestNextAlwaysEnds drives random plans with random luck: whatever happens, finished work never starts again, no more
// attempts are live than there are slots, nothing starts before what it needs, and the run ends.
func TestNextAlwaysEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "steps")
		var yaml strings.Builder
		yaml.WriteString("name: p\nmode: autopilot\nsteps:\n")
		for i := range n {
			needs := []string{}
			for j := range i {
				if rapid.IntRange(0, 2).Draw(t, "need") == 0 {
					needs = append(needs, fmt.Sprintf("s%d", j))
				}
			}
			condition := rapid.SampledFrom([]string{"true", "true", "true", "1 > 2", "always()", "failure()", "success()", "STATUS"}).Draw(t, "if")
			if condition == "STATUS" && len(needs) > 0 {
				condition = fmt.Sprintf("steps.%s.status == 'failed'", rapid.SampledFrom(needs).Draw(t, "of"))
			} else if condition == "STATUS" {
				condition = "true"
			}
			tolerant := rapid.IntRange(0, 3).Draw(t, "tolerant") == 0
			fmt.Fprintf(&yaml, "  - {id: s%d, run: ':', needs: [%s], retry: {attempts: 3}, if: %q, continue_on_error: %v}\n", i, strings.Join(needs, ", "), condition, tolerant)
		}
		plan, err := planfile.Read("plan.yaml", []byte(yaml.String()))
		if err != nil {
			t.Fatal(err)
		}
		drive(t, plan, rapid.IntRange(1, 4).Draw(t, "slots"))
	})
}

// requireMayStart checks that a step starts only behind what it needs, and that its condition is true.
func requireMayStart(t *rapid.T, o *runs.Outline, state *pawl.State, step *pawl.Step) {
	failed := func(id pawl.StepID) bool { return state.Steps[id].FailsRun() }
	anyFailed := slices.ContainsFunc(o.InOrder, func(s *pawl.Step) bool { return failed(s.ID) })
	var behindFailure func(id pawl.StepID) bool
	behindFailure = func(id pawl.StepID) bool {
		return slices.ContainsFunc(o.Needs[id], func(need pawl.StepID) bool { return failed(need) || behindFailure(need) })
	}
	handles := strings.HasSuffix(string(step.If), "()")
	switch {
	case step.If == "1 > 2", step.If == "failure()" && !behindFailure(step.ID), step.If == "success()" && behindFailure(step.ID), anyFailed && !handles:
		t.Fatalf("%s started with the condition %s", step.ID, step.If)
	}
	for _, need := range o.Needs[step.ID] {
		if st := state.Steps[need]; !st.Finished() && !(handles && anyFailed && len(st.Live()) == 0) {
			t.Fatalf("%s started before %s was finished", step.ID, need)
		}
	}
}

// requireEnded checks that these steps have ended.
func requireEnded(t *rapid.T, o *runs.Outline, state *pawl.State, which func(*pawl.Step) bool) {
	for _, step := range o.InOrder {
		if st := state.Steps[step.ID]; which(step) && !st.Finished() && !st.FailsRun() {
			t.Fatalf("the run ended before %s", step.ID)
		}
	}
}

func drive(t *rapid.T, plan *pawl.Plan, slots int) {
	state, now := pawl.NewState(), time.Unix(1_000_000, 0).UTC()
	say := func(p pawl.Payload) {
		e, err := pawl.NewEvent(pawl.Author{}, p)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq, e.Time = state.Seq+1, now
		state.Apply(e)
		if state.RejectedCount > 0 {
			t.Fatalf("%s does not fit: %v", p.Event(), state.RejectedEvents)
		}
	}
	say(pawl.RunCreated{Run: "r"})
	o := runs.NewOutline(plan)
	for round := 0; !state.Ended(); round++ {
		if round > 1000 {
			t.Fatal("the run does not end")
		}
		for _, a := range Next(o, state, now, slots) {
			switch a.Kind {
			case Start:
				requireMayStart(t, o, state, a.Step)
				st := state.Steps[a.Step.ID]
				if st.Finished() {
					t.Fatalf("finished step %s started again", a.Step.ID)
				}
				attempt := 1
				if st != nil {
					attempt = st.Retries.Attempt + 1
				}
				say(pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: a.Step.ID, Attempt: attempt, Token: pawl.Token(fmt.Sprint(state.Seq))}})
			case Complete:
				say(pawl.RunEnded{Status: pawl.StatusCompleted})
				requireEnded(t, o, state, func(*pawl.Step) bool { return true })
			case FailRun:
				say(pawl.RunEnded{Status: pawl.StatusFailed})
				requireEnded(t, o, state, func(s *pawl.Step) bool { return s.If == "always()" || s.If == "failure()" })
			case SkipStep:
				if a.Step.If == "always()" || a.Step.If == "true" {
					t.Fatalf("%s skipped", a.Step.ID)
				}
				for _, p := range a.Payloads(state) {
					say(p)
				}
			case Sleep:
				now = a.Until
			case Open: // it was lost too often: a person has it run again
				if a.Gate.Purpose != pawl.ForRepeat || state.Steps[a.Step.ID].Retries.LostInARow < resume.MaxLosses {
					t.Fatalf("unexpected gate: %s", a.Gate.Ask)
				}
				a.Gate.ID = a.Gate.Identify()
				say(pawl.GateOpened{Gate: a.Gate})
				say(pawl.GateAnswered{Gate: a.Gate.ID, Answer: pawl.Approved})
			default:
				t.Fatalf("unexpected %s", a.Kind)
			}
		}
		live := state.Live()
		if len(live) > slots {
			t.Fatalf("%d live attempts with %d slots", len(live), slots)
		}
		if len(live) == 0 {
			continue
		}
		one := live[rapid.IntRange(0, len(live)-1).Draw(t, "which")]
		failures := state.Steps[one.Step].Retries.Failures
		switch rapid.IntRange(0, 3).Draw(t, "luck") {
		case 0:
			end := pawl.AttemptEnded{AttemptRef: one.AttemptRef, Outcome: pawl.Failed, Final: failures+1 >= 3, RetryAt: now.Add(time.Second)}
			say(end)
			if end.Final {
				say(pawl.StepFailed{Step: one.Step, Continued: plan.Step(one.Step).ContinueOnError})
			}
		case 1:
			say(pawl.AttemptEnded{AttemptRef: one.AttemptRef, Outcome: pawl.Lost})
		default:
			say(pawl.StepDone{Step: one.Step, Attempt: one.Attempt, Token: one.Token})
		}
	}
}
