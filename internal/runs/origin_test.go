package runs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

// TestElsewhere changes a run's journal and record in each way that no command of this user does. Then the run needs an adoption.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *enginetest.Project)
		reason string
	}{
		"own acts":      {func(*enginetest.Project) {}, ""},
		"engine events": {func(p *enginetest.Project) { appendLine(p, "engine", "attempt.ended") }, ""},
		"engine's yes":  {func(p *enginetest.Project) { appendLine(p, "engine", "gate.answered") }, "an answer"},
		"person's note": {func(p *enginetest.Project) { appendLine(p, "person", "blocker.added") }, ""},
		"person's yes":  {func(p *enginetest.Project) { appendLine(p, "person", "gate.answered") }, "an answer"},
		"announced yes": {func(p *enginetest.Project) {
			answered := pawl.Event{Type: "gate.answered", Data: []byte("{}")}
			p.Check(runs.Announce(p.Project, p.Run, []pawl.Event{answered}, func() error { appendLine(p, "engine", "gate.answered"); return nil }))
		}, ""},
		"yes that was announced in another run": {func(p *enginetest.Project) {
			answered := pawl.Event{Type: "gate.answered", Data: []byte("{}")}
			p.Check(runs.Announce(p.Project, "other-20260101-000000-0000", []pawl.Event{answered}, func() error { appendLine(p, "person", "gate.answered"); return nil }))
		}, "an answer"},
		"torn tail": {func(p *enginetest.Project) { appendText(p, `{"seq":9,"ti`) }, ""},
		"truncated": {func(p *enginetest.Project) { p.Check(os.Truncate(journalPath(p), 100)) }, "differs from the one that your pawl wrote"},
		"edited": {func(p *enginetest.Project) {
			data, err := os.ReadFile(journalPath(p))
			p.Check(err)
			p.Check(os.WriteFile(journalPath(p), []byte(strings.Replace(string(data), "not needed", "is  needed", 1)), 0o600))
		}, "differs from the one that your pawl wrote"},
		"archived": {archive, ""},
		"archived and truncated": {func(p *enginetest.Project) {
			p.Check(os.Truncate(journalPath(p), 100))
			archive(p)
		}, "differs from the one that your pawl wrote"},
		"no journal": {func(p *enginetest.Project) { p.Check(os.Remove(journalPath(p))) }, ""},
		"no record": {func(p *enginetest.Project) {
			p.Check(os.Remove(filepath.Join(p.Trust.Folder, "runs", string(p.Run)+".json")))
		}, "it was imported, copied or pulled"},
		"torn record": {func(p *enginetest.Project) {
			p.Check(os.Truncate(filepath.Join(p.Trust.Folder, "runs", string(p.Run)+".json"), 0))
		}, "the record that it is yours is damaged"},
		"events of others": {func(p *enginetest.Project) { p.Check(runs.Disown(p.Project, p.Run)) }, "it was imported, copied or pulled"},
		"untrusted":        {func(p *enginetest.Project) { p.Trust.Reason = "test" }, "not trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.Create(twoSteps)
			p.Act(runs.Skip("a", nil, "not needed"))
			c.change(p)
			reason, err := runs.Elsewhere(p.Project, p.Run)
			if err != nil || !strings.Contains(reason, c.reason) || (reason == "") != (c.reason == "") {
				t.Fatalf("reason %q, %v; want %q", reason, err, c.reason)
			}
			if c.reason == "" || !p.Trust.Trusted() {
				return
			}
			p.WantKind(runs.RequireOwn(p.Project, p.Run), pawl.KindDamaged, "comes from elsewhere")
			if strings.HasPrefix(name, "archived") {
				return
			}
			p.Check(runs.Mark(p.Project, p.Run))
			if reason, err := runs.Elsewhere(p.Project, p.Run); reason != "" || err != nil {
				t.Errorf("after the adoption: %q, %v", reason, err)
			}
		})
	}
}

func archive(p *enginetest.Project) {
	p.Helper()
	p.Check(os.MkdirAll(p.Archive(), 0o700))
	p.Check(os.Rename(p.RunDir(p.Run), p.ArchivedDir(p.Run)))
}

func journalPath(p *enginetest.Project) string {
	return filepath.Join(p.RunDir(p.Run), "journal.jsonl")
}

// appendLine appends an event to the journal past pawl.
func appendLine(p *enginetest.Project, by, kind string) {
	p.Helper()
	const layout = `{"seq":9,"batch":9,"time":"2026-01-01T00:00:00.000000000Z","epoch":1,"by":{"kind":%q},"type":%q,"data":{},"crc":"00000000"}` + "\n"
	appendText(p, fmt.Sprintf(layout, by, kind))
}

func appendText(p *enginetest.Project, text string) {
	p.Helper()
	f, err := os.OpenFile(journalPath(p), os.O_APPEND|os.O_WRONLY, 0)
	p.Check(err)
	_, err = f.WriteString(text)
	p.Check(err)
	p.Check(f.Close())
}

// TestMarkOfTornJournal marks a journal with a torn tail. The run stays the user's own when pawl has moved the tail aside.
func TestMarkOfTornJournal(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create(twoSteps)
	appendText(p, `{"seq":9,"ti`)
	p.Check(runs.Mark(p.Project, p.Run))
	p.Act(runs.Skip("a", nil, ""))
	p.Act(runs.Skip("b", nil, ""))
}

// TestConcurrentActs lets several persons act on a run at the same time. Nobody mistakes the others' acts for foreign ones.
func TestConcurrentActs(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	plan := "name: demo\nsteps:\n"
	for i := range 12 {
		plan += fmt.Sprintf("  - {id: s%d, needs: [], run: 'true'}\n", i)
	}
	p.Create(plan)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if err := p.Try(runs.Skip(pawl.StepID(fmt.Sprint("s", i)), nil, "not needed")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestAdoptSetsKernelsAside: nothing that a kernel elsewhere has saved is loaded after the adoption.
func TestAdoptSetsKernelsAside(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create(twoSteps)
	p.Check(os.MkdirAll(p.Project.KernelDir(p.Run, "main"), 0o700))
	p.Check(runs.Adopt(p.Project, p.Run))
	if dirs := runs.SessionDirs(p.Project, p.Run); len(dirs) > 0 {
		t.Errorf("sessions after the adoption: %q", dirs)
	}
	p.Check(runs.Adopt(p.Project, p.Run)) // again
}
