package sitebuilder_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/sitebuilder"
)

// TestTheDocumentsBlocks: each is read without loss and without a fault, stays as it is where nothing happened, and changes
// only in what happened.
func TestTheDocumentsBlocks(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/document.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		base, ok := strings.CutSuffix(f.Name, ".json")
		if !ok {
			continue
		}
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			files := one("migration-T070.json", string(f.Data))
			r, findings := read(t, files)
			got := formattest.Step(t, r, "T070")
			if !strings.HasSuffix(base, string(got.Status)) || len(findings) > 0 {
				t.Errorf("%s: %s %+v", got.Status, got.Why, findings)
			}
			var v any
			if err := json.Unmarshal(f.Data, &v); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal([]any{got, r.Blockers})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range scalars(v) {
				if !strings.Contains(string(data), text) {
					t.Errorf("%q is lost in %s", text, data)
				}
			}
			s := imported(t, files)
			for _, f := range sitebuilder.Format().Write(s.files, s.view()) {
				t.Errorf("nothing happened, and %s is written:\n%s", f.Path, f.Data)
			}
			if got.Status == pawl.Done {
				return
			}
			for i := range s.State.Blockers {
				s.AddEach(pawl.BlockerCleared{ID: i + 1})
			}
			s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T070", 1)})
			s.write()
			for _, line := range strings.Split(string(f.Data), "\n") {
				kept := strings.Contains(string(s.files.Find(points+"migration-T070.json").Data), strings.TrimRight(line, ","))
				if changes := strings.Contains(line, "updated_at") || strings.Contains(line, "last_beat") || strings.Contains(base, "blocked"); !kept && !changes {
					t.Errorf("it was begun again, and this is gone: %s", line)
				}
			}
		})
	}
}

// TestTheDocumentsTable: it is filled in where it stands, and what it says of others stays.
func TestTheDocumentsTable(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/document.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := one("migration-T070.json", string(archive.Files[0].Data), "../STATUS.md", string(archive.Files[len(archive.Files)-1].Data))
	files[1].Path = base + "progress/STATUS.md"
	s := imported(t, files)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T070", 1)})
	s.write()
	s.has("progress/STATUS.md", "| migration | T070 | 65% | 2026-03-02T10:48:00Z | in_progress |", "| technical | T040 | 100% | 5 min ago | complete |", "| content | T001 | 0% | — | not started |")
}

// TestABlockedStreamWaits: what only STATUS.md or the registry calls blocked is not begun before somebody has cleared it.
func TestABlockedStreamWaits(t *testing.T) {
	t.Parallel()
	files := one("x", "## Stream Progress\n\n| Stream | Tasks | Complete | In Progress | Blocked | Status |\n|---|---|---|---|---|---|\n| COMMUNITY | 4 | 2 | 0 | 2 | **Blocked by ESC-001** |\n| POLISH | 4 | 2 | 1 | 0 | going on |\n")
	files[0].Path = base + "progress/STATUS.md"
	r, _ := read(t, files)
	if len(r.Blockers) != 1 || r.Blockers[0].Text != "Blocked by ESC-001" || r.Blockers[0].Step != "COMMUNITY" || r.Resume != "task POLISH was started but has no checkpoint: dispatch it with the known facts" {
		t.Errorf("%+v %s", r.Blockers, r.Resume)
	}
	files = one("x", "```yaml\nid: T1\nstatus: blocked\n```\n")
	files[0].Path = base + "tasks/TASK-REGISTRY.md"
	if r, _ := read(t, files); len(r.Blockers) != 1 || r.Resume != "task T1 is blocked: clear what blocks it first" {
		t.Errorf("%+v %s", r.Blockers, r.Resume)
	}
}
