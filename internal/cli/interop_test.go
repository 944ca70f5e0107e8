package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// systems are those whose files pawl reads and writes.
var systems = []string{"grid", "dotagent", "sitebuilder", "projectstate", "gyoshu"}

// TestExportImport writes a run as the files of each system and makes a run of these files in another project.
func TestExportImport(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	for _, system := range systems {
		folder := filepath.Join(t.TempDir(), "out")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		planned := strings.Fields(p.ok("export", system, folder, "--dry-run"))
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 || len(planned) == 0 {
			t.Errorf("%s: a dry run writes %v of %q", system, entries, planned)
		}
		decode[any](p, "export", system, folder)
		for _, name := range planned {
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				t.Errorf("%s: %v", system, err)
			}
		}
		q := &place{T: t, dir: folder}
		q.write("page.txt", p.read("page.txt"))
		for _, args := range [][]string{{"verify", "--as", system}, {"verify", "--as", system, folder}} {
			got := q.pawl(append(args, "--json")...)
			if findings := decoded[[]pawl.Finding](q, got.out); len(findings) == 0 {
				t.Errorf("%s: verify finds nothing: %v", system, got.err)
			}
		}
		read := decode[struct {
			System  string
			Phases  []struct{ Steps []any }
			Pending []pawl.StepID
		}](q, "import", system, "--dry-run")
		if read.System != system || len(read.Phases) == 0 || len(read.Pending) == 0 {
			t.Errorf("%s: %+v", system, read)
		}
		q.ok("import", system, "--dry-run")
		if q.exists(".pawl") {
			t.Errorf("%s: a dry run makes a project", system)
		}
		q.wants(q.ok("import", system), string(q.run()))
		imported := last[pawl.RunImported](q)
		if string(imported.System) != system {
			t.Errorf("%s: %+v", system, imported)
		}
		s := decode[status](q, "status")
		if len(s.Steps) == 0 || s.Status == pawl.StatusCompleted {
			t.Errorf("%s: %+v", system, s)
		}
		q.ok("resume", "--dry-run")
		q.ok("brief", "--for", "codex")
		if got := q.pawl("import", system, "--json"); got.err == nil {
			decoded[any](q, got.out)
		}
	}
}

// TestImportFresh archives the state of another system of which a run was made. The command names that run.
func TestImportFresh(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	folder := t.TempDir()
	p.ok("export", "dotagent", folder)
	q := &place{T: t, dir: folder}
	q.ok("import", "dotagent")
	got := q.pawl("import", "dotagent", "--fresh", "--json")
	if got.err != nil {
		t.Fatal(got.err)
	}
	if names := decoded[[]string](q, got.out); len(names) == 0 {
		t.Errorf("archived: %q", names)
	}
	q.wants(got.msg, string(q.run()))
	if q.pawl("import", "dotagent").err == nil {
		t.Error("there is still something to import")
	}
}

// TestExportOverOthers exports a run over unfinished work that it does not come from. That needs --over.
func TestExportOverOthers(t *testing.T) {
	t.Parallel()
	p, folder := atGate(t), t.TempDir()
	p.ok("export", "grid", folder)
	q := newProject(t)
	q.write("plan.yaml", strings.Replace(gatePlan, "name: demo", "name: other", 1))
	q.fails(pawl.KindAtGate, "run", "plan.yaml")
	q.fails(pawl.KindUsage, "export", "grid", folder)
	q.ok("export", "grid", folder, "--over")
}

// TestMirror runs a plan whose state is mirrored in each system's files, up to a gate and to its end.
func TestMirror(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write("plan.yaml", gatePlan)
			p.fails(pawl.KindAtGate, "run", "--mirror", system, "plan.yaml")
			if len(p.events("run.mirrored")) == 0 {
				t.Error("nothing is mirrored")
			}
			before := p.ok("import", system, "--dry-run", "--json")
			p.ok("approve", "--yes", "look")
			p.ok("status")
			p.ok("resume")
			if after := p.pawl("import", system, "--dry-run", "--json"); after.out == before {
				t.Error("the files are as they were before the rest of the run")
			}
			p.write("second.yaml", strings.Replace(gatePlan, "name: demo", "name: second", 1))
			p.pawl("run", "--mirror", system+"=elsewhere", "second.yaml")
			if !p.exists("elsewhere") {
				t.Error("nothing is in the other folder")
			}
		})
	}
}

// TestMirrorOverOthers starts a run over unfinished work of others. That is refused.
func TestMirrorOverOthers(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", gatePlan)
	p.fails(pawl.KindAtGate, "run", "--mirror", "dotagent", "plan.yaml")
	q := newProject(t)
	if err := os.CopyFS(q.path("memory"), os.DirFS(p.path("memory"))); err != nil {
		t.Fatal(err)
	}
	q.write("plan.yaml", strings.Replace(gatePlan, "name: demo", "name: other", 1))
	got := q.fails(pawl.KindUsage, "run", "--mirror", "dotagent", "plan.yaml")
	if !strings.HasPrefix(pawl.HintOf(got.err), "pawl import dotagent") {
		t.Errorf("%v: %q", got.err, pawl.HintOf(got.err))
	}
	q.fails(pawl.KindNothing, "status")
}

// TestVerifyStep asks whether a step meets its criteria in another system's files.
func TestVerifyStep(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", gatePlan)
	p.fails(pawl.KindAtGate, "run", "--mirror", "sitebuilder", "plan.yaml")
	for _, line := range []string{
		"verify --step draft", "verify --criterion x --step draft", "verify --as sitebuilder --criterion x",
	} {
		p.fails(pawl.KindUsage, strings.Fields(line)...)
	}
	p.pawl("verify", "--as", "sitebuilder", "--step", "draft")
}

// TestVerifyUnknown names steps and criteria that the files of a system do not have, and those that they have.
func TestVerifyUnknown(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	for _, system := range systems {
		folder := t.TempDir()
		p.ok("export", system, folder)
		q := &place{T: t, dir: folder}
		q.write("page.txt", p.read("page.txt"))
		for _, phase := range decode[struct {
			Phases []struct {
				Steps []struct {
					ID       string
					Criteria map[string]bool
				}
			}
		}](q, "import", system, "--dry-run").Phases {
			for _, step := range phase.Steps {
				for criterion := range step.Criteria {
					if got := q.pawl("verify", "--as", system, "--step", step.ID, "--criterion", criterion); pawl.KindOf(got.err) == pawl.KindUsage {
						t.Errorf("%s: criterion %q of step %s: %v", system, criterion, step.ID, got.err)
					}
				}
				got := q.fails(pawl.KindUsage, "verify", "--as", system, "--step", step.ID, "--criterion", "no such one")
				if got.err != nil && len(step.Criteria) > 0 {
					q.wants(got.err.Error(), "step "+step.ID+` has no criterion "no such one"; it has: `)
				}
			}
		}
		for _, args := range [][]string{{}, {"--criterion", "x"}} {
			got := q.fails(pawl.KindUsage, append([]string{"verify", "--as", system, "--step", "nosuch"}, args...)...)
			q.wants(fmt.Sprint(got.err), `unknown step "nosuch"`)
		}
	}
}

// TestPruneAs prunes checkpoints of another system.
func TestPruneAs(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", gatePlan)
	p.fails(pawl.KindAtGate, "run", "--mirror", "gyoshu", "plan.yaml")
	decode[any](p, "prune", "--as", "gyoshu", "--keep", "1", "--dry-run")
	p.ok("prune", "--as", "gyoshu", "--keep", "1")
	p.ok("verify", "--as", "gyoshu")
	p.fails(pawl.KindUsage, "prune", "--as", "grid")
}
