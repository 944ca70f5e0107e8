package userdir_test

import (
	"testing"

	"pawl/internal/userdir"
)

// TestFolders checks which variable decides. Relative paths count as unset, as the XDG specification says.
func TestFolders(t *testing.T) {
	for _, c := range []struct{ pawl, state, config, wantState, wantConfig string }{
		{"", "", "", "/home/u/.local/state/pawl/a", "/home/u/.config/pawl/b/c"},
		{"", "/s", "/c", "/s/pawl/a", "/c/pawl/b/c"},
		{"/data/state", "/s", "/c", "/data/state/a", "/c/pawl/b/c"},
		{"data", "s", "c", "/home/u/.local/state/pawl/a", "/home/u/.config/pawl/b/c"},
	} {
		t.Setenv("HOME", "/home/u")
		t.Setenv("PAWL_STATE", c.pawl)
		t.Setenv("XDG_STATE_HOME", c.state)
		t.Setenv("XDG_CONFIG_HOME", c.config)
		if got, err := userdir.State("a"); err != nil || got != c.wantState {
			t.Errorf("State with %+v: %q, %v", c, got, err)
		}
		if got, err := userdir.Config("b", "c"); err != nil || got != c.wantConfig {
			t.Errorf("Config with %+v: %q, %v", c, got, err)
		}
	}
}

// TestNoHome checks the error when nothing names a folder.
func TestNoHome(t *testing.T) {
	for _, name := range []string{"HOME", "PAWL_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	if got, err := userdir.State(); err == nil {
		t.Errorf("State: %q", got)
	}
	if got, err := userdir.Config(); err == nil {
		t.Errorf("Config: %q", got)
	}
}
