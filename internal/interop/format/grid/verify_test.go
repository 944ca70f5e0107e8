package grid_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/grid"
)

// verify returns the lines "level what" of a validation.
func verify(files format.Files, env format.Env) []string {
	env.Now = now
	var lines []string
	for _, f := range grid.Format().Verify(wanted(files), env) {
		lines = append(lines, string(f.Level)+" "+f.What)
	}
	return lines
}

// world is one in which all files and commits exist but those that are named.
func world(missing ...string) format.Env {
	there := func(name string) bool { return !slices.Contains(missing, name) }
	return format.Env{Exists: there, HasCommit: there}
}

// TestVerifyNamesEveryFault: each of the five validations fails by itself, and names what is wrong.
func TestVerifyNamesEveryFault(t *testing.T) {
	t.Parallel()
	files, _ := project(t, "testdata/read/approved.txtar")
	good := []string{
		"ok STATE.md can be read (front matter)", "ok all 3 claimed commits exist", "ok all 3 claimed files exist", "ok there is at most one checkpoint",
		"ok all 2 pending blocks have a plan",
	}
	with := func(path, data string) format.Files {
		return append(formattest.Without(files, path), format.File{Path: path, Data: []byte(data), Changed: now})
	}
	tests := []struct {
		name  string
		files format.Files
		env   format.Env
		at    int
		want  string
	}{
		{"good", files, world(), 0, good[0]},
		{"no state", formattest.Without(files, ".grid/STATE.md"), world(), 0, "bad STATE.md is missing or cannot be read"},
		{"torn state", with(".grid/STATE.md", "---\nclu"), world(), 0, "bad STATE.md is missing or cannot be read"},
		{"a commit is missing", files, world("def456"), 1, `bad the claimed commit "def456" does not exist`},
		{"no git", files, format.Env{Exists: world().Exists}, 1, "warn 3 commits are claimed, but there is no git repository to check"},
		{"a file is missing", files, world("src/components/Header.astro"), 2, "bad block 02 claims a file that does not exist: src/components/Header.astro"},
		{"a file that a plan names is missing", with(".grid/plans/blog-block-01.md", "---\nid: 01\nfiles_modified: [src/*.go, gone.txt]\n---\n"), world("gone.txt", "src/*.go"), 3,
			"warn block 01 is complete, but its plan names a file that does not exist: gone.txt"},
		{"two checkpoints", with(".grid/phases/01-foundation/CHECKPOINT.md", "---\ntype: failure\n---\n"), world(), 3, "bad there is more than one checkpoint"},
		{"a plan is missing", formattest.Without(files, ".grid/plans/blog-block-02.md"), world(), 4, "bad block 02 is pending and has no plan"},
		{"no project", nil, world(), 0, "bad no state of The Grid found here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := verify(tt.files, tt.env)
			if len(got) <= tt.at || got[tt.at] != tt.want {
				t.Fatalf("want %q, got\n%s", tt.want, strings.Join(got, "\n"))
			}
			if tt.name == "good" {
				if diff := cmp.Diff(good, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestVerifyNamesWhatCannotBe: numbers out of their range, what the document requires and is not there, and a checkpoint of no
// known type.
func TestVerifyNamesWhatCannotBe(t *testing.T) {
	t.Parallel()
	got := verify(folder(
		".grid/STATE.md", `---
cluster: c
status: interrupted
position: {phase: 1, phase_total: 1, block: 7, block_total: 3, wave: 9, wave_total: 3, thread: 9, thread_total: 2}
progress_percent: 900
energy_remaining: -5
---
`, ".grid/CHECKPOINT.md", "---\ntype: bananas\nblock: \"01\"\nprogress: {blocks_complete: 4, blocks_total: 3}\n---\n"), world())
	for _, want := range []string{
		"missing key session_id, which The Grid requires", "missing key created_at, which The Grid requires", "missing key updated_at, which The Grid requires",
		"position.block is 7, more than the total of 3", "position.wave is 9, more than the total of 3", "position.thread is 9, more than the total of 2", "progress_percent cannot be 900",
		"energy_remaining cannot be -5", `"bananas" is not a known checkpoint type; it is treated as human_verify`,
		"missing key timestamp, which The Grid requires", "missing key thread_name, which The Grid requires", "progress.blocks_complete is 4, more than the total of 3",
	} {
		if !slices.Contains(got, "warn "+want) {
			t.Errorf("nothing says: %s", want)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(got, "\n"))
	}
}

// TestACheckpointOfNoTypeAsksAPerson: pawl does not resume from a checkpoint of unknown type.
func TestACheckpointOfNoTypeAsksAPerson(t *testing.T) {
	t.Parallel()
	r, findings := grid.Format().Read(folder(".grid/STATE.md", interrupted, ".grid/CHECKPOINT.md", "---\ntype: bananas\nblock: \"01\"\nthread: 2\n---\n"), format.Env{Now: now})
	if len(r.Gates) != 1 || r.Gates[0].Type != pawl.HumanVerify || r.Gates[0].Step != "01" || r.Status != pawl.StatusWaiting || formattest.Step(t, r, "01").Status != pawl.AwaitsGate {
		t.Errorf("%+v %s %s", r.Gates, r.Status, formattest.Step(t, r, "01").Status)
	}
	if !has(findings, `"bananas" is not a known checkpoint type`) {
		t.Error(findings)
	}
}

// TestVerifyNeverLooksOutside: whatever a file claims, no path is looked for outside of the project.
func TestVerifyNeverLooksOutside(t *testing.T) {
	t.Parallel()
	files, _ := project(t, "testdata/read/failure.txtar")
	env := world()
	env.Exists = func(name string) bool {
		if clean, err := format.Inside(name); err != nil || clean != name {
			t.Errorf("%q was looked for", name)
		}
		return true
	}
	for _, f := range grid.Format().Verify(files, env) {
		if f.Level == pawl.Bad && strings.Contains(f.What, "passwd") {
			t.Error(f)
		}
	}
}
