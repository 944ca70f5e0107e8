package rewind

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/planfile"
	"pawl/internal/resume"
)

// rewound is what a journal says that begins with a plan.
func rewound(t *testing.T, to, since pawl.Seq, payloads ...pawl.Payload) *Rewind {
	t.Helper()
	w := New(to, since)
	for i, p := range append([]pawl.Payload{pawl.RunPlanned{File: "plan.yaml"}}, payloads...) {
		event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			t.Fatal(err)
		}
		event.Seq = pawl.Seq(i + 1)
		w.Apply(event)
	}
	return w
}

// undoPlan has steps of every sort.
func undoPlan(pawl.RunPlanned) (*pawl.Plan, error) {
	return planfile.Read("plan.yaml", []byte(`name: p
steps:
  - {id: a, run: x, undo: undo a}
  - {id: plain, run: x}
  - {id: once, run: x, undo: undo once, idempotent: false}
  - {id: list, run: x, undo: undo item, foreach: {items: [x, y]}}
`))
}

func ref(step pawl.StepID, attempt int) pawl.AttemptRef {
	return pawl.AttemptRef{Step: step, Attempt: attempt, Token: pawl.Token(fmt.Sprint(step, attempt))}
}

func done(step pawl.StepID, attempt int) pawl.Payload {
	undo := map[pawl.StepID]string{"a": "undo a", "once": "undo once", "list": "undo item"}[step]
	return pawl.StepDone{Step: step, Attempt: attempt, Undo: undo}
}

func item(index int) pawl.Payload {
	id := []pawl.ItemID{"x", "y"}[index]
	return pawl.ItemDone{AttemptRef: pawl.AttemptRef{Step: "list", Item: id, Index: index, Attempt: 1}}
}

func TestDue(t *testing.T) {
	t.Parallel()
	began := pawl.RollbackStarted{}
	undone := func(step pawl.StepID, of pawl.Seq) pawl.Payload {
		return pawl.UndoDone{UndoRef: pawl.UndoRef{AttemptRef: ref(step, 1), Of: of}}
	}
	for name, c := range map[string]struct {
		events   []pawl.Payload
		to       pawl.Seq
		since    pawl.Seq
		unproven []history.Redo
		want     string // name@seq:undo, and what it is over by
	}{
		"nothing after":             {events: []pawl.Payload{done("a", 1)}, to: 2, since: 2, want: ""},
		"the checkpoint's own step": {events: []pawl.Payload{done("a", 1), done("plain", 1)}, to: 2, since: 1, want: "plain@3:"},
		"newest first":              {events: []pawl.Payload{done("a", 1), done("plain", 1), done("once", 1)}, want: "once@4:undo once plain@3: a@2:undo a"},
		"items, not their step": {
			events: []pawl.Payload{pawl.StepListed{Step: "list", Items: []string{"x", "y"}}, item(0), item(1), done("list", 0)},
			want:   "list/y@4:undo item list/x@3:undo item",
		},
		"done again":                {events: []pawl.Payload{done("a", 1), done("a", 2)}, want: "a@3:undo a"},
		"done again, and it counts": {events: []pawl.Payload{done("once", 1), done("once", 2)}, want: "once@3:undo once once@2:undo once"},
		"undone":                    {events: []pawl.Payload{done("a", 1), began, undone("a", 2)}, want: "a@2:undo a=done"},
		"undone and done again":     {events: []pawl.Payload{done("a", 1), began, undone("a", 2), pawl.RollbackEnded{}, done("a", 2)}, want: "a@6:undo a"},
		"finished while the snapshot was taken, and in it":     {events: []pawl.Payload{done("a", 1), done("plain", 1)}, to: 3, since: 1, want: ""},
		"finished while the snapshot was taken, and not in it": {events: []pawl.Payload{done("a", 1), done("plain", 1)}, to: 3, since: 1, unproven: []history.Redo{{Step: "a"}}, want: "a@2:undo a"},
	} {
		w := rewound(t, c.to, c.since, c.events...)
		due, err := w.Due(c.unproven, undoPlan)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range due {
			text := fmt.Sprintf("%s@%d:%s", f.Name(), f.Seq, f.Undo)
			if f.Resolved != "" {
				text += "=" + f.Resolved
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// TestUndoStep walks every case of what is known of an undo.
func TestUndoStep(t *testing.T) {
	t.Parallel()
	answered := func(option string) *pawl.GateState {
		return &pawl.GateState{Answer: &pawl.GateAnswered{Answer: pawl.Chosen, Option: option}}
	}
	last := func(o pawl.Outcome) *pawl.UndoFailed { return &pawl.UndoFailed{Outcome: o} }
	for name, c := range map[string]struct {
		f      Work
		unsafe bool
		gate   *pawl.GateState
		want   Action
	}{
		"nothing to undo":            {f: Work{}, want: Resolved},
		"undone":                     {f: Work{Undo: "u", Resolved: "done"}, want: Resolved},
		"not tried":                  {f: Work{Undo: "u"}, unsafe: true, want: Run},
		"begun, no word of its end":  {f: Work{Undo: "u", Running: &pawl.UndoStarted{}}, want: Wait},
		"never began":                {f: Work{Undo: "u", Last: last(pawl.NotStarted), lostInARow: 1}, unsafe: true, want: Run},
		"never began, again":         {f: Work{Undo: "u", Last: last(pawl.NotStarted), lostInARow: resume.MaxLosses}, want: Ask},
		"lost":                       {f: Work{Undo: "u", Last: last(pawl.Lost), lostInARow: 1}, want: Run},
		"lost too often":             {f: Work{Undo: "u", Last: last(pawl.Lost), lostInARow: resume.MaxLosses}, want: Ask},
		"lost, and must not repeat":  {f: Work{Undo: "u", Last: last(pawl.Lost), lostInARow: 1}, unsafe: true, want: Ask},
		"lost, a person says again":  {f: Work{Undo: "u", Last: last(pawl.Lost), lostInARow: 1}, unsafe: true, gate: answered(retryUndo), want: Run},
		"failed":                     {f: Work{Undo: "u", Last: last(pawl.Failed)}, want: Ask},
		"failed, asked":              {f: Work{Undo: "u", Last: last(pawl.Failed)}, gate: &pawl.GateState{}, want: Ask},
		"failed, expired":            {f: Work{Undo: "u", Last: last(pawl.Failed)}, gate: &pawl.GateState{Expired: true}, want: Ask},
		"failed, again":              {f: Work{Undo: "u", Last: last(pawl.Failed)}, gate: answered(retryUndo), want: Run},
		"failed, skip":               {f: Work{Undo: "u", Last: last(pawl.Failed)}, gate: answered(skipUndo), want: Skip},
		"failed, stop":               {f: Work{Undo: "u", Last: last(pawl.Failed)}, gate: answered(stopUndo), want: GiveUp},
		"failed, rejected by a word": {f: Work{Undo: "u", Last: last(pawl.Failed)}, gate: &pawl.GateState{Answer: &pawl.GateAnswered{Answer: pawl.Rejected}}, want: GiveUp},
	} {
		if got := c.f.Next(!c.unsafe, c.gate); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The result of an undo counts only for its own rollback, unless the result is unknown.
func TestEarlierRollbacks(t *testing.T) {
	t.Parallel()
	try := pawl.UndoRef{AttemptRef: ref("a", 1), Of: 2}
	began := []pawl.Payload{done("a", 1), pawl.RollbackStarted{}, pawl.UndoStarted{UndoRef: try}}
	for outcome, want := range map[pawl.Outcome]Action{pawl.Failed: Run, pawl.Lost: Ask} {
		w := rewound(t, 0, 0, append(slices.Clone(began), pawl.UndoFailed{UndoRef: try, Outcome: outcome},
			pawl.GateOpened{Gate: pawl.Gate{ID: "g", Step: "a", Purpose: pawl.ForUndo}}, pawl.RollbackEnded{Stopped: "x"}, pawl.RollbackStarted{})...)
		f := w.work[0]
		if f.Undo = "u"; f.Next(false, nil) != want || len(w.Asked) != 0 || w.Tries["a"] != 1 {
			t.Errorf("%s: %s, asked %v, tries %v", outcome, f.Next(false, nil), w.Asked, w.Tries)
		}
	}
}
