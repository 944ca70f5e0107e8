package kerneltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/kernel"
)

func testReady(s *session) {
	t, c := s.t, s.config
	info := s.Info()
	if info.Language != c.Language.Name || info.Version == "" || info.Driver == "" || !json.Valid(info.LanguageInfo) || c.Can.Local != (info.PID != 0) {
		t.Errorf("info: %+v", info)
	}
	if d := s.Death(); d != (kernel.Death{}) {
		t.Errorf("death of a live kernel: %+v", d)
	}
	messages := s.ok(c.Language.Pass)
	kinds := []kernel.Kind{}
	for _, m := range messages {
		kinds = append(kinds, m.Kind)
		if m.Time.IsZero() || time.Since(m.Time) > time.Hour {
			t.Errorf("time %s", m.Time)
		}
	}
	busy, idle := slices.Index(kinds, kernel.KindBusy), slices.Index(kinds, kernel.KindIdle)
	if busy != 0 || idle < busy || !slices.Contains(kinds, kernel.KindReply) {
		t.Errorf("an empty cell has %v", kinds)
	}
}

func testStreams(s *session) {
	t, c := s.t, s.config
	messages := s.ok(c.Language.Both)
	if out, errs := text(messages, kernel.Stdout), text(messages, kernel.Stderr); out != "to stdout\n" || errs != "to stderr\n" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
	words := "Zeile mit ä, 漢字, 🐍, \" und \\"
	if got := text(s.ok(c.Language.Print(words)), kernel.Stdout); got != words+"\n" {
		t.Errorf("got %q", got)
	}
}

func testDescriptors(s *session) {
	t, c := s.t, s.config
	messages := s.ok(c.Language.Natives)
	if out, errs := text(messages, kernel.Stdout), text(messages, kernel.Stderr); out != "native out\nchild out\n" || errs != "native err\nchild err\n" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
}

func testOrder(s *session) {
	t, c := s.t, s.config
	for range 30 {
		if got := text(s.ok(c.Language.Ordered), kernel.Stdout); got != "one\ntwo\nthree\nfour\n" {
			t.Fatalf("got %q", got)
		}
	}
}

func testThreads(s *session) {
	t, c := s.t, s.config
	p := s.begin(c.Language.Thread)
	s.End(p.ended)
	second := s.ok(c.Language.Release)
	if got := text(second, kernel.Stdout); got != "" {
		t.Errorf("the second cell has %q", got)
	}
	s.Await("late", func(m kernel.Message) bool { return strings.HasSuffix(m.Text, "\n") && m.Cell == p.id })
	if got := text(s.Of(p.id), kernel.Stdout); got != "late\n" {
		t.Errorf("the first cell has %q", got)
	}
}

// testLines prints 50 MiB while emit is slow.
func testLines(s *session) {
	t, c := s.t, s.config
	s.slowDown()
	const lines, length = 50 << 10, 1 << 10
	got := text(s.ok(c.Language.Lines(lines, length)), kernel.Stdout)
	if len(got) != lines*length {
		t.Errorf("%d bytes; want %d", len(got), lines*length)
	}
	i := 0
	for line := range strings.Lines(got) {
		if want := fmt.Sprintf("%08d%s\n", i, strings.Repeat("x", length-9)); line != want {
			t.Fatalf("line %d is %q", i, line)
		}
		i++
	}
}

// testMany displays many numbers while emit is slow.
func testMany(s *session) {
	t, c := s.t, s.config
	s.slowDown()
	next := 0
	for _, m := range s.ok(c.Language.Many(c.Displays)) {
		if m.Kind != kernel.KindDisplay {
			continue
		}
		if got := plain(t, m); !strings.HasSuffix(got, fmt.Sprint(next)) {
			t.Fatalf("display %d is %q", next, got)
		}
		next++
	}
	if next != c.Displays {
		t.Errorf("%d displays; want %d", next, c.Displays)
	}
}

func testResult(s *session) {
	t, c := s.t, s.config
	s.ok(c.Language.Set(c.Language.Numbered, 41))
	if got := s.value(c.Language.Numbered); !strings.HasSuffix(got, "41") {
		t.Errorf("got %q", got)
	}
	for _, m := range s.ok(c.Language.Rich) {
		if m.Kind == kernel.KindResult || m.Kind == kernel.KindDisplay {
			var html string
			if err := json.Unmarshal(m.Data["text/html"], &html); err != nil || !strings.Contains(html, "<b>rich</b>") {
				t.Errorf("HTML %s, error %v", m.Data["text/html"], err)
			}
			plain(t, m)
			return
		}
	}
	t.Error("no result")
}

func testUpdates(s *session) {
	t, c := s.t, s.config
	type seen struct {
		kind kernel.Kind
		text string
		wait bool
	}
	var got []seen
	ids := map[string]bool{}
	for _, m := range s.ok(c.Language.Updates) {
		switch m.Kind {
		case kernel.KindDisplay, kernel.KindUpdate:
			got = append(got, seen{m.Kind, plain(t, m), m.Wait})
			ids[m.DisplayID] = true
		case kernel.KindClear:
			got = append(got, seen{m.Kind, "", m.Wait})
		}
	}
	want := []seen{{kernel.KindDisplay, "1", false}, {kernel.KindUpdate, "2", false}, {kernel.KindClear, "", true}, {kernel.KindDisplay, "3", false}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if len(ids) != 2 || !ids[""] { // the last display has none
		t.Errorf("ids %v", ids)
	}
}

func testError(s *session) {
	t, c := s.t, s.config
	ending, messages := s.execute(c.Language.Fail)
	if ending.Status != kernel.Failed || ending.Error == nil {
		t.Fatalf("ending %+v; messages %s", ending, describe(messages))
	}
	all := strings.Join(ending.Error.Traceback, "\n")
	if !strings.Contains(ending.Error.Value, "what went wrong") || !strings.Contains(all, "blame") {
		t.Errorf("error %+v", ending.Error)
	}
	if !slices.ContainsFunc(messages, func(m kernel.Message) bool {
		return m.Kind == kernel.KindError && m.Error != nil && m.Error.Value == ending.Error.Value
	}) {
		t.Errorf("no message with the error: %s", describe(messages))
	}
	s.ok(c.Language.Pass)
}

func testInput(s *session) {
	t, c := s.t, s.config
	ending, messages := s.execute(c.Language.Input)
	if ending.Status != kernel.Failed || ending.Error == nil || !strings.Contains(ending.Error.Value, "input") {
		t.Errorf("ending %+v, error %+v; messages %s", ending, ending.Error, describe(messages))
	}
	s.ok(c.Language.Pass)
}

// testSilent: pawl's own cells are not counted.
func testSilent(s *session) {
	t, c := s.t, s.config
	first, _ := s.execute(c.Language.Pass)
	silent, err := s.Execute(t.Context(), kernel.Cell{ID: "silent", Code: c.Language.Print("secretly"), Silent: true})
	if err != nil || silent.Status != kernel.OK {
		t.Fatalf("%+v, %v", silent, err)
	}
	if got := text(s.Of("silent"), kernel.Stdout); got != "secretly\n" {
		t.Errorf("a silent cell printed %q", got)
	}
	second, _ := s.execute(c.Language.Pass)
	if second.Count != first.Count+1 {
		t.Errorf("counts %d and %d", first.Count, second.Count)
	}
}
