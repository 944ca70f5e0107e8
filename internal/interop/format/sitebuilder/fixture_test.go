package sitebuilder_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/sitebuilder"
)

// now is when the tests read.
var now = time.Date(2026, 3, 2, 10, 40, 0, 0, time.UTC)

const (
	base   = "docs/agentic-orchestration/"
	points = base + "progress/checkpoints/"
)

// team returns the files of the team that the tests read.
func team(t testing.TB) format.Files {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/team.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return filesOf(archive)
}

func filesOf(archive *txtar.Archive) format.Files {
	var files format.Files
	for _, f := range archive.Files {
		if format.Wanted(sitebuilder.Format().Patterns, f.Name) {
			files = append(files, format.File{Path: f.Name, Data: f.Data})
		}
	}
	return files
}

// one returns a project with checkpoints, by their file names.
func one(checkpoints ...string) format.Files {
	var files format.Files
	for i := 0; i+1 < len(checkpoints); i += 2 {
		files = append(files, format.File{Path: points + checkpoints[i], Data: []byte(checkpoints[i+1])})
	}
	return files
}

// testEnv is an Env in which these files exist.
func testEnv(there ...string) format.Env {
	return format.Env{Now: now, Exists: func(name string) bool { return slices.Contains(there, name) }}
}

func read(t testing.TB, files format.Files) (format.Project, []pawl.Finding) {
	t.Helper()
	return sitebuilder.Format().Read(files, format.Env{Now: now})
}

// found reports whether a finding has these texts in what it says and where.
func found(findings []pawl.Finding, level pawl.Level, where, what string) bool {
	return slices.ContainsFunc(findings, func(f pawl.Finding) bool {
		return f.Level == level && strings.Contains(f.Where, where) && strings.Contains(f.What, what)
	})
}

func want(t testing.TB, findings []pawl.Finding, level pawl.Level, where, what string) {
	t.Helper()
	if !found(findings, level, where, what) {
		t.Errorf("no %s at %s: %s\namong %+v", level, where, what, findings)
	}
}

// edited returns files one of which has a text replaced.
func edited(t testing.TB, files format.Files, name, from, to string) format.Files {
	t.Helper()
	f := files.Find(name)
	if f == nil || !strings.Contains(string(f.Data), from) {
		t.Fatalf("%s does not say %q", path.Base(name), from)
	}
	return formattest.With(files, []format.File{{Path: name, Data: []byte(strings.Replace(string(f.Data), from, to, 1))}})
}
