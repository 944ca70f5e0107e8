package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli/trustview"
)

// change changes a byte in the middle of a file of the current run.
func (p *place) change(name string) {
	p.Helper()
	path := filepath.Join(p.dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		p.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		p.Fatal(err)
	}
}

// journalOf returns the path of a run's journal, relative to the folder.
func journalOf(run pawl.RunID) string { return ".pawl/runs/" + string(run) + "/journal.jsonl" }

// TestDamagedJournal damages a journal. Commands refuse it, verify names it, and recover rebuilds it.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	p := finished(t)
	run := p.run()
	p.ok("verify")
	first := decode[[]struct{ Checkpoint string }](p, "checkpoints")[0].Checkpoint
	intact, rest, found := strings.Cut(p.read(journalOf(run)), `"convert"`) // its outputs are removed below, so no item of it may be kept
	if !found {
		t.Fatal("the journal does not name step convert")
	}
	p.write(journalOf(run), intact+`"cOnvert"`+rest)
	if err := os.RemoveAll(filepath.Join(p.project().RunDir(run), "state.json")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"status", "resume", "log", "stats", "why", "explain", "gates", "checkpoints", "learn x"} {
		got := p.fails(pawl.KindDamaged, strings.Fields(line)...)
		if hint := pawl.HintOf(got.err); hint != "pawl recover "+string(run) || strings.Contains(got.msg, "adopt") {
			t.Errorf("pawl %s: hint %q, and it printed %q", line, hint, got.msg)
		}
	}
	got := p.fails(pawl.KindDamaged, "verify", "--json")
	bad := 0
	for _, f := range decoded[[]pawl.Finding](p, got.out) {
		if f.Level == pawl.Bad {
			bad++
		}
	}
	if bad == 0 {
		t.Errorf("verify finds no fault: %s", got.out)
	}
	p.fails(pawl.KindDamaged, "verify")
	p.ok("runs")
	p.ok("stats", "--all")
	p.fails(pawl.KindDamaged, "restore", first, "--yes")
	shown := decode[trustview.Adoption](p, "adopt", "--yes", string(run))
	if shown.Run != run || shown.Damage == "" {
		t.Errorf("%+v", shown)
	}
	p.ok("restore", first, "--yes")
	proposal := decode[map[string]any](p, "recover")
	if proposal["run"] != string(run) || proposal["accepted"] != nil {
		t.Errorf("%v", proposal)
	}
	p.wants(p.ok("recover"), "draft", "publish")
	p.ok("recover", "--trust", "likely")
	p.fails(pawl.KindDamaged, "status")
	p.ok("recover", "--accept")
	s := decode[status](p, "status")
	if s.Run != run || s.of()["draft"] != pawl.Done {
		t.Errorf("%+v", s)
	}
	p.ok("verify")
	p.ok("recover")
	if got := p.pawl("resume", "--yes"); got.err != nil && pawl.KindOf(got.err) != pawl.KindNothing {
		t.Error(got.err)
	}
	if s := p.state(); s.Status != pawl.StatusCompleted {
		t.Errorf("%s", s.Status)
	}
}

// TestDamagedSnapshots damages the snapshots. Verify names it, and --repair sets it aside.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	p := finished(t)
	packs, err := filepath.Glob(p.path(".pawl/snapshots/pack-*"))
	if err != nil || len(packs) == 0 {
		packs, err = filepath.Glob(p.path(".pawl/*/pack-*"))
	}
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs: %v %v", packs, err)
	}
	for _, pack := range packs {
		rel, err := filepath.Rel(p.dir, pack)
		if err != nil {
			t.Fatal(err)
		}
		p.change(rel)
	}
	p.fails(pawl.KindDamaged, "verify")
	if got := p.pawl("verify", "--repair", "--json"); len(decoded[[]pawl.Finding](p, got.out)) == 0 {
		t.Errorf("%v", got.err)
	}
	p.ok("status")
}

// TestBrokenConfig writes settings that cannot be read. Commands that need them refuse, and doctor says why.
func TestBrokenConfig(t *testing.T) {
	t.Parallel()
	p := finished(t)
	p.write(".pawl/config.yaml", "colour: red\n")
	for _, line := range []string{"run -- true", "checkpoint", "diff", "recover", "brief"} {
		if got := p.pawl(strings.Fields(line)...); got.err == nil {
			t.Errorf("%s: no error", line)
		}
	}
	got := p.fails(pawl.KindDamaged, "doctor", "--json")
	p.wants(got.out, "colour")
	p.ok("status")
}

// TestDoctor checks a project with a running engine.
func TestDoctor(t *testing.T) {
	t.Parallel()
	p := finished(t)
	p.wants(p.ok("doctor"), p.dir)
	for _, f := range decode[[]pawl.Finding](p, "doctor") {
		if f.Level == pawl.Bad {
			t.Errorf("%+v", f)
		}
	}
}
