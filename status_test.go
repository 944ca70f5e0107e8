package pawl_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/planfile"
)

func TestStatusNow(t *testing.T) {
	t.Parallel()
	type payloads = []pawl.Payload
	engine := pawl.EngineStarted{Epoch: 1}
	stopped := pawl.EngineStopped{}
	blocked := pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "x"}}
	inReview := pawl.StepDone{Step: "a", Review: map[string]int{"ann": 1}}
	for name, c := range map[string]struct {
		events        payloads
		with, without pawl.RunStatus // an engine
	}{
		"created":            {nil, pawl.StatusActive, pawl.StatusInterrupted},
		"at work":            {payloads{engine, started(ref("a", 1))}, pawl.StatusActive, pawl.StatusInterrupted},
		"between steps":      {payloads{engine}, pawl.StatusActive, pawl.StatusInterrupted},
		"stopped at work":    {payloads{engine, started(ref("a", 1)), stopped}, pawl.StatusActive, pawl.StatusInterrupted},
		"at a gate":          {payloads{engine, opened("g", "a")}, pawl.StatusWaiting, pawl.StatusInterrupted},
		"left at a gate":     {payloads{engine, opened("g", "a"), stopped}, pawl.StatusWaiting, pawl.StatusWaiting},
		"gate answered":      {payloads{engine, opened("g", "a"), stopped, answered("g", pawl.Approved)}, pawl.StatusActive, pawl.StatusInterrupted},
		"gate beside work":   {payloads{engine, opened("g", "a"), started(ref("b", 1))}, pawl.StatusActive, pawl.StatusInterrupted},
		"left beside a gate": {payloads{engine, opened("g", "a"), started(ref("b", 1)), stopped}, pawl.StatusActive, pawl.StatusInterrupted},
		"blocked":            {payloads{engine, blocked, stopped}, pawl.StatusWaiting, pawl.StatusWaiting},
		"unblocked":          {payloads{engine, blocked, stopped, pawl.BlockerCleared{ID: 1}}, pawl.StatusActive, pawl.StatusInterrupted},
		"in review":          {payloads{engine, inReview, stopped}, pawl.StatusWaiting, pawl.StatusWaiting},
		"paused":             {payloads{engine, pawl.RunPaused{}}, pawl.StatusPaused, pawl.StatusPaused},
		"stopped by word":    {payloads{engine, pawl.RunStopped{}}, pawl.StatusPaused, pawl.StatusPaused},
		"paused at a gate":   {payloads{engine, opened("g", "a"), pawl.RunPaused{}}, pawl.StatusPaused, pawl.StatusPaused},
		"completed":          {payloads{engine, pawl.RunEnded{Status: pawl.StatusCompleted}}, pawl.StatusCompleted, pawl.StatusCompleted},
		"failed at a gate":   {payloads{opened("g", "a"), pawl.RunEnded{Status: pawl.StatusFailed}}, pawl.StatusFailed, pawl.StatusFailed},
	} {
		s := fold(t, c.events...)
		if with, without := s.StatusNow(true), s.StatusNow(false); with != c.with || without != c.without {
			t.Errorf("%s: %s with an engine and %s without, want %s and %s", name, with, without, c.with, c.without)
		}
	}
}

// TestStatusIn: what waits for a person in one step of a run that nobody has run yet does not stand for the run, while another step
// can start.
func TestStatusIn(t *testing.T) {
	t.Parallel()
	plan, err := planfile.Read("p", []byte("name: p\nsteps:\n  - {id: a, run: x, needs: []}\n  - {id: b, run: x, needs: []}\n  - {id: c, run: x, needs: [b]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	blocked := func(step pawl.StepID) pawl.Payload {
		return pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "x", Step: step}}
	}
	halting := pawl.GateOpened{Gate: pawl.Gate{ID: "g", Type: pawl.HumanVerify, Purpose: pawl.ForRebuilt, Ask: "?"}}
	for name, c := range map[string]struct {
		events []pawl.Payload
		want   pawl.RunStatus
	}{
		"one step is blocked":     {[]pawl.Payload{blocked("b")}, pawl.StatusInterrupted},
		"one step asks":           {[]pawl.Payload{opened("g", "b")}, pawl.StatusInterrupted},
		"all that may start wait": {[]pawl.Payload{blocked("a"), blocked("b")}, pawl.StatusWaiting},
		"the run is blocked":      {[]pawl.Payload{blocked("")}, pawl.StatusWaiting},
		"nothing may start":       {[]pawl.Payload{halting}, pawl.StatusWaiting},
		"an engine has waited":    {[]pawl.Payload{pawl.EngineStarted{Epoch: 1}, blocked("b"), pawl.EngineStopped{}}, pawl.StatusWaiting},
	} {
		s := fold(t, c.events...)
		if got := s.StatusIn(plan, false); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

const positionPlan = `
name: p
phases:
  - name: Plan
    steps: [{id: a, run: x}]
  - name: Build
    steps:
      - {id: b, name: Bee, run: x, needs: []}
      - {id: c, run: x, foreach: {items: [p, q, r, s]}, needs: []}
      - {id: d, run: x, needs: [b, c]}
`

func TestPositionAndPercent(t *testing.T) {
	t.Parallel()
	plan, err := planfile.Read("plan.yaml", []byte(positionPlan))
	if err != nil {
		t.Fatal(err)
	}
	type payloads = []pawl.Payload
	aDone := payloads{pawl.StepDone{Step: "a"}}
	bDone := append(slices.Clone(aDone), pawl.StepSkipped{Step: "b"})
	cItems := append(slices.Clone(bDone), listed("c", 0, 4))
	oneItem := append(slices.Clone(cItems), started(itemRef("c", 2, 1)), itemDone(itemRef("c", 2, 1)))
	cDone := append(slices.Clone(bDone), pawl.StepDone{Step: "c"})
	at := func(phase int, name string, step int, id pawl.StepID, title string, wave, waves int) pawl.Position {
		return pawl.Position{
			Phase: phase, PhaseTotal: 2, PhaseName: name, Step: step, StepTotal: 4, StepID: id, StepName: title, Wave: wave, WaveTotal: waves,
		}
	}
	withItems := func(p pawl.Position, item, total int) pawl.Position {
		p.Item, p.ItemTotal = item, total
		return p
	}
	complete := at(2, "Build", 4, "d", "d", 0, 0)
	complete.Complete = true
	for name, c := range map[string]struct {
		events  payloads
		want    pawl.Position
		percent int
	}{
		"nothing":        {nil, at(1, "Plan", 1, "a", "a", 1, 1), 0},
		"running":        {payloads{started(ref("a", 1))}, at(1, "Plan", 1, "a", "a", 1, 1), 0},
		"failed":         {payloads{pawl.StepFailed{Step: "a"}}, at(1, "Plan", 1, "a", "a", 1, 1), 0},
		"in review":      {payloads{pawl.StepDone{Step: "a", Review: map[string]int{"x": 1}}}, at(1, "Plan", 1, "a", "a", 1, 1), 0},
		"one done":       {aDone, at(2, "Build", 2, "b", "Bee", 1, 2), 25},
		"one skipped":    {bDone, at(2, "Build", 3, "c", "c", 1, 2), 50},
		"out of order":   {append(slices.Clone(aDone), pawl.StepDone{Step: "c"}), at(2, "Build", 2, "b", "Bee", 1, 2), 50},
		"items listed":   {cItems, withItems(at(2, "Build", 3, "c", "c", 1, 2), 1, 4), 50},
		"one item":       {oneItem, withItems(at(2, "Build", 3, "c", "c", 1, 2), 2, 4), 56},
		"an empty list":  {append(slices.Clone(bDone), listed("c", 0, 0)), at(2, "Build", 3, "c", "c", 1, 2), 50},
		"last wave":      {cDone, at(2, "Build", 4, "d", "d", 2, 2), 75},
		"all":            {append(slices.Clone(cDone), pawl.StepDone{Step: "d"}), complete, 100},
		"not in a plan":  {payloads{pawl.StepDone{Step: "zzz"}}, at(1, "Plan", 1, "a", "a", 1, 1), 0},
		"reopened again": {append(slices.Clone(aDone), pawl.StepReopened{Step: "a"}), at(1, "Plan", 1, "a", "a", 1, 1), 0},
	} {
		s := fold(t, c.events...)
		if diff := cmp.Diff(c.want, s.Position(plan)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if got := s.Percent(plan); got != c.percent {
			t.Errorf("%s: %d%%, want %d%%", name, got, c.percent)
		}
	}
}

// TestPercentIsExact: a third three times is a hundred, and never more is shown than is done.
func TestPercentIsExact(t *testing.T) {
	t.Parallel()
	plan := &pawl.Plan{Phases: []pawl.Phase{{Steps: []pawl.Step{{ID: "f"}}}}}
	for total := 1; total <= 200; total++ {
		s := fold(t, listed("f", 0, total))
		for i := range total {
			if got, want := s.Percent(plan), 100*i/total; got != want {
				t.Fatalf("%d of %d items: %d%%, want %d%%", i, total, got, want)
			}
			applyAll(t, s, started(itemRef("f", i, 1)), itemDone(itemRef("f", i, 1)))
		}
	}
}

func TestPositionWithoutPlan(t *testing.T) {
	t.Parallel()
	s := fold(t, started(ref("a", 1)))
	if pos := s.Position(&pawl.Plan{}); pos.Complete || s.Percent(&pawl.Plan{}) != 0 {
		t.Errorf("at work: %+v", pos)
	}
	if pos := applyAll(t, s, pawl.RunEnded{Status: pawl.StatusCompleted}).Position(&pawl.Plan{}); !pos.Complete || s.Percent(&pawl.Plan{}) != 100 {
		t.Errorf("completed: %+v, %d%%", pos, s.Percent(&pawl.Plan{}))
	}
}

func TestLiveAndOpen(t *testing.T) {
	t.Parallel()
	s := fold(t, listed("b", 0, 12),
		started(itemRef("b", 11, 1)), started(itemRef("b", 2, 1)), started(ref("c", 1)), started(ref("a", 1)),
		pawl.StepFailed{Step: "b"}, // its items run on
		opened("g2", ""), opened("g1", ""), answered("g2", pawl.Approved), opened("g3", ""),
		pawl.BlockerOpened{}, pawl.BlockerOpened{}, pawl.BlockerCleared{ID: 1},
	)
	var live []string
	for _, a := range s.Live() {
		live = append(live, a.Name())
	}
	if diff := cmp.Diff([]string{"a", "b/i2", "b/i11", "c"}, live); diff != "" {
		t.Errorf("live: -want +got\n%s", diff)
	}
	if g := s.OpenGates(); len(g) != 2 || g[0].ID != "g1" || g[1].ID != "g3" {
		t.Errorf("open gates: %+v", g)
	}
	if b := s.OpenBlockers(); len(b) != 1 || b[0].ID != 2 {
		t.Errorf("open blockers: %+v", b)
	}
	var none *pawl.StepState
	if none.Live() != nil || none.Finished() {
		t.Error("a step that nothing happened to lives")
	}
}

func TestGives(t *testing.T) {
	t.Parallel()
	outputs, key := pawl.Outputs{"o": {SHA256: "ab"}}, pawl.Key{Definition: "d"}
	for name, c := range map[string]struct {
		st   *pawl.StepState
		want string
	}{
		"nothing":    {nil, ""},
		"skipped":    {&pawl.StepState{Status: pawl.Skipped, Outputs: outputs, Digest: "x"}, ""},
		"items":      {&pawl.StepState{Status: pawl.Done, Outputs: outputs, Digest: "x"}, "x"},
		"outputs":    {&pawl.StepState{Status: pawl.Done, Outputs: outputs, Key: key}, outputs.Hash()},
		"no outputs": {&pawl.StepState{Status: pawl.Done, Key: key}, key.Hash()},
	} {
		if got := c.st.Gives(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
