package history_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// The files of the checkpoint, and those that a restore replaces.
var (
	filesThen = map[string]string{"file": "then"}
	filesNow  = map[string]string{"file": "now", "made": "since", "folder/deep/one": "1", "folder/two": "2"}
)

// spread adds files that the restore removes, and that its undo creates.
func spread(t *testing.T, p *project.Project) {
	t.Helper()
	for name, text := range filesNow {
		path := filepath.Join(p.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
}

// wantFiles compares the files of the project with what they should be.
func wantFiles(t *testing.T, p *project.Project, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(p.Root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".pawl":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(p.Root, path)
		got[name] = string(data)
		return err
	})
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("files: %v, want %v; %v", got, want, err)
	}
}

// TestRestoreDiesAnywhere: at every call that changes the disk. The same command then gives the files of the checkpoint, also
// by the name "latest", and the undo gives those before.
func TestRestoreDiesAnywhere(t *testing.T) {
	t.Parallel()
	everyFault(t, "restore", func(t *testing.T, p *project.Project, _ pawl.RunID, again func() error) {
		if err := again(); err != nil {
			t.Fatalf("again: %v", err)
		}
		wantFiles(t, p, filesThen)
		for range 2 {
			if err := restoreIn(t.Context(), p, "restore", history.Latest); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, p, filesThen)
		}
		if err := runs.RequireNoRestore(t.Context(), p); err != nil {
			t.Error(err)
		}
		if err := restoreIn(t.Context(), p, "undo", ""); err != nil {
			t.Fatalf("undo: %v", err)
		}
		wantFiles(t, p, filesNow)
	})
}

// TestRestoreDiesAnywhereAndIsUndone: the undo of a restore that was cut off gives the files before it, or there was none.
func TestRestoreDiesAnywhereAndIsUndone(t *testing.T) {
	t.Parallel()
	everyFault(t, "restore", func(t *testing.T, p *project.Project, _ pawl.RunID, _ func() error) {
		err := restoreIn(t.Context(), p, "undo", "")
		if err != nil && err.Error() != "no restore to undo" {
			t.Fatalf("undo: %v", err)
		}
		wantFiles(t, p, filesNow)
		if err := runs.RequireNoRestore(t.Context(), p); err != nil {
			t.Error(err)
		}
		if err := restoreIn(t.Context(), p, "restore", history.Latest); err != nil {
			t.Fatal(err)
		}
		wantFiles(t, p, filesThen)
	})
}

// TestUndoDiesAnywhere: repeated, it gives the files before the restore, and not what it had half undone.
func TestUndoDiesAnywhere(t *testing.T) {
	t.Parallel()
	everyFault(t, "undo", func(t *testing.T, p *project.Project, run pawl.RunID, again func() error) {
		s, err := runs.LoadState(t.Context(), p, run)
		if err != nil {
			t.Fatal(err)
		}
		ended := s.Restore == nil && s.Saved[pawl.CheckpointBeforeRestore] == 2
		if !ended { // else it would redo the restore
			if err := again(); err != nil {
				t.Fatalf("again: %v", err)
			}
		}
		wantFiles(t, p, filesNow)
		if err := restoreIn(t.Context(), p, "undo", ""); err != nil {
			t.Fatalf("redo: %v", err)
		}
		wantFiles(t, p, filesThen)
	})
}
