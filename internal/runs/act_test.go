package runs_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

const twoSteps = "name: demo\nsteps: [{id: a, run: \"true\"}, {id: b, run: \"true\"}]\n"

// What a person does to a run that has not begun, and what is refused.
func TestActs(t *testing.T) {
	t.Parallel()
	verify := pawl.GateAction{Type: pawl.HumanVerify, Ask: "Right?"}
	decision := pawl.GateAction{Type: pawl.DecisionFor, Ask: "Which?", Options: []string{"x", "y"}}
	idOf := func(a pawl.GateAction) pawl.GateID { return a.Gate("", "", time.Now()).ID }
	for name, c := range map[string]struct {
		before []runs.Act
		act    runs.Act
		kind   pawl.Kind // of the refusal; empty: it is done
		events []string  // that it adds
	}{
		"ask":                 {act: runs.Ask(verify, false), events: []string{"gate.opened"}},
		"ask the same":        {before: []runs.Act{runs.Ask(verify, false)}, act: runs.Ask(verify, false), kind: pawl.KindUsage},
		"ask the answered":    {before: []runs.Act{runs.Ask(verify, false), runs.Approve(idOf(verify), "")}, act: runs.Ask(verify, false), kind: pawl.KindUsage},
		"ask again":           {before: []runs.Act{runs.Ask(verify, false), runs.Approve(idOf(verify), "")}, act: runs.Ask(verify, true), events: []string{"gate.opened"}},
		"approve":             {before: []runs.Act{runs.Ask(verify, false)}, act: runs.Approve(idOf(verify), "good"), events: []string{"gate.answered"}},
		"approve twice":       {before: []runs.Act{runs.Ask(verify, false), runs.Approve(idOf(verify), "")}, act: runs.Approve(idOf(verify), ""), kind: pawl.KindUsage},
		"approve nothing":     {act: runs.Approve("00000000", ""), kind: pawl.KindUsage},
		"approve a decision":  {before: []runs.Act{runs.Ask(decision, false)}, act: runs.Approve(idOf(decision), ""), kind: pawl.KindUsage},
		"choose":              {before: []runs.Act{runs.Ask(decision, false)}, act: runs.Choose(idOf(decision), "y", "why"), events: []string{"gate.answered", "decision.made"}},
		"choose another":      {before: []runs.Act{runs.Ask(decision, false)}, act: runs.Choose(idOf(decision), "z", ""), kind: pawl.KindUsage},
		"choose nothing":      {before: []runs.Act{runs.Ask(decision, false)}, act: runs.Choose(idOf(decision), "", ""), kind: pawl.KindUsage},
		"choose no decision":  {before: []runs.Act{runs.Ask(verify, false)}, act: runs.Choose(idOf(verify), "y", ""), kind: pawl.KindUsage},
		"reject":              {before: []runs.Act{runs.Ask(verify, false)}, act: runs.Reject(idOf(verify), "bad", true), events: []string{"gate.answered"}},
		"pause":               {act: runs.Pause(""), events: []string{"run.paused"}},
		"stop":                {act: runs.Stop(""), events: []string{"run.stopped"}},
		"retry":               {act: runs.Retry("a", ""), events: []string{"step.reopened"}},
		"retry nothing":       {act: runs.Retry("z", ""), kind: pawl.KindUsage},
		"skip":                {act: runs.Skip("a", nil, ""), events: []string{"step.skipped"}},
		"skip twice":          {before: []runs.Act{runs.Skip("a", nil, "")}, act: runs.Skip("a", nil, ""), kind: pawl.KindUsage},
		"skip nothing":        {act: runs.Skip("z", nil, ""), kind: pawl.KindUsage},
		"review nothing":      {act: runs.Review("a", "ann", 50, ""), kind: pawl.KindUsage},
		"learn":               {act: runs.Learn(pawl.Memory{Kind: pawl.Gotcha, Text: "Mind the gap."}), events: []string{"memory.learned"}},
		"learn again":         {before: []runs.Act{runs.Learn(pawl.Memory{Kind: pawl.Gotcha, Text: "Mind."})}, act: runs.Learn(pawl.Memory{Kind: pawl.Gotcha, Text: "Mind."})},
		"learn nothing":       {act: runs.Learn(pawl.Memory{Kind: "tip", Text: "x"}), kind: pawl.KindUsage},
		"decide":              {act: runs.Decide(pawl.Decision{Choice: "x"}), events: []string{"decision.made"}},
		"block":               {act: runs.Block(pawl.Blocker{Text: "no key", Step: "a"}), events: []string{"blocker.opened"}},
		"block nothing":       {act: runs.Block(pawl.Blocker{Text: "no key", Step: "z"}), kind: pawl.KindUsage},
		"unblock":             {before: []runs.Act{runs.Block(pawl.Blocker{Text: "no key"})}, act: runs.Unblock(1, "found"), events: []string{"blocker.cleared"}},
		"unblock nothing":     {act: runs.Unblock(1, ""), kind: pawl.KindUsage},
		"name":                {act: runs.NameItem(pawl.ItemNamed{Item: "one", Status: pawl.ItemIsDone}), events: []string{"item.named"}},
		"after it has failed": {before: []runs.Act{failing}, act: runs.Pause(""), kind: pawl.KindNothing},
		"retry reopens":       {before: []runs.Act{failing}, act: runs.Retry("a", ""), events: []string{"step.reopened", "run.reopened"}},
		"skip reopens":        {before: []runs.Act{failing}, act: runs.Skip("a", nil, ""), events: []string{"step.skipped", "run.reopened"}},
		"too late":            {act: func(p projectOf, r *runs.Run) ([]pawl.Payload, error) { return answerOfNothing, nil }, kind: pawl.KindUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.Create(twoSteps)
			for _, act := range c.before {
				p.Act(act)
			}
			p.Reject = name == "too late"
			before := len(p.Events())
			err := p.Try(c.act)
			if c.kind != "" {
				p.WantKind(err, c.kind)
			} else if p.Check(err); !slices.Equal(typesOf(p)[before:], c.events) {
				t.Errorf("events %v, want %v", typesOf(p)[before:], c.events)
			}
			if !p.Reject && c.kind != "" && len(p.Events()) != before {
				t.Errorf("a refused act added %v", typesOf(p)[before:])
			}
		})
	}
}

// answerOfNothing is an answer to a gate that somebody closed before.
var answerOfNothing = []pawl.Payload{pawl.GateAnswered{Gate: "00000000", Answer: pawl.Approved}}

// failing ends a run.
func failing(projectOf, *runs.Run) ([]pawl.Payload, error) {
	return []pawl.Payload{pawl.RunEnded{Status: pawl.StatusFailed, Why: "test"}}, nil
}

func typesOf(p *enginetest.Project) []string {
	p.Helper()
	var types []string
	for _, e := range p.Events() {
		types = append(types, string(e.Type))
	}
	return types
}

// An act that adds events and returns an error has both.
func TestActThatIsDoneAndRefused(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create(twoSteps)
	why := errors.New("why")
	err := p.Try(func(projectOf, *runs.Run) ([]pawl.Payload, error) { return []pawl.Payload{pawl.RunPaused{}}, why })
	if !errors.Is(err, why) || p.State().Status != pawl.StatusPaused {
		t.Errorf("%v; status %s", err, p.State().Status)
	}
}

// Views are written by whoever changes a run that no engine works on.
func TestActsWriteViews(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create(twoSteps)
	p.Act(runs.Block(pawl.Blocker{Text: "no key for the door"}))
	if text := p.Text(relative(p, p.BlockersFile(p.Run))); !contains(text, "no key for the door") {
		t.Errorf("BLOCKERS.md: %q", text)
	}
	p.Act(runs.Unblock(1, "found"))
	r, err := runs.Load(t.Context(), p.Project, p.Run)
	p.Check(err)
	p.Check(runs.RewriteViews(p.Project, r))
	p.Check(r.Log.Close())
	if !p.Exists(relative(p, p.StateFile(p.Run))) {
		t.Error("no STATE.md")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gate pawl.Gate
		want string
	}{
		{pawl.Gate{ID: "1", Type: pawl.HumanVerify}, "pawl approve 1"},
		{pawl.Gate{ID: "2", Type: pawl.DecisionFor, Options: []string{"a b"}}, `pawl answer 2 'a b'`},
		{pawl.Gate{ID: "3", Type: pawl.DecisionFor}, "pawl answer 3 CHOICE"},
	} {
		if got := runs.AnswerCommands(&pawl.GateState{Gate: c.gate}); got[0] != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
}

func TestLimitShown(t *testing.T) {
	t.Parallel()
	many := pawl.Outputs{}
	for i := range runs.MaxShown + 1 {
		many[string(rune('a'+i%26))+string(rune('a'+i/26))] = pawl.Content{SHA256: "x"}
	}
	if few := (pawl.Outputs{"a": {}}); len(runs.LimitShown(few)) != 1 || runs.LimitShown(many)["*"].Files != runs.MaxShown+1 {
		t.Errorf("%v", runs.LimitShown(many))
	}
}

// An attempt that runs while no engine is there can be ended all the same.
func TestEndLive(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	working(p)
	r, err := runs.Perform(t.Context(), p.Project, p.Run, pawl.Author{Kind: pawl.ByPerson}, runs.Stop("enough"))
	p.Check(err)
	p.WantKind(p.Try(runs.Retry("a", "")), pawl.KindHeld, "step a is running")
	p.Check(runs.EndLive(p.Project, r, "enough"))
	p.Check(r.Log.Close())
	p.Until("the attempt has ended", func() bool { return runs.RequireNoLiveAttempt(p.Project, p.State()) == nil })
	p.Write("go", "")
	p.Check(p.GoOn())
}

// Who answers a gate answers to what they were shown: when that has changed meanwhile, the gate is withdrawn.
func TestReplyToWhatHasChanged(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := "name: demo\nsteps:\n  - {id: make, run: echo made > made.txt, outputs: [made.txt]}\n" +
		"  - {id: each, foreach: {items: [x]}, run: echo x > $PAWL_ITEM.txt, outputs: [$PAWL_ITEM.txt]}\n  - {id: look, needs: [make, each], gate: {type: human_verify, ask: Right?}}\n"
	p.WantKind(p.Do(plan), pawl.KindAtGate)
	for name, shown := range map[string]string{"made.txt": "made.txt", "x.txt": "each/*"} {
		before := p.Text(name)
		p.Write(name, "changed")
		g := p.Gate()
		p.WantKind(p.Try(runs.Approve(g.ID, "")), pawl.KindUsage, "gate "+string(g.ID)+": its content has changed: "+shown)
		if closed := p.State().Gate(g.ID); closed.Withdrawn != "its content has changed: "+shown || closed.Answer != nil {
			t.Errorf("the gate is %+v", closed)
		}
		p.Write(name, before)
		p.WantKind(p.GoOn(), pawl.KindAtGate)
	}
	p.Act(runs.Approve(p.Gate().ID, ""))
	p.Check(p.GoOn())
}
