package engine_test

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

// emit is a step that reports the lines of a file as its events.
const emit = `cat "$PAWL_PROJECT/lines" >> $PAWL_EVENTS`

// What a step says in its events file is journaled, in its order, each line once.
func TestEventsOfAStep(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("lines", strings.Join([]string{
		`{"progress":{"text":"half","done":1,"total":2,"usage":{"usd":0.5}}}`,
		`{"item":{"item":"one","title":"The first","status":"done"}}`,
		`{"learn":{"kind":"gotcha","text":"Keep it simple."}}`,
		`{"decide":{"question":"Which?","choice":"this","why":"it is better"}}`,
		`{"checkpoint":{"kind":"manual","why":"before the hard part"}}`,
		``,
		`{"conversation":{"agent":"claude","id":"c-1"}}`,
		`{"progress":{"text":"without an end"}}`,
	}, "\n"))
	p.Check(p.Do("name: demo\nsteps: [{id: a, run: '" + emit + `; echo "[STAGE:begin:id=S01_load] Load"; echo "[no marker"'}]` + "\n"))
	p.WantStory("step.progress:a item.named:a/one memory.learned decision.made:a checkpoint.saved:a attempt.conversed:a step.progress:a step.progress:a",
		"step.progress", "item.named", "memory.learned", "decision.made", "checkpoint.saved", "attempt.conversed")
	said := enginetest.Payloads[pawl.Progressed](p)
	if said[1].Marker != nil { // a line without an end is read when the step has ended, perhaps after the marker
		said[1], said[2] = said[2], said[1]
	}
	if said[0].Text != "half" || said[0].Usage.USD != 0.5 || said[1].Text != "without an end" || said[2].Marker == nil {
		t.Errorf("progress %+v", said)
	}
	if saved := enginetest.Payloads[pawl.CheckpointSaved](p); saved[0].Checkpoint.Kind != pawl.CheckpointManual || saved[0].Checkpoint.Snapshot.None != "" {
		t.Errorf("checkpoint %+v", saved[0])
	}
	if !strings.Contains(p.Text(".pawl/MEMORY.md"), "Keep it simple.") {
		t.Error("nothing was learned")
	}
	if st := p.Step("a"); st.Named["one"].Status != pawl.ItemIsDone {
		t.Errorf("named items %+v", st.Named)
	}
}

// An unreadable line is recorded as progress with that reason. The step continues.
func TestMalformedEvents(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("lines", strings.Join([]string{
		`{"progress":`, `{"unknown":{}}`, `{"progress":{"text":"a"},"block":{"text":"b"}}`, "\x00\xff",
		`{"progress":{"text":"` + strings.Repeat("x", 300<<10) + `"}}`, `{"progress":{"text":"good"}}`,
	}, "\n")+"\n")
	p.Check(p.Do("name: demo\nsteps: [{id: a, run: '" + emit + "'}]\n"))
	said := enginetest.Payloads[pawl.Progressed](p)
	for i, s := range said {
		if unreadable := strings.HasPrefix(s.Text, "unreadable line in events.jsonl"); unreadable != (i < len(said)-1) {
			t.Errorf("line %d: %.100s", i, s.Text)
		}
	}
	if len(said) != 6 || said[5].Text != "good" {
		t.Errorf("%d lines were read", len(said))
	}
}

// A step may ask, or be blocked, while it works; it is not held up.
func TestStepAsksAndBlocks(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("lines", `{"ask":{"type":"decision","ask":"Which?","options":["a","b"]}}`+"\n"+`{"block":{"text":"no key"}}`+"\n")
	err := p.Do("name: demo\nsteps: [{id: a, run: '" + emit + "'}, {id: b, run: touch b.txt}]\n")
	p.Check(err)
	p.WantStatus(pawl.Done, "a")
	if g := enginetest.Payloads[pawl.GateWithdrawn](p); len(g) != 1 || g[0].Why != "step a ended" {
		t.Errorf("withdrawn gates %+v: the step is done, and needs no answer", g)
	}
}

// What a step says of itself in its result.
func TestResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result string
		kind   pawl.Kind
		want   string
		status pawl.StepStatus
	}{
		"done":       {`{"status":"done","summary":"All good"}`, "", "", pawl.Done},
		"failed":     {`{"status":"failed","summary":"no way"}`, pawl.KindRunFailed, "no way", pawl.FailedForGood},
		"blocked":    {`{"status":"blocked","blockers":["no key"]}`, pawl.KindAtGate, "run is blocked: no key", pawl.Pending},
		"waiting":    {`{"status":"waiting","gate":{"type":"human_action","ask":"Plug it in"}}`, pawl.KindAtGate, "Plug it in", pawl.AwaitsGate},
		"wordless":   {`{"status":"waiting"}`, pawl.KindAtGate, "does not say for what", pawl.AwaitsGate},
		"no status":  {`{}`, pawl.KindRunFailed, "status must be", pawl.FailedForGood},
		"not JSON":   {`{"status":`, pawl.KindRunFailed, "result.json", pawl.FailedForGood},
		"other type": {`{"status":1}`, pawl.KindRunFailed, "result.json", pawl.FailedForGood},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.Write("result", c.result)
			err := p.Do("name: demo\nsteps: [{id: a, run: 'cp result $PAWL_RESULT'}]\n")
			if c.kind == "" {
				p.Check(err)
			} else {
				p.WantKind(err, c.kind, c.want)
			}
			if st := p.Step("a"); st.Status != c.status {
				t.Errorf("step is %s, want %s", st.Status, c.status)
			}
		})
	}
}

// What a result has besides its status is journaled too.
func TestResultsExtras(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("result", `{"status":"done","summary":"Two of two","usage":{"usd":1.25,"tokens":7},
		"items":[{"item":"one","status":"done"}],"memory":[{"kind":"gotcha","text":"Mind the gap."}]}`)
	p.Check(p.Do("name: demo\nsteps: [{id: a, run: 'cp result $PAWL_RESULT'}]\n"))
	d := enginetest.Payloads[pawl.StepDone](p)[0]
	if d.Summary != "Two of two" || d.Usage.USD != 1.25 || p.State().Spent.Usage.Tokens != 7 || p.Count("item.named") != 1 {
		t.Errorf("done %+v", d)
	}
	if !strings.Contains(p.Text(".pawl/MEMORY.md"), "Mind the gap.") {
		t.Error("nothing was learned")
	}
}

// A waiting step runs again with the answer in its environment.
func TestStepWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("waiting", `{"status":"waiting"}`)
	p.Write("lines", `{"ask":{"type":"decision","ask":"Which?","options":["a","b"]}}`+"\n")
	plan := "name: demo\nsteps: [{id: a, run: 'test -n \"$PAWL_RESUME\" && echo \"$PAWL_RESUME\" > told.txt || { " + emit + "; cp waiting $PAWL_RESULT; }'}]\n"
	p.WantKind(p.Do(plan), pawl.KindAtGate, "Which?")
	p.Act(runs.Choose(p.Gate().ID, "b", "it is better"))
	p.Check(p.GoOn())
	if told := p.Text("told.txt"); !contains(told, `"attempt":2`, `"option":"b"`, `"why":"it is better"`) {
		t.Errorf("the step is told %s", told)
	}
}

// An attempt gets the end of the previous attempt, its outputs, and the finished items.
func TestResumeTellsOfTheLastAttempt(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("lines", `{"progress":{"text":"half"}}`+"\n"+`{"item":{"item":"one","status":"done"}}`+"\n"+`{"item":{"item":"gone","status":"done","commit":"0123456789abcdef0123456789abcdef01234567"}}`+"\n")
	p.Check(p.Do(`name: demo
steps:
  - id: a
    run: 'echo part > a.txt; test -n "$PAWL_RESUME" && echo "$PAWL_RESUME" > told.txt || ` + emit + `'
    outputs: [a.txt]
    accept: {told: test -e told.txt}
    retry: {attempts: 2, backoff: 1ms}
`))
	if told := p.Text("told.txt"); !contains(told, `"attempt":2`, `"items_done":["one"]`, `"text":"half"`, `"partial":["a.txt"]`, `"unmet":["told"]`, `"verdict":"continue"`) || strings.Contains(told, "gone") {
		t.Errorf("the step is told %s", told)
	}
}

// Each attempt at an agent's step begins with a checkpoint, and knows the conversation of the one before.
func TestAgentsStep(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(`name: demo
steps:
  - id: a
    goal: All is well
    agent: {use: command, prompt: Do it, command: 'cat > prompt.txt; touch try-$PAWL_ATTEMPT'}
    accept: {twice: test -e try-2}
    retry: {attempts: 2, backoff: 1ms}
`))
	if !contains(p.Text("prompt.txt"), "Do it", "All is well") {
		t.Errorf("prompt %q", p.Text("prompt.txt"))
	}
	saved := enginetest.Payloads[pawl.CheckpointSaved](p)
	if len(saved) != 2 || saved[0].Checkpoint.Why != "before attempt 1 of a" || saved[1].Checkpoint.Why != "before attempt 2 of a" {
		t.Errorf("checkpoints %+v", saved)
	}
}
