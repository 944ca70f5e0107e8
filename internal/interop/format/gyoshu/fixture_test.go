package gyoshu_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/gyoshu"
)

// The project of the tests: made by a program of its own in JavaScript, in the shape of what Gyoshu writes.
const (
	tides    = "testdata/tides"
	title    = "tide-levels"
	firstRun = "run-20260301-090000"
	lastRun  = "run-20260302-101500"
)

// noon is when the tests read the project: an hour after the last thing happened.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// wanted returns the files below a folder that the format reads.
func wanted(t testing.TB, root string) format.Files {
	t.Helper()
	all := below(t, root)
	var files format.Files
	for _, pattern := range gyoshu.Format().Patterns {
		files = append(files, all.Match(pattern)...)
	}
	if len(files) == 0 {
		t.Fatalf("there is nothing in %s", root)
	}
	return files
}

// below returns all files below a folder.
func below(t testing.TB, root string) format.Files {
	t.Helper()
	var files format.Files
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		files = append(files, format.File{Path: filepath.ToSlash(relative), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// testEnv is the Env of a folder.
func testEnv(t testing.TB, root string) format.Env {
	t.Helper()
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	return format.Env{Now: noon, Hash: func(name string) (string, int64, error) {
		full := filepath.Join(root, filepath.FromSlash(name))
		info, err := os.Lstat(full)
		if err != nil {
			return "", 0, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", 0, format.ErrLink
		}
		if real, err := filepath.EvalSymlinks(full); err != nil || !strings.HasPrefix(real, root+string(filepath.Separator)) {
			return "", 0, format.ErrOutside
		}
		if info.IsDir() {
			return "", 0, errors.New("it is a folder")
		}
		data, err := os.ReadFile(full)
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:]), int64(len(data)), err
	}}
}

// copied returns a copy of a folder.
func copied(t testing.TB, root string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	return to
}

// store writes files as a mirror does, and returns all that there is now.
func store(t testing.TB, root string, files []format.File) {
	t.Helper()
	for _, f := range files {
		name := filepath.Join(root, filepath.FromSlash(f.Path))
		if f.Data == nil {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
