package version

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	built := func(version string, settings ...string) *debug.BuildInfo {
		b := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			b.Settings = append(b.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return b
	}
	for name, c := range map[string]struct {
		build       *debug.BuildInfo
		line, short string
	}{
		"release":      {built("v1.2.3", "vcs.revision", "abc", "vcs.modified", "false"), "v1.2.3, commit abc, ", "v1.2.3 abc"},
		"modified":     {built("(devel)", "vcs.revision", "abc", "vcs.modified", "true"), "(devel), commit abc-dirty, ", "(devel) abc"},
		"without git":  {built("(devel)"), "(devel), unknown commit, ", "(devel)"},
		"without info": {nil, "unknown, unknown commit, ", "unknown"},
	} {
		got := read(c.build)
		if want := c.line + runtime.Version() + ", " + platform; got.String() != want || got.Short() != c.short {
			t.Errorf("%s: %q and %q, want %q and %q", name, got.String(), got.Short(), want, c.short)
		}
	}
}

// A release build's own version comes first.
func TestReleaseIsSet(t *testing.T) {
	release = "v9.0.0"
	defer func() { release = "" }()
	if got := read(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}).Version; got != "v9.0.0" {
		t.Errorf("version %s", got)
	}
}

// The build information in a file is the one that the program of that file reads of itself.
func TestReadFile(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, ok := debug.ReadBuildInfo()
	got, err := ReadFile(self)
	if err != nil || !ok || got.Main.Path != "pawl" || got.Path != want.Path || len(got.Settings) != len(want.Settings) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := script + "-large"
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxProgram+1); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, large, script + "-missing"} {
		if got, err := ReadFile(path); err == nil {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
