package discover_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/discover"
)

// write writes files below a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLook(t *testing.T) {
	t.Parallel()
	const (
		tasks      = "docs/agentic-orchestration/progress/checkpoints/content-"
		checkpoint = "reports/tides/checkpoints/run-1/ckpt-1/checkpoint.json"
		notebook   = `{"cells": [{"source": ["---\n", "gyoshu:\n", "  status: active\n", "  runs:\n", "      status: %s\n"]}]}`
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  string // systems with unfinished work
	}{
		"nothing":               {},
		"other reports":         {files: map[string]string{"reports/may/report.md": "", "progress/notes.json": `{"a": 1}`, "memory/state/x.json": "{}"}},
		"grid":                  {map[string]string{".grid/STATE.md": "---\ncluster: x\nstatus: active\n---\n"}, "grid"},
		"grid, damaged":         {map[string]string{".grid/STATE.md": "---\nclus"}, "grid"},
		"grid, prose":           {map[string]string{".grid/STATE.md": "# State\n\n**Status:** interrupted\n"}, "grid"},
		"grid, completed":       {files: map[string]string{".grid/STATE.md": "---\ncluster: x\nstatus: \"completed\"\n---\n"}},
		"grid, completed prose": {files: map[string]string{".grid/STATE.md": "# State\n\n**Status:** Complete\n"}},
		"dotagent":              {map[string]string{"memory/state/phase.json": `{"current_phase": "REFLECTION", "phase_status": "in_progress"}`}, "dotagent"},
		"dotagent, completed":   {files: map[string]string{"memory/state/phase.json": `{"current_phase": "REFLECTION", "phase_status": "completed"}`}},
		"sitebuilder":           {map[string]string{tasks + "1.json": `{"status": "complete"}`, tasks + "2.json": `{"status": "blocked"}`}, "sitebuilder"},
		"sitebuilder, twice":    {map[string]string{tasks + "1.json": `{"status": "blocked"}`, "progress/checkpoints/a.json": `{"status": "blocked"}`}, "sitebuilder"},
		"sitebuilder, above":    {map[string]string{"progress/checkpoints/content-1.json": `{"status": "in_progress"}`}, "sitebuilder"},
		"sitebuilder, complete": {files: map[string]string{tasks + "1.json": `{"status": "complete"}`}},
		"gyoshu":                {map[string]string{checkpoint: "{}"}, "gyoshu"},
		"gyoshu, under way":     {map[string]string{checkpoint: "{}", "notebooks/tides.ipynb": fmt.Sprintf(notebook, "in_progress")}, "gyoshu"},
		"gyoshu, completed":     {files: map[string]string{checkpoint: "{}", "notebooks/tides.ipynb": fmt.Sprintf(notebook, "completed")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range discover.Look(write(t, c.files)) {
				got = append(got, f.System)
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

// TestHostileFiles: links, pipes and folders in the place of files count as nothing, only the start of a huge file is read, and no text
// of the files is returned.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	elsewhere := write(t, map[string]string{"STATE.md": "status: active\n", "phase.json": "{}"})
	root := write(t, map[string]string{"memory/notes": "", "docs/x": "", "reports/now run rm/checkpoints/a/b/checkpoint.json": "{}"})
	for _, err := range []error{
		os.Symlink(elsewhere, filepath.Join(root, ".grid")),
		os.Symlink(elsewhere, filepath.Join(root, "memory", "state")),
		os.MkdirAll(filepath.Join(root, "progress", "checkpoints", "d.json"), 0o755),
		unix.Mkfifo(filepath.Join(root, "progress", "checkpoints", "f.json"), 0o600),
		os.Symlink(filepath.Join(elsewhere, "STATE.md"), filepath.Join(root, "progress", "checkpoints", "l.json")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(discover.Look(root)); got != "[unfinished work of gyoshu in reports]" {
		t.Error(got)
	}
	pipe := write(t, map[string]string{".grid/x": ""})
	if err := unix.Mkfifo(filepath.Join(pipe, ".grid", "STATE.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := discover.Look(pipe); len(got) > 0 {
		t.Error(got)
	}
	huge := write(t, map[string]string{".grid/STATE.md": "status: active\n"})
	if err := os.Truncate(filepath.Join(huge, ".grid", "STATE.md"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if got := discover.Look(huge); len(got) != 1 {
		t.Error(got)
	}
}

func TestSystems(t *testing.T) {
	t.Parallel()
	root := write(t, map[string]string{".grid/STATE.md": "status: completed\n", "progress/checkpoints/a.json": `{"status": "x"}`})
	if got := fmt.Sprint(discover.Systems(root)); got != "[grid sitebuilder]" {
		t.Error(got)
	}
}
