package dotagent_test

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
)

// update has the goldens rewritten: go test ./internal/interop/format/dotagent -update.
var update = flag.Bool("update", false, "rewrite the golden files")

// now is when the tests read: the workflows of the fixtures were worked on the day before.
var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// unpacked returns the files of an archive that the format reads, and all that are there. A file "changed" says in its
// lines when files were written; without it nobody knows. Carriage returns and the byte order mark are written as ␍ and ⍰.
func unpacked(t testing.TB, a *txtar.Archive) (wanted format.Files, env format.Env) {
	t.Helper()
	there := map[string]bool{}
	changed := map[string]time.Time{}
	for _, f := range a.Files {
		if f.Name != "changed" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			changed[name] = at
		}
	}
	for _, f := range a.Files {
		there[f.Name] = true
		if format.Wanted(dotagent.Format().Patterns, f.Name) {
			data := strings.NewReplacer("␍", "\r", "⍰", "\ufeff").Replace(string(f.Data))
			wanted = append(wanted, format.File{Path: f.Name, Data: []byte(data), Changed: changed[f.Name]})
		}
	}
	return wanted, format.Env{Now: now, Exists: func(name string) bool { return there[name] }}
}

// told says in lines what was read.
func told(files format.Files, env format.Env) string {
	r, findings := dotagent.Format().Read(files, env)
	q := dotagent.Format().ResumePrompt(files, env)
	var b strings.Builder
	say := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-9s %s\n", what, strings.ReplaceAll(text, "\n", "\n          "))
		}
	}
	say("workflow", fmt.Sprintf("%s: %s (%s) %d%%, phase %d %s", r.Name, r.Status, r.Native, r.Percent, r.Position.Phase, r.Position.StepID))
	say("goal", r.Goal)
	say("resume", r.Resume)
	say("next", r.Next)
	say("question", q.Ask)
	if !r.Updated.IsZero() {
		say("activity", r.Updated.Format(time.RFC3339))
	}
	for _, p := range r.Phases {
		for _, s := range p.Steps {
			line := fmt.Sprintf("%-14s %-14s %s", p.Name, s.ID, s.Status)
			if s.Native != "" {
				line += " (" + s.Native + ")"
			}
			if s.Attempts > 0 {
				line += fmt.Sprintf(", try %d", s.Attempts)
			}
			if s.Needs != nil {
				line += fmt.Sprintf(", needs %v", s.Needs)
			}
			for _, c := range s.Claims {
				line += " " + c.Path
			}
			if s.Why != "" {
				line += "; " + s.Why
			}
			say("step", line)
		}
	}
	for _, g := range r.Gates {
		say("gate", fmt.Sprintf("%s %s %v %s %s", g.Step, g.Type, g.Options, g.Ask, g.Answer))
	}
	for _, m := range r.Memories {
		say("learned", string(m.Kind)+": "+m.Text)
	}
	for _, blocker := range r.Blockers {
		say("blocker", fmt.Sprintf("%s: %s; needs %s", blocker.Step, blocker.Text, blocker.Needs))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Facts)) {
		say("fact", name+" = "+r.Facts[name])
	}
	for _, f := range findings {
		say(string(f.Level), f.Where+": "+f.What)
	}
	return b.String()
}

// archives returns the fixtures, by name.
func archives(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	names, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no fixtures", err)
	}
	all := map[string]*txtar.Archive{}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = a
	}
	return all
}
