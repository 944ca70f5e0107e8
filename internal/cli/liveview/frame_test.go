package liveview

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// viewOf returns a view of a run with a step that runs, a foreach step with two running items, and a step that waits.
func viewOf(t *testing.T) *View {
	t.Helper()
	l := New(io.Discard, io.Discard, &project.Project{Root: t.TempDir()}, "")
	l.screen = &screen{out: io.Discard, size: func() (int, int) { return 80, 24 }}
	l.plan = &pawl.Plan{Phases: []pawl.Phase{{Steps: []pawl.Step{{ID: "draft"}, {ID: "each"}, {ID: "look"}, {ID: "last"}}}}}
	third := 30.0
	live := func(step pawl.StepID, item pawl.ItemID, index int, seconds time.Duration, p *pawl.Progress) *pawl.AttemptState {
		ref := pawl.AttemptRef{Step: step, Item: item, Index: index, Attempt: 1, Token: pawl.Token(string(step) + string(item))}
		return &pawl.AttemptState{AttemptRef: ref, Started: noon.Add(-seconds * time.Second), Progress: p}
	}
	l.state = &pawl.State{Name: "demo", Status: pawl.StatusActive, Created: noon.Add(-90 * time.Second), Steps: map[pawl.StepID]*pawl.StepState{
		"draft": {Status: pawl.Running, Retries: pawl.Retries{Live: live("draft", "", 0, 30, &pawl.Progress{Text: "third\tpart", Done: &third, Time: noon})}},
		"each": {Status: pawl.Running, Started: noon.Add(-time.Hour), Items: &pawl.ItemsState{
			Total: 10, Count: 5, Lists: []pawl.Seq{4}, Failed: map[int]pawl.AttemptEnded{9: {}},
			Retries: map[int]*pawl.Retries{0: {Live: live("each", "a", 0, 5, nil)}, 1: {Live: live("each", pawl.ItemIDOf("b and c"), 1, 3, nil)}},
		}},
		"look": {Status: pawl.AwaitsGate},
	}}
	l.names = runs.NewItemNames(l.state, func(*pawl.ItemsState) ([]string, error) { return []string{"a", "b and c"}, nil })
	l.paces["each"] = &pace{begun: noon.Add(-20 * time.Second), base: 1, last: noon.Add(-2 * time.Second)}
	for _, a := range l.state.Live() {
		l.outputs.live = append(l.outputs.live, &attemptOutput{ref: a.AttemptRef, lines: []string{"one", "two", "three of " + string(a.Step)}})
	}
	l.outputs.mode = OutputFold
	return l
}

func text(lines []layout.Line, width int) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(line.Render(false, width), " ") + "\n")
	}
	return b.String()
}

// TestFrame: each line has one name, a status, the elapsed time, and an estimate where finished work allows one.
func TestFrame(t *testing.T) {
	t.Parallel()
	l := viewOf(t)
	for _, c := range []struct {
		width, height int
		want          string
	}{
		{100, 24, `
draft                running  30s     [██████░░░░░░░░░░░░░░] third    part, ETA 1m10s
    | three of draft
each                 running  20s     [██████████░░░░░░░░░░] 5/10, 1 failed, 13.3/min, ETA 16s
  a                  running  5s
    | three of each
  b and c            running  3s
    | three of each
look                 waiting          for an answer: pawl gates
run demo             active   1m30s   [██░░░░░░░░░░░░░░░░░░] 12%, 0 of 4 steps
`}, {60, 8, `
draft           running  30s     [███░░░░░░░] third    part, ETA 1m10s
each            running  20s     [█████░░░░░] 5/10, 1 failed, 13.3/min, ETA 16s
  a             running  5s
  b and c       running  3s
look            waiting          for an answer: pawl gates
run demo        active   1m30s   [█░░░░░░░░░] 12%, 0 of 4 steps
`}, {40, 7, `
draft      running  30s     third    part, ETA 1m10s
each       running  20s     5/10, 1 failed, 13.3/min, ETA 16s
  a        running  5s
  b and c  running  3s
look       waiting          for an answer: pawl gates
run demo   active   1m30s   12%, 0 of 4 steps
`}, {40, 6, `
draft      running  30s     third    part, ETA 1m10s
each       running  20s     5/10, 1 failed, 13.3/min, ETA 16s
look       waiting          for an answer: pawl gates
run demo   active   1m30s   12%, 0 of 4 steps
`}, {40, 3, `
draft      running  30s     third    part, ETA 1m10s
run demo   active   1m30s   12%, 0 of 4 steps
`},
	} {
		want := strings.TrimPrefix(c.want, "\n")
		if got := text(l.frameFor(noon, c.width, c.height), 0); got != want {
			t.Errorf("%dx%d:\n%s\nwant\n%s", c.width, c.height, got, want)
		}
	}
	// One attempt alone has more lines.
	delete(l.state.Steps, "each")
	if got := text(l.frameFor(noon, 100, 24), 0); !strings.Contains(got, "    | one\n    | two\n    | three of draft\n") {
		t.Error(got)
	}
}

// TestPace: there is no estimate without finished items, and none that is over.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pace
		count, total int
		want         string
	}{
		{pace{begun: noon.Add(-time.Minute)}, 0, 10, ""},
		{pace{begun: noon.Add(-time.Minute), base: 5, last: noon}, 5, 10, ""},
		{pace{begun: noon.Add(-time.Minute), last: noon}, 1, 10, ", 1.0/min, ETA 9m00s"},
		{pace{begun: noon.Add(-time.Minute), last: noon}, 10, 10, ""},
		{pace{begun: noon.Add(-time.Minute), last: noon.Add(-30 * time.Second)}, 9, 10, ", 18.0/min"},
		{pace{begun: noon.Add(-100 * time.Second), last: noon}, 400, 500, ", 4.0/s, ETA 25s"},
		{pace{begun: noon.Add(-10 * time.Hour), last: noon}, 5, 10, ", 0.5/h, ETA 10h00m"},
	} {
		if got := c.text(&pawl.ItemsState{Total: c.total, Count: c.count}, noon); got != c.want {
			t.Errorf("%+v, %d of %d: %q, want %q", c.pace, c.count, c.total, got, c.want)
		}
	}
}

// TestOutputs: lines come once and whole, also of files that grow in pieces, with carriage returns, colors and holes.
func TestOutputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string) {
		f, err := os.OpenFile(filepath.Join(dir, pawl.OutFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	live := []*pawl.AttemptState{{AttemptRef: pawl.AttemptRef{Step: "a", Token: "t"}}}
	var streamed []string
	follow := func(mode OutputMode) *outputs {
		o := newOutputs(mode, func(_ pawl.AttemptRef, text string) { streamed = append(streamed, text) })
		o.dirOf = func(pawl.AttemptRef) string { return dir }
		o.follow(live, false)
		return o
	}
	stream, fold := follow(OutputStream), follow(OutputFold)
	for _, c := range []struct{ written, folded string }{
		{"one\ntw", "one"},
		{"o\n\x00\x00\x1b[31mred\x1b[0m\n", "one two red"},
		{"10%\r20%\r", "two red 20%"},
		{"30%\r", "two red 30%"},
		{"100%\r\nnext\x1b[2J\n", "red 100% " + `next\u001b[2J`},
		{"last", "red 100% " + `next\u001b[2J`},
	} {
		write(c.written)
		stream.poll()
		fold.poll()
		if got := strings.Join(fold.last("t", 3), " "); got != c.folded {
			t.Errorf("after %q: folded %q, want %q", c.written, got, c.folded)
		}
	}
	stream.follow(nil, false)
	if got, want := strings.Join(streamed, "|"), `one|two|red|100%|next\u001b[2J|last`; got != want {
		t.Errorf("streamed %q, want %q", got, want)
	}
}
