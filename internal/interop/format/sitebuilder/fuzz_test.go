package sitebuilder_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/sitebuilder"
	"pawl/internal/planfile"
)

// FuzzRead reads folders of any content, given as txtar. Nothing may panic, what is read is plain data of which a plan can
// be made, and no path that it names leads out of the project.
func FuzzRead(f *testing.F) {
	addFixture(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		files := unpacked(data)
		env := format.Env{Now: now, Exists: func(name string) bool {
			if clean, err := format.Inside(name); err != nil || clean != name {
				t.Fatalf("%q leads out of the project", name)
			}
			return len(name)%2 == 0
		}}
		r, findings := sitebuilder.Format().Read(files, env)
		if _, err := json.Marshal([]any{r, findings, sitebuilder.Format().Verify(files, env)}); err != nil {
			t.Fatal(err)
		}
		if plan := format.PlanOf(r, "claude"); len(plan.Steps()) > 0 {
			for i, step := range plan.Steps() {
				s := r.Phases[0].Steps[i]
				step.Accept = s.Checks(sitebuilder.System, "a folder", false)
				for name := range step.Accept {
					sitebuilder.Format().CheckCriterion(files, env, s.ID, name)
				}
				sitebuilder.Format().CheckCriterion(files, env, s.ID, "")
			}
			if _, err := planfile.Write(plan); err != nil && !strings.Contains(err.Error(), "too large") {
				t.Fatal(err)
			}
		}
	})
}

// FuzzWrite writes a run over files of any content: written again nothing differs, and what was JSON still is.
func FuzzWrite(f *testing.F) {
	addFixture(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		files := unpacked(data)
		s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: migration, steps: [{id: T060, run: x, needs: []}, {id: T061, run: x, needs: [], accept: {criteria: pawl verify --as sitebuilder --step T061}}, {id: T040, run: x, needs: []}]}]\n"), files)
		s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)}, pawl.ItemNamed{Step: "T060", Item: "leaflet-20", Status: pawl.ItemIsDone},
			pawl.AttemptStarted{AttemptRef: ref("T061", 1)}, s.done("T061", 1),
			pawl.AttemptStarted{AttemptRef: ref("T040", 1)}, pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "x", Step: "T040", Opened: now.Add(time.Minute)}})
		view := s.view()
		view.Files = func(pawl.StepID) format.StepFiles {
			return format.StepFiles{Created: []string{"a.md"}, Modified: []string{"b.md"}}
		}
		view.Partial = func(pawl.StepID) *format.Partial { return &format.Partial{Created: []string{"a.md.tmp"}} }
		for id, b := range sitebuilder.Format().ListedBlockers(files, view) {
			view.Removed = map[int]bool{id: !b.Listed}
		}
		made := sitebuilder.Format().Write(files, view)
		for _, m := range made {
			if strings.HasSuffix(m.Path, ".json") && !json.Valid([]byte(strings.TrimPrefix(string(m.Data), "\uFEFF"))) {
				t.Fatalf("%s is no JSON:\n%s", m.Path, m.Data)
			}
		}
		if again := sitebuilder.Format().Write(formattest.With(files, made), view); len(again) > 0 {
			t.Fatalf("written again, %s differs:\n%s\n%s", again[0].Path, formattest.With(files, made).Find(again[0].Path).Data, again[0].Data)
		}
	})
}

// unpacked returns the files of an archive that the format reads.
func unpacked(data []byte) format.Files {
	return formattest.Wanted(sitebuilder.Format(), formattest.Unpack(data))
}

func addFixture(f *testing.F) {
	data, err := os.ReadFile("testdata/team.txtar")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, name := range []string{"messages/human-escalations", "messages/outbox-migration", "messages/inbox-supervisor", "messages/inbox-orchestrator", "progress/STATUS"} {
		for _, text := range []string{"```\n", "x\n~~~", "## ACTIVE ESCALATIONS\n```\n## PENDING MESSAGES", "| a |\n|---|", "## PENDING MESSAGES"} {
			f.Add([]byte("-- " + base + name + ".md --\n" + text))
		}
	}
	for _, file := range team(f) {
		f.Add(txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: file.Path, Data: file.Data}}}))
	}
}
