package engine

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
func rewound(t *testing.T, to, since pawl.Seq, payloads ...pawl.Payload) *rewind {
	t.Helper()
	w := newRewind(to, since)
	for i, p := range append([]pawl.Payload{pawl.RunPlanned{File: "plan.yaml"}}, payloads...) {
		event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			t.Fatal(err)
		}
		event.Seq = pawl.Seq(i + 1)
		w.apply(event)
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
		due, err := w.due(c.unproven, undoPlan)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range due {
			text := fmt.Sprintf("%s@%d:%s", f.Name(), f.seq, f.undo)
			if f.resolved != "" {
				text += "=" + f.resolved
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
		f      finishedWork
		unsafe bool
		gate   *pawl.GateState
		want   undoStep
	}{
		"nothing to undo":            {f: finishedWork{}, want: undoResolved},
		"undone":                     {f: finishedWork{undo: "u", resolved: "done"}, want: undoResolved},
		"not tried":                  {f: finishedWork{undo: "u"}, unsafe: true, want: undoRun},
		"begun, no word of its end":  {f: finishedWork{undo: "u", running: &pawl.UndoStarted{}}, want: undoWait},
		"never began":                {f: finishedWork{undo: "u", last: last(pawl.NotStarted), lostInARow: 1}, unsafe: true, want: undoRun},
		"never began, again":         {f: finishedWork{undo: "u", last: last(pawl.NotStarted), lostInARow: resume.MaxLosses}, want: undoAsk},
		"lost":                       {f: finishedWork{undo: "u", last: last(pawl.Lost), lostInARow: 1}, want: undoRun},
		"lost too often":             {f: finishedWork{undo: "u", last: last(pawl.Lost), lostInARow: resume.MaxLosses}, want: undoAsk},
		"lost, and must not repeat":  {f: finishedWork{undo: "u", last: last(pawl.Lost), lostInARow: 1}, unsafe: true, want: undoAsk},
		"lost, a person says again":  {f: finishedWork{undo: "u", last: last(pawl.Lost), lostInARow: 1}, unsafe: true, gate: answered(retryUndo), want: undoRun},
		"failed":                     {f: finishedWork{undo: "u", last: last(pawl.Failed)}, want: undoAsk},
		"failed, asked":              {f: finishedWork{undo: "u", last: last(pawl.Failed)}, gate: &pawl.GateState{}, want: undoAsk},
		"failed, expired":            {f: finishedWork{undo: "u", last: last(pawl.Failed)}, gate: &pawl.GateState{Expired: true}, want: undoAsk},
		"failed, again":              {f: finishedWork{undo: "u", last: last(pawl.Failed)}, gate: answered(retryUndo), want: undoRun},
		"failed, skip":               {f: finishedWork{undo: "u", last: last(pawl.Failed)}, gate: answered(skipUndo), want: undoSkip},
		"failed, stop":               {f: finishedWork{undo: "u", last: last(pawl.Failed)}, gate: answered(stopUndo), want: undoGiveUp},
		"failed, rejected by a word": {f: finishedWork{undo: "u", last: last(pawl.Failed)}, gate: &pawl.GateState{Answer: &pawl.GateAnswered{Answer: pawl.Rejected}}, want: undoGiveUp},
	} {
		if got := c.f.next(!c.unsafe, c.gate); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The result of an undo counts only for its own rollback, unless the result is unknown.
func TestEarlierRollbacks(t *testing.T) {
	t.Parallel()
	try := pawl.UndoRef{AttemptRef: ref("a", 1), Of: 2}
	began := []pawl.Payload{done("a", 1), pawl.RollbackStarted{}, pawl.UndoStarted{UndoRef: try}}
	for outcome, want := range map[pawl.Outcome]undoStep{pawl.Failed: undoRun, pawl.Lost: undoAsk} {
		w := rewound(t, 0, 0, append(slices.Clone(began), pawl.UndoFailed{UndoRef: try, Outcome: outcome},
			pawl.GateOpened{Gate: pawl.Gate{ID: "g", Step: "a", Purpose: pawl.ForUndo}}, pawl.RollbackEnded{Stopped: "x"}, pawl.RollbackStarted{})...)
		f := w.work[0]
		if f.undo = "u"; f.next(false, nil) != want || len(w.asked) != 0 || w.tries["a"] != 1 {
			t.Errorf("%s: %s, asked %v, tries %v", outcome, f.next(false, nil), w.asked, w.tries)
		}
	}
}
