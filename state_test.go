package pawl_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pawl"
)

// began is the time of the first event; each further one comes a second later.
var began = time.Date(2026, 11, 21, 6, 0, 0, 123456789, time.UTC)

// applyAll folds payloads behind what is folded already.
func applyAll(t testing.TB, s *pawl.State, payloads ...pawl.Payload) *pawl.State {
	t.Helper()
	for _, p := range payloads {
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq = s.Seq + 1
		e.Time = began.Add(time.Duration(s.Seq) * time.Second)
		s.Apply(e)
	}
	return s
}

// fold returns the state after payloads that all fit.
func fold(t testing.TB, payloads ...pawl.Payload) *pawl.State {
	t.Helper()
	s := applyAll(t, pawl.NewState(), payloads...)
	if s.RejectedCount > 0 {
		t.Fatalf("misfits: %+v", s.RejectedEvents)
	}
	return s
}

// when returns the time of the n-th event.
func when(n int) time.Time { return began.Add(time.Duration(n-1) * time.Second) }

// ref names an attempt of a step; its token says which.
func ref(step pawl.StepID, attempt int) pawl.AttemptRef {
	return pawl.AttemptRef{Step: step, Attempt: attempt, Token: pawl.Token(fmt.Sprintf("%s-%d", step, attempt))}
}

// itemRef names an attempt of the item at an index.
func itemRef(step pawl.StepID, index, attempt int) pawl.AttemptRef {
	item := pawl.ItemID(fmt.Sprintf("i%d", index))
	token := pawl.Token(fmt.Sprintf("%s-%s-%d", step, item, attempt))
	return pawl.AttemptRef{Step: step, Item: item, Index: index, Attempt: attempt, Token: token}
}

func started(r pawl.AttemptRef) pawl.Payload { return pawl.AttemptStarted{AttemptRef: r} }

func failed(r pawl.AttemptRef) pawl.Payload {
	return pawl.AttemptEnded{AttemptRef: r, Outcome: pawl.Failed, Reason: pawl.ReasonExited}
}

func stepDone(r pawl.AttemptRef) pawl.Payload {
	return pawl.StepDone{Step: r.Step, Attempt: r.Attempt, Token: r.Token}
}

func itemDone(r pawl.AttemptRef) pawl.Payload { return pawl.ItemDone{AttemptRef: r} }

func listed(step pawl.StepID, from, n int) pawl.Payload {
	p := pawl.StepListed{Step: step, From: from, Items: make([]string, n)}
	for i := range p.Items {
		p.Items[i] = fmt.Sprintf("i%d", from+i)
	}
	return p
}

func opened(id pawl.GateID, step pawl.StepID) pawl.Payload {
	return pawl.GateOpened{Gate: pawl.Gate{ID: id, Step: step, Type: pawl.HumanVerify, Ask: "right?"}}
}

func answered(id pawl.GateID, a pawl.Answer) pawl.Payload {
	return pawl.GateAnswered{Gate: id, Answer: a}
}

func TestApplyRunEvents(t *testing.T) {
	t.Parallel()
	created := pawl.RunCreated{Format: 1, Run: "r", Project: "p", Kind: pawl.PlanRun, Name: "n", Goal: "first", Mode: pawl.Guided}
	planned := pawl.RunPlanned{Revision: 2, File: "plan.2.yaml", SHA256: "ab", Steps: 3, Goal: "g", Mode: pawl.Autopilot}
	if s := fold(t, created); s.Goal != "first" || s.Mode != pawl.Guided {
		t.Errorf("created: goal %q, mode %q", s.Goal, s.Mode)
	}
	s := fold(t, created, planned)
	want := pawl.NewState()
	want.Format, want.Run, want.Project, want.Kind, want.Name, want.Goal, want.Mode = 1, "r", "p", pawl.PlanRun, "n", "g", pawl.Autopilot
	want.Plan, want.Created, want.Updated, want.Seq = planned, when(1), when(2), 2
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestApplyRunStatus(t *testing.T) {
	t.Parallel()
	completed, lost := pawl.RunEnded{Status: pawl.StatusCompleted}, pawl.RunEnded{Status: pawl.StatusFailed, Why: "lost"}
	type payloads = []pawl.Payload
	for name, c := range map[string]struct {
		events payloads
		status pawl.RunStatus
		why    string
		misfit int
	}{
		"nothing":            {nil, pawl.StatusActive, "", 0},
		"paused":             {payloads{pawl.RunPaused{Why: "lunch"}}, pawl.StatusPaused, "lunch", 0},
		"stopped":            {payloads{pawl.RunStopped{Why: "fire"}}, pawl.StatusStopped, "fire", 0},
		"paused, stopped":    {payloads{pawl.RunPaused{Why: "lunch"}, pawl.RunStopped{}}, pawl.StatusStopped, "", 0},
		"continued":          {payloads{pawl.RunPaused{Why: "lunch"}, pawl.RunContinued{}}, pawl.StatusActive, "", 0},
		"completed":          {payloads{completed}, pawl.StatusCompleted, "", 0},
		"failed":             {payloads{lost}, pawl.StatusFailed, "lost", 0},
		"paused after end":   {payloads{lost, pawl.RunPaused{Why: "late"}}, pawl.StatusFailed, "lost", 1},
		"stopped after end":  {payloads{completed, pawl.RunStopped{}}, pawl.StatusCompleted, "", 1},
		"continued at end":   {payloads{completed, pawl.RunContinued{}}, pawl.StatusCompleted, "", 1},
		"reopened":           {payloads{lost, pawl.RunReopened{Why: "retry"}}, pawl.StatusActive, "retry", 0},
		"reopened, paused":   {payloads{completed, pawl.RunReopened{}, pawl.RunPaused{}}, pawl.StatusPaused, "", 0},
		"ended as nonsense":  {payloads{pawl.RunEnded{Status: "gone"}}, pawl.StatusActive, "", 1},
		"ended as derived":   {payloads{pawl.RunEnded{Status: pawl.StatusInterrupted}}, pawl.StatusActive, "", 1},
		"ended without word": {payloads{pawl.RunEnded{}}, pawl.StatusActive, "", 1},
	} {
		s := applyAll(t, pawl.NewState(), c.events...)
		if s.Status != c.status || s.Why != c.why || s.RejectedCount != c.misfit {
			t.Errorf("%s: %s %q, %d misfits; want %s %q, %d", name, s.Status, s.Why, s.RejectedCount, c.status, c.why, c.misfit)
		}
	}
}

func TestApplyEngines(t *testing.T) {
	t.Parallel()
	first, second := pawl.EngineStarted{Epoch: 1, PID: 10, Trace: &pawl.Trace{ID: "a"}}, pawl.EngineStarted{Epoch: 2, PID: 20, Trace: &pawl.Trace{ID: "b"}}
	s := fold(t, first, pawl.EngineStopped{}, second)
	if s.Engine == nil || s.Engine.PID != 20 || s.Epoch != 2 || s.Engines != 2 || s.Deaths != 0 {
		t.Errorf("after a good stop: %+v, epoch %d, %d engines, %d deaths", s.Engine, s.Epoch, s.Engines, s.Deaths)
	}
	if s.Trace.ID != "a" {
		t.Errorf("the second engine changed the trace to %q", s.Trace.ID)
	}
	s = applyAll(t, s, pawl.EngineStarted{Epoch: 7, PID: 30})
	if s.Engine.PID != 30 || s.Epoch != 7 || s.Deaths != 1 || s.RejectedCount != 0 {
		t.Errorf("after a death: %+v, epoch %d, %d deaths", s.Engine, s.Epoch, s.Deaths)
	}
	s = applyAll(t, s, pawl.EngineStarted{Epoch: 7, PID: 40})
	if s.Engine.PID != 30 || s.RejectedCount != 1 {
		t.Errorf("an engine without a new epoch took over: %+v", s.Engine)
	}
}

// TestApplyConversations: the newest conversation that a step or item had outlives its attempt, and the step's end; what
// the attempt used so far is known as long as it lives.
func TestApplyConversations(t *testing.T) {
	t.Parallel()
	conversed := func(at pawl.AttemptRef, id string) pawl.Conversed {
		return pawl.Conversed{AttemptRef: at, Conversation: pawl.Conversation{Agent: pawl.ClaudeCode, ID: id}}
	}
	s := fold(t,
		pawl.AttemptStarted{AttemptRef: ref("a", 1), Key: pawl.Key{Definition: "d"}}, conversed(ref("a", 1), "x"), conversed(ref("a", 1), "y"),
		pawl.Progressed{AttemptRef: ref("a", 1), Usage: pawl.Usage{Tokens: 5}}, pawl.Progressed{AttemptRef: ref("a", 1), Text: "more"},
	)
	want := &pawl.Conversation{Agent: pawl.ClaudeCode, ID: "y", Definition: "d"}
	if diff := cmp.Diff(want, s.Steps["a"].Retries.Conversation); diff != "" {
		t.Errorf("while it runs: -want +got\n%s", diff)
	}
	if used := s.Steps["a"].Retries.Live.Usage; used != (pawl.Usage{Tokens: 5}) {
		t.Errorf("used so far: %+v", used)
	}
	s = applyAll(t, s, pawl.AttemptEnded{AttemptRef: ref("a", 1), Outcome: pawl.Lost}, started(ref("a", 2)), stepDone(ref("a", 2)))
	if diff := cmp.Diff(want, s.Steps["a"].Retries.Conversation); diff != "" {
		t.Errorf("behind its end: -want +got\n%s", diff)
	}
}

// TestWarnings: the state has the warnings about the cell that runs. Those about an earlier one, and other actions of the watchdog, are none.
func TestWarnings(t *testing.T) {
	t.Parallel()
	warn := pawl.WatchdogActed{AttemptRef: ref("a", 1), Action: pawl.WatchdogReports, Evidence: "no output for 1m"}
	s := fold(t, pawl.AttemptStarted{AttemptRef: ref("a", 1)}, warn, pawl.WatchdogActed{AttemptRef: ref("a", 1), Action: "kill", Evidence: "no heartbeat"},
		pawl.Progressed{AttemptRef: ref("a", 1), Text: "half"})
	want := []string{"no output for 1m (at " + when(2).UTC().Format(time.TimeOnly) + " UTC)"}
	if diff := cmp.Diff(want, s.Live()[0].Warnings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	s = fold(t, pawl.AttemptStarted{AttemptRef: ref("a", 1)}, warn, pawl.Progressed{AttemptRef: ref("a", 1), Cell: "2 (fit)"})
	if warnings := s.Live()[0].Warnings; len(warnings) > 0 {
		t.Errorf("of an earlier cell: %q", warnings)
	}
}

func TestApplyAttempts(t *testing.T) {
	t.Parallel()
	key := pawl.Key{Definition: "d"}
	done, total := 2.0, 8.0
	exit := 1
	stats := &pawl.AttemptStats{Seconds: 10}
	source := &pawl.Source{AttemptRef: ref("a", 1), File: pawl.EventsFile, Offset: 64}
	s := fold(t,
		pawl.AttemptStarted{AttemptRef: ref("a", 1), Key: key},
		pawl.Heartbeat{AttemptRef: ref("a", 1)},
		pawl.Progressed{AttemptRef: ref("a", 1), Text: "half", Done: &done, Total: &total, Source: source},
	)
	progress := &pawl.Progress{Text: "half", Done: &done, Total: &total, Time: when(3)}
	live := &pawl.AttemptState{
		AttemptRef: ref("a", 1), Key: key, Started: when(1), Seq: 1, Beat: when(2), Progress: progress,
		Read: map[string]int64{pawl.EventsFile: 64},
	}
	want := &pawl.StepState{Status: pawl.Running, Retries: pawl.Retries{Attempt: 1, Live: live}, Attempts: 1, Started: when(1), Progress: progress}
	if diff := cmp.Diff(want, s.Steps["a"]); diff != "" {
		t.Errorf("running: -want +got\n%s", diff)
	}

	end := pawl.AttemptEnded{
		AttemptRef: ref("a", 1), Outcome: pawl.Failed, Exit: &exit, Why: "exit code 1", RetryAt: when(100),
		Usage: pawl.Usage{USD: 1, Tokens: 10}, Stats: stats,
	}
	s = applyAll(t, s, end)
	want.Status, want.Retries = pawl.Pending, pawl.Retries{Attempt: 1, Failures: 1, Last: &end}
	want.Seconds, want.Lost, want.Usage = 10, 10, pawl.Usage{USD: 1, Tokens: 10}
	if diff := cmp.Diff(want, s.Steps["a"]); diff != "" {
		t.Errorf("failed: -want +got\n%s", diff)
	}

	outputs := pawl.Outputs{"out": {SHA256: "ab", Size: 2}}
	s = applyAll(t, s, started(ref("a", 2)), pawl.StepDone{
		Step: "a", Attempt: 2, Token: "a-2", Key: key, Outputs: outputs, Accept: "acc", Summary: "made", Undo: "undo", Adopted: "found",
		Usage: pawl.Usage{USD: 2, Tokens: 5}, Stats: stats,
	})
	want = &pawl.StepState{
		Status: pawl.Done, Retries: pawl.Retries{Attempt: 2}, Key: key, Outputs: outputs, Accept: "acc", Summary: "made", Undo: "undo",
		Adopted: "found", Usage: pawl.Usage{USD: 3, Tokens: 15}, Seconds: 20, Lost: 10, Attempts: 2, Started: when(1), Ended: when(6), Done: 6, Given: 5,
	}
	if diff := cmp.Diff(want, s.Steps["a"]); diff != "" {
		t.Errorf("done: -want +got\n%s", diff)
	}
	if s.Spent.Seconds != 20 || s.Spent.Usage != (pawl.Usage{USD: 3, Tokens: 15}) || s.RejectedCount != 0 {
		t.Errorf("spent %+v, misfits %+v", s.Spent, s.RejectedEvents)
	}
}

// TestOnlyFailuresCountAsTries: what was nobody's fault costs no retry.
func TestOnlyFailuresCountAsTries(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[pawl.Outcome]int{
		pawl.Failed: 1, pawl.Blocked: 0, pawl.WaitsFor: 0, pawl.Aborted: 0, pawl.Lost: 0, pawl.NotStarted: 0,
	} {
		s := fold(t, started(ref("a", 1)), pawl.AttemptEnded{AttemptRef: ref("a", 1), Outcome: outcome})
		if try := s.Steps["a"].Retries; try.Failures != want || try.Live != nil || s.Steps["a"].Status != pawl.Pending {
			t.Errorf("%s: %+v", outcome, try)
		}
	}
}

func TestApplyItems(t *testing.T) {
	t.Parallel()
	key := pawl.Key{Definition: "shared"}
	last := pawl.AttemptEnded{AttemptRef: itemRef("f", 2, 2), Outcome: pawl.Failed, Final: true, Why: "no luck"}
	s := fold(t,
		pawl.StepListed{Step: "f", Key: key, Items: []string{"i0", "i1"}},
		listed("f", 2, 2),
		started(itemRef("f", 1, 1)), itemDone(itemRef("f", 1, 1)),
		started(itemRef("f", 2, 1)), failed(itemRef("f", 2, 1)),
		started(itemRef("f", 2, 2)), last,
		started(itemRef("f", 3, 1)),
	)
	want := &pawl.ItemsState{
		Total: 4, Lists: []pawl.Seq{1, 2}, Done: pawl.Positions{0, 4}, Count: 1,
		Retries: map[int]*pawl.Retries{
			2: {Attempt: 2, Failures: 2, Last: &last},
			3: {Attempt: 1, Live: &pawl.AttemptState{AttemptRef: itemRef("f", 3, 1), Started: when(9), Seq: 9}},
		},
		Failed:  map[int]pawl.AttemptEnded{2: last},
		Highest: 2,
	}
	st := s.Steps["f"]
	if diff := cmp.Diff(want, st.Items); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if st.Status != pawl.Running || st.Attempts != 4 || !st.Key.Equal(key) || !st.Started.Equal(when(1)) {
		t.Errorf("step: %+v", st)
	}
}

func TestReopening(t *testing.T) {
	t.Parallel()
	done := func() *pawl.State {
		return fold(t, listed("f", 0, 2),
			started(itemRef("f", 0, 1)), itemDone(itemRef("f", 0, 1)),
			started(itemRef("f", 1, 1)), itemDone(itemRef("f", 1, 1)),
			pawl.StepDone{Step: "f", Digest: "d"})
	}
	some := applyAll(t, done(), pawl.StepReopened{Step: "f", Why: "bad page", Items: []int{1, 7, -1}}).Steps["f"]
	if diff := cmp.Diff(pawl.Positions{3, 0}, some.Items.Done); diff != "" || some.Items.Count != 1 {
		t.Errorf("one item: %d finished, -want +got\n%s", some.Items.Count, diff)
	}
	if some.Status != pawl.Pending || some.Rejected != "bad page" || some.Items.Retries[1].Attempt != 1 || !some.Ended.IsZero() {
		t.Errorf("one item: %+v", some)
	}
	all := applyAll(t, done(), pawl.StepReopened{Step: "f", Why: "bad"}).Steps["f"]
	if all.Items != nil || all.Status != pawl.Pending || all.BaseAttempt != 1 {
		t.Errorf("all of it: %+v", all)
	}

	plain := fold(t, started(ref("a", 1)), failed(ref("a", 1)), started(ref("a", 2)), stepDone(ref("a", 2)), pawl.StepReopened{Step: "a", Why: "again"})
	if st := plain.Steps["a"]; st.Status != pawl.Pending || st.Retries.Attempt != 2 || st.Retries.Failures != 0 || st.BaseAttempt != 0 {
		t.Errorf("a plain step: %+v", st)
	}
	if applyAll(t, plain, started(ref("a", 2))).RejectedCount != 1 {
		t.Error("an attempt's number was taken twice")
	}
	if st := applyAll(t, plain, started(ref("a", 3)), stepDone(ref("a", 3))).Steps["a"]; st.Status != pawl.Done || st.Rejected != "" || st.Why != "" {
		t.Errorf("done again: %+v", st)
	}
}

func TestReviews(t *testing.T) {
	t.Parallel()
	review := func(name string, score int) pawl.Payload {
		return pawl.StepReviewed{Step: "a", Reviewer: name, Score: score}
	}
	s := fold(t, started(ref("a", 1)), pawl.StepDone{Step: "a", Attempt: 1, Token: "a-1", Review: map[string]int{"ann": 80, "bob": 50}})
	for _, step := range []struct {
		event  pawl.Payload
		status pawl.StepStatus
		left   []string
	}{
		{review("bob", 50), pawl.AwaitsReview, []string{"ann"}},
		{review("ann", 79), pawl.AwaitsReview, []string{"ann"}},
		{review("eve", 100), pawl.AwaitsReview, []string{"ann"}},
		{review("ann", 80), pawl.Done, nil},
		{review("ann", 0), pawl.Done, []string{"ann"}},
	} {
		st := applyAll(t, s, step.event).Steps["a"]
		if diff := cmp.Diff(step.left, st.Unreviewed()); diff != "" || st.Status != step.status {
			t.Errorf("after %+v: %s, left -want +got\n%s", step.event, st.Status, diff)
		}
	}
	s = applyAll(t, s, pawl.StepReopened{Step: "a"}, started(ref("a", 2)))
	if st := s.Steps["a"]; len(st.Reviews) > 0 || s.RejectedCount > 0 {
		t.Errorf("old scores count for the new attempt: %+v", st.Reviews)
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	waiting := pawl.AttemptEnded{AttemptRef: ref("a", 1), Outcome: pawl.WaitsFor, Gate: "g"}
	type payloads = []pawl.Payload
	for name, c := range map[string]struct {
		events payloads
		status pawl.StepStatus
		open   bool
	}{
		"a gate step's":          {payloads{opened("g", "a")}, pawl.AwaitsGate, true},
		"answered":               {payloads{opened("g", "a"), answered("g", pawl.Approved)}, pawl.Pending, false},
		"expired":                {payloads{opened("g", "a"), pawl.GateExpired{Gate: "g"}}, pawl.Pending, false},
		"withdrawn":              {payloads{opened("g", "a"), pawl.GateWithdrawn{Gate: "g", Why: "changed"}}, pawl.Pending, false},
		"withdrawn without word": {payloads{opened("g", "a"), pawl.GateWithdrawn{Gate: "g"}}, pawl.Pending, false},
		"asked while it runs":    {payloads{started(ref("a", 1)), opened("g", "a")}, pawl.Running, true},
		"asked, and stopped":     {payloads{started(ref("a", 1)), opened("g", "a"), waiting}, pawl.AwaitsGate, true},
		"answered, then stopped": {payloads{started(ref("a", 1)), opened("g", "a"), answered("g", pawl.Approved), waiting}, pawl.Pending, false},
		"asked of a done step":   {payloads{started(ref("a", 1)), stepDone(ref("a", 1)), opened("g", "a")}, pawl.Done, true},
		"… and answered":         {payloads{started(ref("a", 1)), stepDone(ref("a", 1)), opened("g", "a"), answered("g", pawl.Rejected)}, pawl.Done, false},
		"asked of a skipped one": {payloads{pawl.StepSkipped{Step: "a"}, opened("g", "a"), answered("g", pawl.Approved)}, pawl.Skipped, false},
		"opened anew":            {payloads{opened("g", "a"), answered("g", pawl.Approved), opened("g", "a")}, pawl.AwaitsGate, true},
	} {
		s := fold(t, c.events...)
		if st := s.Steps["a"]; st.Status != c.status || s.Gate("g").Open() != c.open || c.open != s.Gate("g").Closed.IsZero() {
			t.Errorf("%s: %s, gate %+v", name, st.Status, s.Gate("g"))
		}
	}
}

// TestAStepWaitsForAllItsGates: one answer of two lets nothing begin.
func TestAStepWaitsForAllItsGates(t *testing.T) {
	t.Parallel()
	s := fold(t, opened("g", "a"), opened("h", "a"), answered("g", pawl.Approved))
	if st := s.Steps["a"]; st.Status != pawl.AwaitsGate {
		t.Errorf("after one answer it is %s", st.Status)
	}
	if applyAll(t, s, answered("h", pawl.Approved)); s.Steps["a"].Status != pawl.Pending {
		t.Errorf("after both it is %s", s.Steps["a"].Status)
	}
}

func TestGatesOfTheRunHoldNoStep(t *testing.T) {
	t.Parallel()
	s := fold(t, pawl.GateOpened{Gate: pawl.Gate{ID: "g", Step: "a", Purpose: pawl.ForBudget, Budget: "usd"}}, opened("h", ""))
	if len(s.Steps) != 0 || len(s.OpenGates()) != 2 {
		t.Errorf("%d steps, %d gates", len(s.Steps), len(s.OpenGates()))
	}
	s = applyAll(t, s, answered("g", pawl.Approved), pawl.GateOpened{Gate: pawl.Gate{ID: "g", Purpose: pawl.ForBudget, Budget: "usd"}}, answered("g", pawl.Rejected))
	if diff := cmp.Diff(map[string]int{"usd": 1}, s.Spent.Granted); diff != "" || s.RejectedCount > 0 {
		t.Errorf("granted, -want +got\n%s", diff)
	}
}

// TestItemGatesAreSettledByTheirItem: an approval to repeat an item counts until an attempt of that item starts.
func TestItemGatesAreSettledByTheirItem(t *testing.T) {
	gate := func(id pawl.GateID, item pawl.ItemID) []pawl.Payload {
		g := pawl.Gate{ID: id, Step: "s", Item: item, Type: pawl.HumanVerify, Purpose: pawl.ForRepeat, Ask: "again?"}
		return []pawl.Payload{pawl.GateOpened{Gate: g}, pawl.GateAnswered{Gate: id, Step: "s", Answer: pawl.Approved}}
	}
	attempt := func(item pawl.ItemID, index int) pawl.Payload {
		return started(pawl.AttemptRef{Step: "s", Item: item, Index: index, Attempt: 1, Token: pawl.Token(item)})
	}
	s := applyAll(t, pawl.NewState(), pawl.StepListed{Step: "s", Items: []string{"a", "b"}})
	s = applyAll(t, s, append(gate("ga", "a"), gate("gb", "b")...)...)
	s = applyAll(t, s, attempt("a", 0))
	if !s.Gate("ga").Settled || s.Gate("gb").Settled {
		t.Errorf("after a has started: settled %v, %v", s.Gate("ga").Settled, s.Gate("gb").Settled)
	}
	s = applyAll(t, s, attempt("b", 1))
	if !s.Gate("gb").Settled {
		t.Error("after b has started, its gate is not settled")
	}
}

func TestSettledGates(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]pawl.Payload{
		"started": started(ref("a", 1)), "done": pawl.StepDone{Step: "a"}, "failed": pawl.StepFailed{Step: "a"},
		"reopened": pawl.StepReopened{Step: "a"}, "skipped": pawl.StepSkipped{Step: "a"},
	} {
		s := fold(t, opened("g", "a"), opened("other", "b"), answered("other", pawl.Approved), answered("g", pawl.Rejected))
		if s.Gate("g").Settled {
			t.Errorf("%s: settled before", name)
		}
		applyAll(t, s, next)
		if !s.Gate("g").Settled || s.Gate("other").Settled {
			t.Errorf("%s: settled %v, other step's %v", name, s.Gate("g").Settled, s.Gate("other").Settled)
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s := fold(t,
		pawl.DecisionMade{Decision: pawl.Decision{Choice: "x"}},
		pawl.BlockerOpened{Blocker: pawl.Blocker{ID: 99, Text: "no key"}},
		pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no disk"}},
		pawl.BlockerCleared{ID: 1, How: "found it"},
		pawl.MemoryLearned{Memory: pawl.Memory{Kind: pawl.Gotcha, Text: "x"}},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "c1", Kind: pawl.CheckpointManual, Seq: 77}},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "c2", Kind: pawl.CheckpointManual}},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "e", Kind: pawl.CheckpointEmergency}},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "h", Kind: pawl.CheckpointHeartbeat}},
		pawl.CheckpointsPruned{Checkpoints: []pawl.CheckpointID{"c1", "x"}}, pawl.FilesRestored{Checkpoint: "c2"},
		pawl.MachineSlept{Seconds: 5}, pawl.BudgetSpent{Budget: "usd"}, pawl.WatchdogActed{AttemptRef: ref("gone", 1)},
	)
	want := pawl.NewState()
	want.Seq, want.Updated, want.Learned, want.Pruned = 14, when(14), 1, 2
	want.Made = []pawl.Decision{{Choice: "x", Time: when(1)}}
	want.Blockers = []pawl.Blocker{{ID: 1, Text: "no key", Opened: when(2), Cleared: when(4), How: "found it"}, {ID: 2, Text: "no disk", Opened: when(3)}}
	want.Saved = map[pawl.CheckpointKind]int{pawl.CheckpointManual: 2, pawl.CheckpointEmergency: 1, pawl.CheckpointHeartbeat: 1}
	want.LastGood = &pawl.Checkpoint{ID: "c2", Kind: pawl.CheckpointManual, Seq: 7, Time: when(7)}
	want.LastSave = &pawl.Checkpoint{ID: "h", Kind: pawl.CheckpointHeartbeat, Seq: 9, Time: when(9)}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestReadOffsets: each kind of event that is read in an attempt's files moves its offset on, and never back.
func TestReadOffsets(t *testing.T) {
	t.Parallel()
	at := func(offset int64) *pawl.Source {
		return &pawl.Source{AttemptRef: ref("a", 1), File: "f", Offset: offset}
	}
	s := fold(t, started(ref("a", 1)))
	for i, p := range []pawl.Payload{
		pawl.Progressed{AttemptRef: ref("a", 1), Source: at(1)},
		pawl.ItemNamed{Step: "a", Item: "x", Source: at(2)},
		pawl.DecisionMade{Source: at(3)},
		pawl.BlockerOpened{Source: at(4)},
		pawl.MemoryLearned{Source: at(5)},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{Source: at(6)}},
		pawl.GateOpened{Gate: pawl.Gate{ID: "g", Source: at(7)}},
	} {
		applyAll(t, s, p)
		if got := s.Live()[0].Read["f"]; got != int64(i+1) {
			t.Errorf("after %s: %d, want %d", p.Event(), got, i+1)
		}
	}
	applyAll(t, s, pawl.MemoryLearned{Source: at(2)})
	if got := s.Live()[0].Read["f"]; got != 7 {
		t.Errorf("moved back to %d", got)
	}
	applyAll(t, s, pawl.MemoryLearned{Source: &pawl.Source{AttemptRef: ref("a", 9), File: "f", Offset: 99}})
	if got := s.Live()[0].Read["f"]; got != 7 {
		t.Errorf("moved by another attempt to %d", got)
	}
}

// TestRejectedEvents: a rejected event is recorded with its reason and changes nothing else.
func TestRejectedEvents(t *testing.T) {
	t.Parallel()
	type payloads = []pawl.Payload
	running := payloads{started(ref("a", 1))}
	done := payloads{started(ref("a", 1)), stepDone(ref("a", 1))}
	inReview := payloads{started(ref("a", 1)), pawl.StepDone{Step: "a", Attempt: 1, Token: "a-1", Review: map[string]int{"ann": 1}}}
	items := payloads{listed("f", 0, 2), started(itemRef("f", 0, 1))}
	itemIsDone := append(items[:2:2], itemDone(itemRef("f", 0, 1)))
	asked := payloads{opened("g", "a")}
	for _, c := range []struct {
		before payloads
		event  pawl.Payload
		why    string
	}{
		{payloads{pawl.RunCreated{Run: "r"}}, pawl.RunCreated{Run: "other"}, "run r already exists"},
		{payloads{pawl.EngineStarted{Epoch: 3}}, pawl.EngineStarted{Epoch: 3}, "engine started with epoch 3, not above the current epoch 3"},
		{nil, pawl.EngineStarted{}, "engine started with epoch 0, not above the current epoch 0"},
		{payloads{pawl.RunEnded{Status: pawl.StatusFailed}}, pawl.RunPaused{}, "run has already failed"},
		{nil, pawl.RunEnded{Status: "gone"}, `a run cannot end with status "gone"`},

		{running, started(ref("a", 1)), "attempt 1 of a follows attempt 1"},
		{nil, started(ref("a", 0)), "attempt 0 of a follows attempt 0"},
		{done, started(ref("a", 2)), "step a is already done"},
		{inReview, started(ref("a", 2)), "step a is already done"},
		{payloads{pawl.StepSkipped{Step: "a"}}, started(ref("a", 1)), "step a is skipped"},
		{nil, started(itemRef("f", 0, 1)), "f/i0 is finished or not listed"},
		{running, started(itemRef("a", 0, 1)), "a/i0 is finished or not listed"},
		{items, started(itemRef("f", 2, 1)), "f/i2 is finished or not listed"},
		{items, started(itemRef("f", -1, 1)), "f/i-1 is finished or not listed"},
		{itemIsDone, started(itemRef("f", 0, 2)), "f/i0 is finished or not listed"},

		{nil, failed(ref("a", 1)), "step a was never started"},
		{running, failed(ref("a", 2)), "attempt 2 of a is not live"},
		{done, failed(ref("a", 1)), "attempt 1 of a is not live"},
		{items, failed(itemRef("f", 1, 1)), "attempt 1 of f/i1 is not live"},
		{items, failed(itemRef("f", 9, 1)), "attempt 1 of f/i9 is not live"},
		{nil, pawl.Heartbeat{AttemptRef: ref("a", 1)}, "step a was never started"},
		{items, pawl.Heartbeat{AttemptRef: itemRef("f", 1, 1)}, "not live"},
		{nil, pawl.ServiceReady{AttemptRef: ref("a", 1)}, "step a was never started"},
		{done, pawl.ServiceWaiting{AttemptRef: ref("a", 1)}, "not live"},
		{items, pawl.ServiceWaiting{AttemptRef: itemRef("f", 0, 1)}, "f/i0 is not a service"},
		{done, pawl.ServiceReady{AttemptRef: ref("a", 1)}, "not live"},
		{items, pawl.ServiceReady{AttemptRef: itemRef("f", 0, 1)}, "f/i0 is not a service"},
		{done, pawl.ServiceReleased{AttemptRef: ref("a", 1), Why: "done"}, "not live"},
		{nil, pawl.Progressed{AttemptRef: ref("a", 1)}, "step a was never started"},
		{done, pawl.Progressed{AttemptRef: ref("a", 1)}, "not live"},
		{nil, pawl.Conversed{AttemptRef: ref("a", 1)}, "step a was never started"},
		{done, pawl.Conversed{AttemptRef: ref("a", 1)}, "not live"},

		{items, itemDone(itemRef("f", 1, 1)), "attempt 1 of f/i1 is not live"},
		{itemIsDone, itemDone(itemRef("f", 0, 1)), "attempt 1 of f/i0 is not live"},
		{running, itemDone(ref("a", 1)), "step a: item.done without an item"},

		{done, stepDone(ref("a", 1)), "step a is already done"},
		{done, pawl.StepDone{Step: "a"}, "step a is already done"},
		{inReview, pawl.StepDone{Step: "a"}, "step a is already done"},
		{nil, stepDone(ref("a", 1)), "step a was never started"},
		{running, stepDone(ref("a", 2)), "attempt 2 of a is not live"},
		{done, pawl.StepFailed{Step: "a"}, "step a is already done"},
		{done, pawl.StepSkipped{Step: "a"}, "step a is already done"},
		{running, pawl.StepReopened{Step: "a"}, "step a is running"},
		{items, pawl.StepReopened{Step: "f", Items: []int{0}}, "step f is running"},
		{items, pawl.ItemsSkipped{Step: "f", Items: []int{0}}, "item 0 of step f is running"},
		{items, pawl.ItemsSkipped{Step: "f", Items: []int{9}}, "item 9 of step f is finished, skipped or not listed"},
		{nil, pawl.ItemsSkipped{Step: "f", Items: []int{0}}, "step f has no items"},
		{nil, listed("f", 1, 1), "list starts at item 1 after 0 items"},
		{items, listed("f", 0, 2), "list starts at item 0 after 2 items"},
		{nil, pawl.StepReviewed{Step: "a"}, "step a has nothing to review"},
		{running, pawl.StepReviewed{Step: "a"}, "step a has nothing to review"},

		{asked, opened("g", "b"), "gate g is already open"},
		{nil, answered("g", pawl.Approved), "gate g is not open"},
		{append(asked[:1:1], answered("g", pawl.Approved)), answered("g", pawl.Rejected), "gate g is not open"},
		{append(asked[:1:1], pawl.GateExpired{Gate: "g"}), answered("g", pawl.Approved), "gate g is not open"},
		{append(asked[:1:1], pawl.GateWithdrawn{Gate: "g"}), pawl.GateExpired{Gate: "g"}, "gate g is not open"},
		{nil, pawl.GateWithdrawn{Gate: "g"}, "gate g is not open"},

		{nil, pawl.BlockerCleared{ID: 1}, "blocker 1 is not open"},
		{nil, pawl.BlockerCleared{ID: -1}, "blocker -1 is not open"},
		{payloads{pawl.BlockerOpened{}, pawl.BlockerCleared{ID: 1}}, pawl.BlockerCleared{ID: 1}, "blocker 1 is not open"},
	} {
		before := fold(t, c.before...)
		after := applyAll(t, fold(t, c.before...), c.event)
		if len(after.RejectedEvents) != 1 || !strings.Contains(after.RejectedEvents[0].Why, c.why) || after.RejectedEvents[0].Seq != after.Seq {
			t.Errorf("%s behind %d events: misfits %+v, want %q", c.event.Event(), len(c.before), after.RejectedEvents, c.why)
		}
		if diff := changed(before, after); diff != "" {
			t.Errorf("%s (%s) left traces:\n%s", c.event.Event(), c.why, diff)
		}
	}
}

// changed returns what differs between two states except for what any event changes, rejected or not.
func changed(before, after *pawl.State) string {
	return cmp.Diff(before, after, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(pawl.State{}, "Seq", "Updated", "RejectedEvents", "RejectedCount"))
}

func TestRejectedEventsAreCountedAndKeptUpToALimit(t *testing.T) {
	t.Parallel()
	s := pawl.NewState()
	for range pawl.MaxRejectedEvents + 5 {
		applyAll(t, s, answered("none", pawl.Approved))
	}
	if s.RejectedCount != pawl.MaxRejectedEvents+5 || len(s.RejectedEvents) != pawl.MaxRejectedEvents || s.RejectedEvents[len(s.RejectedEvents)-1].Seq != s.Seq {
		t.Errorf("%d counted, %d kept, the last of event %d", s.RejectedCount, len(s.RejectedEvents), s.RejectedEvents[len(s.RejectedEvents)-1].Seq)
	}
}

func TestUnknownEvents(t *testing.T) {
	t.Parallel()
	s := fold(t, started(ref("a", 1)))
	before := s.Clone()
	for i, word := range []pawl.EventType{"step.sung", "run.danced", "step.sung"} {
		s.Apply(pawl.Event{Seq: pawl.Seq(i + 2), Type: word, Data: json.RawMessage(`{"step":"a"}`)})
	}
	if diff := cmp.Diff([]pawl.EventType{"step.sung", "run.danced"}, s.UnknownTypes); diff != "" || s.RejectedCount > 0 || s.Seq != 4 {
		t.Errorf("seq %d, misfits %v, -want +got\n%s", s.Seq, s.RejectedEvents, diff)
	}
	s.UnknownTypes = nil
	if diff := changed(before, s); diff != "" {
		t.Errorf("they changed\n%s", diff)
	}
}

func TestUnreadablePayloadIsRejected(t *testing.T) {
	t.Parallel()
	for _, data := range []string{``, `{`, `[]`, `"x"`, `{"step":5}`} {
		s := pawl.NewState()
		s.Apply(pawl.Event{Seq: 1, Type: "step.done", Data: json.RawMessage(data)})
		if s.RejectedCount != 1 || len(s.Steps) > 0 {
			t.Errorf("%q: %+v", data, s)
		}
	}
}

// TestSkippedWhileItRan: the attempt's end does not bring back what a person skipped; its success counts.
func TestSkippedWhileItRan(t *testing.T) {
	t.Parallel()
	skipped := func() *pawl.State { return fold(t, started(ref("a", 1)), pawl.StepSkipped{Step: "a"}) }
	if st := applyAll(t, skipped(), failed(ref("a", 1))).Steps["a"]; st.Status != pawl.Skipped {
		t.Errorf("after a failure: %s", st.Status)
	}
	if st := applyAll(t, skipped(), stepDone(ref("a", 1))).Steps["a"]; st.Status != pawl.Done {
		t.Errorf("after success: %s", st.Status)
	}
}

// TestConditionsAndTolerance: what a condition or continue_on_error decided holds until the step is reopened or ends otherwise.
func TestConditionsAndTolerance(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events   []pawl.Payload
		finished bool
		fails    bool
	}{
		"skipped by its condition": {[]pawl.Payload{pawl.StepSkipped{Step: "a", Condition: "c"}}, true, false},
		"tolerated":                {[]pawl.Payload{pawl.StepFailed{Step: "a", Continued: true}}, true, false},
		"failed":                   {[]pawl.Payload{pawl.StepFailed{Step: "a"}}, false, true},
		"no longer tolerated":      {[]pawl.Payload{pawl.StepFailed{Step: "a", Continued: true}, pawl.StepFailed{Step: "a"}}, false, true},
		"reopened":                 {[]pawl.Payload{pawl.StepFailed{Step: "a", Continued: true}, pawl.StepReopened{Step: "a"}}, false, false},
		"reopened, then failed":    {[]pawl.Payload{pawl.StepFailed{Step: "a", Continued: true}, pawl.StepReopened{Step: "a"}, pawl.StepFailed{Step: "a"}}, false, true},
		"done after all":           {[]pawl.Payload{pawl.StepFailed{Step: "a", Continued: true}, pawl.StepDone{Step: "a"}}, true, false},
	} {
		st := fold(t, tt.events...).Steps["a"]
		if st.Finished() != tt.finished || st.FailsRun() != tt.fails || st.Status == pawl.Done && (st.Continued || st.Condition != "") {
			t.Errorf("%s: %+v", name, st)
		}
	}
	s := fold(t, pawl.StepSkipped{Step: "a", Condition: "c"}, pawl.StepReopened{Step: "a"}, pawl.StepSkipped{Step: "a", Why: "mine"})
	if st := s.Steps["a"]; st.Condition != "" || st.SkippedText() != `skipped: "mine"` {
		t.Errorf("skipped by a person: %+v", st)
	}
}

// TestSumsStayEncodable: a step may say any number; the state must still be one that JSON can hold.
func TestSumsStayEncodable(t *testing.T) {
	t.Parallel()
	huge, least := pawl.Usage{USD: 1e308, Tokens: 1}, pawl.Usage{USD: -1e308}
	s := pawl.NewState()
	for i := range 6 {
		usage := huge
		if i > 2 {
			usage = least
		}
		applyAll(t, s, started(ref("a", i+1)), pawl.AttemptEnded{
			AttemptRef: ref("a", i+1), Outcome: pawl.Failed, Usage: usage, Stats: &pawl.AttemptStats{Seconds: usage.USD},
		})
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// world is an independent, much simpler account of what must hold.
type world struct {
	done    map[pawl.StepID]bool // steps that are done, reviewed or not
	skipped map[pawl.StepID]bool
	review  map[pawl.StepID]bool  // of those, the ones that a review is wanted of
	listed  map[pawl.StepID]int   // items
	items   map[string]bool       // finished items
	live    map[string]pawl.Token // step or step/index → live attempt
	highest map[string]int        // step or step/index → newest attempt
	gates   map[pawl.GateID]bool  // open ones
}

func newWorld() *world {
	return &world{
		done: map[pawl.StepID]bool{}, skipped: map[pawl.StepID]bool{}, review: map[pawl.StepID]bool{}, listed: map[pawl.StepID]int{}, items: map[string]bool{},
		live: map[string]pawl.Token{}, highest: map[string]int{}, gates: map[pawl.GateID]bool{},
	}
}

func slot(r pawl.AttemptRef) string {
	if r.Item == "" {
		return string(r.Step)
	}
	return fmt.Sprintf("%s/%d", r.Step, r.Index)
}

func (w *world) isLive(r pawl.AttemptRef) bool {
	token, ok := w.live[slot(r)]
	return ok && token == r.Token
}

// runs reports whether the step or one of these of its items has a live attempt; no items: any of them.
func (w *world) runs(step pawl.StepID, items []int) bool {
	for s := range w.live {
		of, index, isItem := strings.Cut(s, "/")
		i, _ := strconv.Atoi(index)
		if of == string(step) && (!isItem || len(items) == 0 || slices.Contains(items, i)) {
			return true
		}
	}
	return false
}

// forget drops what is known of the items of a step, or of those at the indexes.
func (w *world) forget(step pawl.StepID, indexes []int) {
	if len(indexes) == 0 {
		for i := range w.listed[step] {
			indexes = append(indexes, i)
		}
		delete(w.listed, step)
	}
	for _, i := range indexes {
		name := fmt.Sprintf("%s/%d", step, i)
		delete(w.items, name)
		delete(w.highest, name)
	}
}

// fits reports whether the event fits, and takes it in if so.
func (w *world) fits(payload pawl.Payload) bool {
	switch p := payload.(type) {
	case pawl.AttemptStarted:
		listed := p.Item == "" || p.Index >= 0 && p.Index < w.listed[p.Step] && !w.items[slot(p.AttemptRef)]
		if w.done[p.Step] || w.skipped[p.Step] || !listed || p.Attempt <= w.highest[slot(p.AttemptRef)] {
			return false
		}
		w.live[slot(p.AttemptRef)], w.highest[slot(p.AttemptRef)] = p.Token, p.Attempt
	case pawl.AttemptEnded:
		if !w.isLive(p.AttemptRef) {
			return false
		}
		delete(w.live, slot(p.AttemptRef))
	case pawl.ItemDone:
		if p.Item == "" || !w.isLive(p.AttemptRef) {
			return false
		}
		delete(w.live, slot(p.AttemptRef))
		delete(w.highest, slot(p.AttemptRef))
		w.items[slot(p.AttemptRef)] = true
	case pawl.Progressed:
		return w.isLive(p.AttemptRef)
	case pawl.Heartbeat:
		return w.isLive(p.AttemptRef)
	case pawl.GateOpened:
		if w.gates[p.ID] {
			return false
		}
		w.gates[p.ID] = true
	case pawl.GateAnswered:
		return w.closes(p.Gate)
	case pawl.GateExpired:
		return w.closes(p.Gate)
	case pawl.GateWithdrawn:
		return w.closes(p.Gate)
	default:
		return w.fitsStep(payload)
	}
	return true
}

func (w *world) fitsStep(payload pawl.Payload) bool {
	switch p := payload.(type) {
	case pawl.StepDone:
		own := pawl.AttemptRef{Step: p.Step, Token: p.Token}
		if w.done[p.Step] || p.Token != "" && !w.isLive(own) {
			return false
		}
		delete(w.live, string(p.Step))
		w.done[p.Step], w.review[p.Step] = true, len(p.Review) > 0
		w.skipped[p.Step] = false
	case pawl.StepListed:
		if p.From != w.listed[p.Step] || w.skipped[p.Step] {
			return false
		}
		w.listed[p.Step] += len(p.Items)
		w.done[p.Step] = false
	case pawl.StepReopened:
		if w.runs(p.Step, p.Items) {
			return false
		}
		w.done[p.Step], w.skipped[p.Step] = false, false
		w.forget(p.Step, p.Items)
	case pawl.StepFailed:
		if !w.leaves(p.Step) {
			return false
		}
		w.skipped[p.Step] = false
	case pawl.StepSkipped:
		if !w.leaves(p.Step) {
			return false
		}
		w.skipped[p.Step] = true
	case pawl.StepReviewed:
		if !w.done[p.Step] {
			return false
		}
		w.review[p.Step] = w.review[p.Step] && p.Score < 50
	}
	return true
}

// leaves reports whether a step may be given up or skipped: not once it is done and reviewed.
func (w *world) leaves(step pawl.StepID) bool {
	if w.done[step] && !w.review[step] {
		return false
	}
	w.done[step] = false
	return true
}

func (w *world) closes(id pawl.GateID) bool {
	if !w.gates[id] {
		return false
	}
	delete(w.gates, id)
	return true
}

// compare returns how the state differs from the account.
func (w *world) compare(s *pawl.State) string {
	got := newWorld()
	for id, st := range s.Steps {
		if st.Status == pawl.Done || st.Status == pawl.AwaitsReview {
			got.done[id] = true
		}
		if st.Items == nil {
			continue
		}
		if st.Items.Total > 0 {
			got.listed[id] = st.Items.Total
		}
		count := 0
		for i := range st.Items.Total {
			if st.Items.Done.At(i) != 0 {
				got.items[fmt.Sprintf("%s/%d", id, i)] = true
				count++
			}
		}
		if count != st.Items.Count {
			return fmt.Sprintf("step %s counts %d of %d finished items", id, st.Items.Count, count)
		}
	}
	for _, a := range s.Live() {
		got.live[slot(a.AttemptRef)] = a.Token
	}
	for _, g := range s.OpenGates() {
		got.gates[g.ID] = true
	}
	maps.DeleteFunc(w.done, func(_ pawl.StepID, done bool) bool { return !done })
	maps.DeleteFunc(w.listed, func(_ pawl.StepID, n int) bool { return n == 0 })
	return cmp.Diff([]any{w.done, w.listed, w.items, w.live, w.gates}, []any{got.done, got.listed, got.items, got.live, got.gates})
}

// drawPayload draws an event of a small world, so that most of them nearly fit: two steps, four items, few attempts, whose
// tokens come again.
func drawPayload(t *rapid.T) pawl.Payload {
	step := rapid.SampledFrom([]pawl.StepID{"a", "f"}).Draw(t, "step")
	switch rapid.IntRange(0, 9).Draw(t, "family") {
	case 0, 1, 2, 3:
		return drawAttempt(t, step)
	case 4, 5, 6:
		return drawStep(t, step)
	case 7, 8:
		return drawGate(t, step)
	}
	return drawOther(t, step)
}

func drawRef(t *rapid.T, step pawl.StepID) pawl.AttemptRef {
	attempt := rapid.IntRange(0, 4).Draw(t, "attempt")
	if index := rapid.IntRange(-2, 3).Draw(t, "index"); step == "f" && index > -2 {
		return itemRef(step, index, attempt)
	}
	return ref(step, attempt)
}

func drawAttempt(t *rapid.T, step pawl.StepID) pawl.Payload {
	r := drawRef(t, step)
	switch rapid.IntRange(0, 7).Draw(t, "attempt event") {
	case 0, 1, 2:
		return pawl.AttemptStarted{AttemptRef: r, Key: pawl.Key{Definition: drawText(t), Inputs: drawOutputs(t)}}
	case 3:
		outcome := rapid.SampledFrom([]pawl.Outcome{pawl.Failed, pawl.Lost, pawl.WaitsFor}).Draw(t, "outcome")
		return pawl.AttemptEnded{
			AttemptRef: r, Outcome: outcome, Final: rapid.Bool().Draw(t, "final"), Gate: drawGateID(t), RetryAt: drawTime(t), Usage: drawUsage(t),
			Blockers: []string{}, Stats: &pawl.AttemptStats{Seconds: drawUsage(t).USD},
		}
	case 4, 5:
		return pawl.ItemDone{AttemptRef: r, Outputs: drawOutputs(t), Usage: drawUsage(t)}
	case 6:
		done := drawUsage(t).USD
		return pawl.Progressed{AttemptRef: r, Text: drawText(t), Done: &done, Source: drawSource(t, step)}
	}
	return pawl.Heartbeat{AttemptRef: r}
}

func drawStep(t *rapid.T, step pawl.StepID) pawl.Payload {
	switch rapid.IntRange(0, 9).Draw(t, "step event") {
	case 0, 1:
		return drawDone(t, step)
	case 2, 3:
		return listed(step, rapid.IntRange(0, 3).Draw(t, "from"), rapid.IntRange(0, 2).Draw(t, "values"))
	case 4:
		items := rapid.SampledFrom([][]int{nil, {}, {0}, {0, 2, 9, -1}}).Draw(t, "items")
		return pawl.StepReopened{Step: step, Why: drawText(t), Items: items}
	case 5:
		return pawl.StepFailed{Step: step, Why: drawText(t)}
	case 6:
		return pawl.StepSkipped{Step: step}
	case 7:
		return pawl.StepReviewed{Step: step, Reviewer: "ann", Score: rapid.SampledFrom([]int{49, 50}).Draw(t, "score")}
	case 8:
		return pawl.ItemNamed{Step: step, Item: "n", Outputs: []string{}, Source: drawSource(t, step)}
	}
	return pawl.OutputsChanged{Step: step, Paths: rapid.SampledFrom([][]string{nil, {}, {"p"}}).Draw(t, "paths")}
}

func drawDone(t *rapid.T, step pawl.StepID) pawl.Payload {
	r := ref(step, rapid.IntRange(0, 4).Draw(t, "attempt"))
	done := pawl.StepDone{
		Step: step, Attempt: r.Attempt, Token: r.Token, Outputs: drawOutputs(t), Usage: drawUsage(t),
		Review: rapid.SampledFrom([]map[string]int{nil, {}, {"ann": 50}}).Draw(t, "review"),
	}
	if rapid.Bool().Draw(t, "without attempt") {
		done.Token, done.Started = "", drawTime(t)
	}
	return done
}

func drawGate(t *rapid.T, step pawl.StepID) pawl.Payload {
	switch rapid.IntRange(0, 5).Draw(t, "gate event") {
	case 0, 1, 2:
		return pawl.GateOpened{Gate: pawl.Gate{
			ID: drawGateID(t), Step: step, Options: []string{}, Shown: drawOutputs(t), Expires: drawTime(t), Source: drawSource(t, step),
			Purpose: rapid.SampledFrom([]pawl.Purpose{"", pawl.ForBudget}).Draw(t, "purpose"),
		}}
	case 3:
		return pawl.GateAnswered{Gate: drawGateID(t), Answer: pawl.Approved}
	case 4:
		return pawl.GateExpired{Gate: drawGateID(t)}
	}
	return pawl.GateWithdrawn{Gate: drawGateID(t), Why: drawText(t)}
}

func drawOther(t *rapid.T, step pawl.StepID) pawl.Payload {
	return rapid.SampledFrom([]pawl.Payload{
		pawl.StepChecked{Step: step, Accept: "c"},
		pawl.BlockerOpened{},
		pawl.BlockerCleared{ID: 1},
		pawl.DecisionMade{Decision: pawl.Decision{Options: []string{}}},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{Live: []pawl.AttemptRef{}}},
		pawl.EngineStarted{Epoch: pawl.Epoch(rapid.IntRange(0, 9).Draw(t, "epoch"))},
		pawl.EngineStopped{},
		pawl.RunPaused{},
	}).Draw(t, "event")
}

func drawGateID(t *rapid.T) pawl.GateID {
	return rapid.SampledFrom([]pawl.GateID{"g", "h"}).Draw(t, "gate")
}

func drawText(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "x", "<ü>\u2028"}).Draw(t, "text")
}

func drawOutputs(t *rapid.T) pawl.Outputs {
	return rapid.SampledFrom([]pawl.Outputs{nil, {}, {"o": {SHA256: "ab"}}}).Draw(t, "outputs")
}

func drawUsage(t *rapid.T) pawl.Usage {
	return pawl.Usage{USD: rapid.Float64().Draw(t, "usd"), Tokens: rapid.Int64().Draw(t, "tokens")}
}

// drawTime draws a time of any zone, with nanoseconds.
func drawTime(t *rapid.T) time.Time {
	zone := time.FixedZone("", 3600*rapid.IntRange(-11, 11).Draw(t, "zone"))
	return time.Date(2027, 1, 1, 1, 1, 1, rapid.IntRange(0, 999_999_999).Draw(t, "ns"), zone)
}

func drawSource(t *rapid.T, step pawl.StepID) *pawl.Source {
	return rapid.SampledFrom([]*pawl.Source{nil, {AttemptRef: ref(step, 1), File: "f", Offset: 5}}).Draw(t, "source")
}

// beside reports whether an event is accepted or rejected for reasons that the model does not have.
func beside(p pawl.Payload) bool {
	switch p.(type) {
	case pawl.BlockerCleared, pawl.EngineStarted, pawl.RunPaused:
		return true
	}
	return false
}

// TestFoldAgainstModel: random events, most of which nearly fit. The fold must agree with a simple account of the world
// on which of them fit, which steps and items are done, which attempts are live and which gates are open; what does not
// fit leaves no trace; and a state that went through JSON at any point goes on as the one that did not.
func TestFoldAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model, s, cached := newWorld(), pawl.NewState(), pawl.NewState()
		for _, p := range rapid.SliceOfN(rapid.Custom(drawPayload), 0, 60).Draw(t, "events") {
			before := s.Clone()
			e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
			if err != nil {
				t.Fatal(err)
			}
			e.Seq, e.Time = s.Seq+1, when(int(s.Seq)+1)
			s.Apply(e)
			cached = throughJSON(t, cached)
			cached.Apply(e)

			fitted := s.RejectedCount == before.RejectedCount
			if !beside(p) && fitted != model.fits(p) {
				t.Fatalf("%s %s: fits %v (%+v)", p.Event(), e.Data, fitted, s.RejectedEvents)
			}
			if diff := model.compare(s); diff != "" {
				t.Fatalf("%s %s: -model +state\n%s", p.Event(), e.Data, diff)
			}
			if !fitted {
				if diff := changed(before, s); diff != "" {
					t.Fatalf("%s %s: a misfit left traces\n%s", p.Event(), e.Data, diff)
				}
			}
			sameState(t, s, cached)
		}
	})
}

// deepStory fits, and sets each field of the state at some point.
var deepStory = []pawl.Payload{
	pawl.RunCreated{
		Format: 1, Run: "r", Project: "p", Kind: pawl.PlanRun, Name: "n", Goal: "g", Mode: pawl.Guided,
		Forked: &pawl.Fork{Run: "o", Checkpoint: "c", Seq: 3}, Shell: pawl.StrictSh,
	},
	pawl.RunPlanned{Revision: 1, File: "plan.yaml"},
	pawl.ResultsAdopted{Run: "e", Origin: "first"},
	pawl.StepDone{Step: "adopted", Adopted: "up to date, from e", From: &pawl.Earlier{Run: "e", Attempt: 2}},
	pawl.RunGiven{GivenValues: pawl.GivenValues{Params: map[string]pawl.Given{"day": {Value: "1"}}, Env: map[string]pawl.Given{"A": {Unset: true}, "KEY": {Hash: "ab"}}, Values: map[string]pawl.Given{"params.day": {Value: "1"}}}},
	pawl.StepSkipped{Step: "conditional", Why: "w", Condition: "params.day == '2'"},
	pawl.StepFailed{Step: "tolerated", Why: "w", Continued: true},
	pawl.EngineStarted{Epoch: 1, PID: 1, Host: "h", Home: "p", Boot: "b", Trace: &pawl.Trace{ID: "t", Parent: "p", Sampled: true}},
	pawl.AttemptStarted{AttemptRef: ref("a", 1), Seal: "k", Input: "s", Key: pawl.Key{Definition: "d", Inputs: pawl.Outputs{"i": {SHA256: "x"}}}},
	pawl.Heartbeat{AttemptRef: ref("a", 1), Health: "ok"},
	pawl.WatchdogActed{AttemptRef: ref("a", 1), Action: pawl.WatchdogReports, Evidence: "no output for 1m"},
	pawl.Progressed{AttemptRef: ref("a", 1), Text: "t", Usage: pawl.Usage{Tokens: 3}, Source: &pawl.Source{AttemptRef: ref("a", 1), File: "f", Offset: 9}},
	pawl.Conversed{AttemptRef: ref("a", 1), Conversation: pawl.Conversation{Agent: pawl.CodexCLI, ID: "x"}},
	pawl.ItemNamed{Step: "a", Item: "x", Outputs: []string{"o"}},
	opened("g", "a"),
	pawl.AttemptEnded{AttemptRef: ref("a", 1), Outcome: pawl.WaitsFor, Gate: "g", RetryAt: began, Stats: &pawl.AttemptStats{Seconds: 2}},
	answered("g", pawl.Approved),
	pawl.EngineStarted{Epoch: 2, PID: 2},
	started(ref("a", 2)), failed(ref("a", 2)), started(ref("a", 3)),
	pawl.StepDone{
		Step: "a", Attempt: 3, Token: "a-3", Key: pawl.Key{Definition: "d"}, Outputs: pawl.Outputs{"o": {Size: 1}}, Accept: "c", Summary: "s",
		Undo: "u", Adopted: "w", Usage: pawl.Usage{USD: 1, Tokens: 2}, Review: map[string]int{"ann": 5},
		Save: &pawl.Checkpoint{ID: "d", Kind: pawl.CheckpointStep, Snapshot: &pawl.Snapshot{None: "quota"}},
	},
	pawl.CheckpointsPruned{Checkpoints: []pawl.CheckpointID{"d"}},
	pawl.StepReviewed{Step: "a", Reviewer: "ann", Score: 5},
	pawl.OutputsChanged{Step: "a", Paths: []string{"o"}},
	listed("f", 0, 3),
	started(itemRef("f", 0, 1)), itemDone(itemRef("f", 0, 1)),
	started(itemRef("f", 1, 1)),
	pawl.AttemptEnded{AttemptRef: itemRef("f", 1, 1), Outcome: pawl.Failed, Final: true, Stats: &pawl.AttemptStats{Seconds: 1}},
	started(itemRef("f", 2, 1)), itemDone(itemRef("f", 2, 1)),
	pawl.StepReopened{Step: "f", Why: "bad", Items: []int{0}},
	started(itemRef("f", 0, 4)), itemDone(itemRef("f", 0, 4)),
	listed("h", 0, 2), started(itemRef("h", 0, 1)), itemDone(itemRef("h", 0, 1)), pawl.StepReopened{Step: "h", Why: "all of it"},
	listed("h", 0, 2), pawl.ItemsSkipped{Step: "h", Items: []int{1}, Why: "not ours"},
	pawl.StepReopened{Step: "f", Why: "worse", Items: []int{1}, Asked: true},
	started(itemRef("f", 1, 5)), itemDone(itemRef("f", 1, 5)),
	pawl.StepDone{Step: "f", Digest: "x"},
	opened("e", "b"), pawl.GateExpired{Gate: "e"}, opened("w", ""), pawl.GateWithdrawn{Gate: "w"},
	pawl.GateOpened{Gate: pawl.Gate{ID: "b", Purpose: pawl.ForBudget, Budget: "usd"}}, answered("b", pawl.Approved),
	pawl.BlockerOpened{}, pawl.DecisionMade{}, pawl.MemoryLearned{}, pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{Kind: pawl.CheckpointGate}},
	pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "r", Restores: &pawl.RestoreIntent{Checkpoint: "c", From: "x", Paths: []string{"p"}, Undo: true}}},
	started(ref("lost", 1)), pawl.AttemptEnded{AttemptRef: ref("lost", 1), Outcome: pawl.Lost},
	pawl.RollbackStarted{Checkpoint: "c", Undos: 2},
	pawl.UndoStarted{UndoRef: undoRef(itemRef("f", 1, 1), 33)}, pawl.UndoFailed{UndoRef: undoRef(itemRef("f", 1, 1), 33), Outcome: pawl.Lost},
	pawl.UndoStarted{UndoRef: undoRef(itemRef("f", 1, 2), 33)}, pawl.UndoDone{UndoRef: undoRef(itemRef("f", 1, 2), 33)},
	pawl.RollbackEnded{Checkpoint: "c"},
	started(ref("db", 1)), pawl.ServiceReady{AttemptRef: ref("db", 1)}, pawl.EngineStarted{Epoch: 90},
	pawl.ServiceWaiting{AttemptRef: ref("db", 1), ServiceWait: pawl.ServiceWait{Since: began, Seconds: 1, Limit: 60, Exit: 7, Output: "refused"}},
	pawl.ServiceReady{AttemptRef: ref("db", 1)}, pawl.ServiceReleased{AttemptRef: ref("db", 1), Why: "done"},
	pawl.StepDone{Step: "db", Attempt: 1, Token: "db-1", Stats: &pawl.AttemptStats{Killed: 1, Leftovers: []string{"sleep (3)"}}},
	pawl.EngineStopped{}, pawl.RunPaused{Why: "lunch"},
	pawl.SessionBegan{
		Session: "a:1", Source: "startup", Dir: "/d", Transcript: "/t", Model: "m", Process: &pawl.Process{PID: 3}, Step: "a",
	},
	pawl.SessionPrompted{Session: "a:1", Text: "do it", Digest: "d"},
	pawl.OperationBegun{Operation: pawl.Operation{
		ID: "a:1#1", Session: "a:1", Tool: "Bash", Kind: pawl.OperationCommand, Summary: "make", Digest: "x", Paths: []string{"p"},
		Expect: []pawl.Expected{{Path: "p", Was: "w"}}, Head: "h", Dir: "d", Clock: began,
	}},
	pawl.OperationBegun{Operation: pawl.Operation{ID: "a:1#2", Session: "a:1", Kind: pawl.OperationFiles, Paths: []string{"q"}, Digest: "y"}},
	pawl.OperationBegun{Operation: pawl.Operation{Session: "a:1", Kind: pawl.OperationOther, Sub: true, Summary: "else", Digest: "z"}},
	pawl.SessionTurned{Session: "a:1", Doing: pawl.SessionAsks, Digest: "y"},
	pawl.OperationBegun{Operation: pawl.Operation{ID: "a:1/sub#1", Session: "a:1/sub", Kind: pawl.OperationFiles, Paths: []string{"r"}, Digest: "w", Summary: "r"}},
	pawl.OperationEnded{Operation: "a:1/sub#1", Session: "a:1/sub", Failed: true, Error: "exit code 4"},
	pawl.OperationEnded{Operation: "a:1#2", Session: "a:1"}, pawl.OperationEnded{Session: "a:1", Digest: "z"},
	pawl.OperationLeft{Session: "a:1", Tool: "Bash", Summary: "sleep 9 &", Dir: "d", Processes: []pawl.Process{{PID: 4}}},
	pawl.SessionCompacted{Session: "a:1"}, pawl.SessionTurned{Session: "a:1", Doing: pawl.SessionFailed, Why: "limit", Said: "s"},
	pawl.OperationJudged{Operation: "a:1#1", Verdict: pawl.OperationPartly, Runs: true, Told: "b:2"}, pawl.SessionTold{Session: "b:2", Open: []pawl.SessionID{"a:1"}},
	pawl.OperationBegun{Operation: pawl.Operation{ID: "b:2#1", Session: "b:2", Digest: "v", Kind: pawl.OperationFiles, Paths: []string{"p"}}},
	pawl.OperationEnded{Operation: "b:2#1", Session: "b:2"}, pawl.OperationBegun{Operation: pawl.Operation{ID: "b:2#2", Session: "b:2", Digest: "u"}},
	pawl.SessionTurned{Session: "b:2", Doing: pawl.SessionIdle},
	pawl.RunImported{System: "grid", Status: "active", Next: "block 02", Path: "sub", Place: ".grid", ID: "blog", Active: time.Date(2026, 3, 9, 11, 30, 0, 0, time.UTC)}, pawl.RunMirrored{System: "grid"},
	pawl.NoticeSent{Notice: "gate-1", Kind: pawl.NoticeGate, To: "chat", Tries: 3, Error: "no answer"},
	pawl.RunEnded{Status: pawl.StatusFailed, Handler: "a"},
}

// TestStateSurvivesJSONAtAnyPrefix: the journal's cache is a state in JSON, so one decoded after any event must go on
// exactly as the one that was encoded.
func TestStateSurvivesJSONAtAnyPrefix(t *testing.T) {
	t.Parallel()
	set := map[string]bool{"State.UnknownTypes": true, "State.RejectedEvents": true, "State.RejectedCount": true, "State.Dropped": true} // see TestUnknownEvents, TestRejectedEvents, TestManySessions
	for n := range len(deepStory) + 1 {
		s := fold(t, deepStory[:n]...)
		fieldsSet(set, reflect.ValueOf(s))
		decoded := throughJSON(t, s)
		sameState(t, s, decoded)
		sameState(t, applyAll(t, s, deepStory[n:]...), applyAll(t, decoded, deepStory[n:]...))
		if s.RejectedCount > 0 {
			t.Fatalf("the story does not fit: %+v", s.RejectedEvents)
		}
	}
	for _, v := range []any{
		pawl.State{}, pawl.StepState{}, pawl.ItemsState{}, pawl.Retries{}, pawl.AttemptState{}, pawl.GateState{}, pawl.Spending{},
		pawl.SessionState{}, pawl.OperationState{}, pawl.ImportState{}, pawl.NoticeState{},
	} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if name := reflect.TypeOf(v).Name() + "." + f.Name; len(f.Index) == 1 && !set[name] {
				t.Errorf("the story never sets %s; have it do so", name)
			}
		}
	}
}

// fieldsSet notes which fields are not zero in v or in anything below it.
func fieldsSet(set map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fieldsSet(set, v.Elem())
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			fieldsSet(set, v.MapIndex(key))
		}
	case reflect.Slice:
		for i := range v.Len() {
			fieldsSet(set, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				set[v.Type().Name()+"."+v.Type().Field(i).Name] = true
				fieldsSet(set, v.Field(i))
			}
		}
	}
}

// throughJSON returns the state as a cache on disk would give it back.
func throughJSON(t fatal, s *pawl.State) *pawl.State {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	var decoded pawl.State
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatalf("decode: %v", err)
	}
	return &decoded
}

type fatal interface{ Fatalf(string, ...any) }

// sameState sees to it that two states are equal, and equal as bytes.
func sameState(t fatal, want, got *pawl.State) {
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("another state after JSON: -want +got\n%s", diff)
	}
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(got)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Fatalf("other bytes after JSON: %v %v\n%s\n%s", errA, errB, a, b)
	}
}

// TestOldTokensChangeNothing: whatever is said with the token of an attempt that is not the newest, nothing changes.
func TestOldTokensChangeNothing(t *testing.T) {
	t.Parallel()
	for _, refOf := range []func(int) pawl.AttemptRef{
		func(n int) pawl.AttemptRef { return ref("f", n) },
		func(n int) pawl.AttemptRef { return itemRef("f", 1, n) },
	} {
		old := refOf(1)
		overtaken := fold(t, listed("f", 0, 2), started(old), started(refOf(2)))
		for _, late := range []pawl.Payload{
			failed(old), itemDone(old), stepDone(old), pawl.Heartbeat{AttemptRef: old}, pawl.Progressed{AttemptRef: old, Text: "still here"},
			pawl.AttemptEnded{AttemptRef: old, Outcome: pawl.Failed, Final: true, Usage: pawl.Usage{USD: 5}, Stats: &pawl.AttemptStats{Seconds: 5}},
		} {
			s := applyAll(t, overtaken.Clone(), late)
			if s.RejectedCount != 1 {
				t.Errorf("%s of %s was believed", late.Event(), old.Name())
			}
			if diff := changed(overtaken, s); diff != "" {
				t.Errorf("%s of %s changed\n%s", late.Event(), old.Name(), diff)
			}
		}
	}
}

// TestEveryEventTypeIsFolded folds an empty event of each type. None may panic or count as unknown, and no two share a name.
func TestEveryEventTypeIsFolded(t *testing.T) {
	t.Parallel()
	every, err := pawl.EveryPayload()
	if err != nil {
		t.Fatal(err)
	}
	types := map[pawl.EventType]bool{}
	for _, p := range every {
		if types[p.Event()] {
			t.Errorf("two payload types are called %s", p.Event())
		}
		types[p.Event()] = true
		s := applyAll(t, pawl.NewState(), p)
		if len(s.UnknownTypes) > 0 || !p.Event().Known() {
			t.Errorf("%s is not known", p.Event())
		}
		e, err := pawl.NewEvent(pawl.Author{}, p)
		if err != nil {
			t.Fatal(err)
		}
		back, err := e.Payload()
		if err != nil || reflect.TypeOf(back) != reflect.TypeOf(p) {
			t.Errorf("%s decodes into %T, %v", p.Event(), back, err)
		}
	}
}

// FuzzApply folds lines of the form "type payload", whatever they are. Nothing may panic, rejected events leave no trace, and
// the state is the same after JSON.
func FuzzApply(f *testing.F) {
	f.Add("attempt.started {\"step\":\"a\",\"attempt\":1,\"token\":\"t\"}\nitem.done {\"step\":\"a\",\"token\":\"t\"}")
	f.Add("step.listed {\"step\":\"a\",\"items\":[\"x\"]}\nattempt.started {\"step\":\"a\",\"item\":\"x\",\"attempt\":1,\"token\":\"t\"}\nitem.done {\"step\":\"a\",\"item\":\"x\",\"token\":\"t\"}")
	f.Add("gate.opened {\"id\":\"g\",\"step\":\"a\"}\ngate.withdrawn {\"gate\":\"g\"}")
	f.Add("step.done {\"step\":\"a\",\"usage\":{\"usd\":1e308},\"stats\":{\"seconds\":1e308}}")
	plan := &pawl.Plan{Phases: []pawl.Phase{{Steps: []pawl.Step{{ID: "a"}, {ID: "b", Needs: []pawl.StepID{"a"}}}}}}
	f.Fuzz(func(t *testing.T, text string) {
		s := pawl.NewState()
		for line := range strings.Lines(text) {
			word, data, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			before := throughJSON(t, s)
			s.Apply(pawl.Event{Seq: s.Seq + 1, Time: when(int(s.Seq) + 1), Type: pawl.EventType(strings.ToValidUTF8(word, "?")), Data: json.RawMessage(data)})
			if s.RejectedCount > before.RejectedCount {
				if diff := changed(before, s); diff != "" {
					t.Fatalf("a misfit left traces\n%s", diff)
				}
			}
		}
		sameState(t, s, throughJSON(t, s))
		if p := s.Percent(plan); p < 0 || p > 100 {
			t.Errorf("%d%%", p)
		}
		if pos := s.Position(plan); pos.Item > pos.ItemTotal || pos.Step > pos.StepTotal {
			t.Errorf("position %+v", pos)
		}
		s.StatusNow(true)
		for _, id := range slices.Sorted(maps.Keys(s.Steps)) {
			s.Steps[id].Gives()
		}
	})
}

// TestRestoreIsOpenUntilItEnds: the intent comes with the checkpoint of the files before the restore. A forked run copies
// such an event, but the files were another run's.
func TestRestoreIsOpenUntilItEnds(t *testing.T) {
	t.Parallel()
	intent := &pawl.RestoreIntent{Checkpoint: "c", From: "r", Paths: []string{"a"}}
	saved := pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "b", Kind: pawl.CheckpointBeforeRestore, Restores: intent}}
	s := applyAll(t, pawl.NewState(), saved)
	if want := (&pawl.RestoreState{RestoreIntent: *intent, Before: "b"}); !cmp.Equal(s.Restore, want) || s.LastGood.Restores != nil {
		t.Errorf("%+v, %+v", s.Restore, s.LastGood)
	}
	applyAll(t, s, pawl.FilesRestored{Checkpoint: "c", Before: "b"})
	if s.Restore != nil {
		t.Errorf("after its end: %+v", s.Restore)
	}
	if s := applyAll(t, pawl.NewState(), pawl.RunCreated{Run: "f", Forked: &pawl.Fork{Run: "r", Seq: 2}}, saved); s.Restore != nil {
		t.Errorf("in a fork: %+v", s.Restore)
	}
}
