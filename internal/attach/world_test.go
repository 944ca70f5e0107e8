package attach

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// world is a project and a user, both made for one test.
type world struct {
	*testing.T
	Setup
	env map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, env: map[string]string{}}
	w.Setup = Setup{
		Root: filepath.Join(base, "project"), Home: filepath.Join(base, "home"), State: filepath.Join(base, "state"), Data: filepath.Join(base, "state", "trusted", "0"),
		Pawl: filepath.Join(base, "bin", "pawl"), Env: func(name string) string { return w.env[name] },
		Systems: []string{"grid", "dotagent", "sitebuilder"},
	}
	for _, folder := range []string{w.Root, w.Home, w.State} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(w.Pawl, "#!/bin/sh\n")
	if err := os.Chmod(w.Pawl, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) write(path, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

func (w *world) attach(agent string, scope Scope) *Edits {
	w.Helper()
	return w.do(Attach(agent, scope, w.Setup))
}

func (w *world) detach(agent string, scope Scope) *Edits {
	w.Helper()
	return w.do(Detach(agent, scope, w.Setup))
}

func (w *world) do(edits *Edits, err error) *Edits {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	if err := edits.Apply(); err != nil {
		w.Fatal(err)
	}
	return edits
}

// tree is all that is in the project and in the user's home, but for what is pawl's own.
func (w *world) tree() map[string]string {
	w.Helper()
	found := map[string]string{}
	for _, root := range []string{w.Root, w.Home} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() == ".pawl" {
				return fs.SkipDir
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(path, filepath.Dir(w.Root)+"/")
			switch {
			case info.Mode().IsRegular():
				found[name] = info.Mode().String() + " " + w.read(path)
			case info.Mode()&fs.ModeSymlink != 0:
				found[name], err = os.Readlink(path)
			default:
				found[name] = info.Mode().String()
			}
			return err
		})
		if err != nil {
			w.Fatal(err)
		}
	}
	return found
}

// same checks that no file differs from before.
func (w *world) same(before map[string]string) {
	w.Helper()
	now := w.tree()
	if maps.Equal(before, now) {
		return
	}
	for name, text := range now {
		if old, there := before[name]; !there || old != text {
			w.Errorf("%s is\n%q\nand was\n%q", name, text, old)
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			w.Errorf("%s is gone", name)
		}
	}
}

// shapes are settings files as people have them, with the place that each is put in.
var shapes = []struct {
	file, agent string
	scope       Scope
	path        string // in the project or in the home
}{
	{"claude-local.json", "claude", Project, ".claude/settings.local.json"},
	{"claude-mcp.json", "claude", Project, ".mcp.json"},
	{"claude-user.json", "claude", User, ".claude/settings.json"},
	{"claude-state.json", "claude", User, ".claude.json"},
	{"comma-first.json", "claude", Project, ".claude/settings.local.json"},
	{"codex-config.toml", "codex", User, ".codex/config.toml"},
	{"codex-hooks.json", "codex", Project, ".codex/hooks.json"},
	{"gemini-settings.json", "gemini", Project, ".gemini/settings.json"},
	{"opencode.jsonc", "opencode", Project, "opencode.jsonc"},
	{"opencode-minified.json", "opencode", User, ".config/opencode/opencode.json"},
	{"copilot-mcp.json", "copilot", User, ".copilot/mcp-config.json"},
	{"empty.json", "gemini", User, ".gemini/settings.json"},
	{"braces.json", "claude", Project, ".claude/settings.local.json"},
}

// variants are ways in which editors save a file.
var variants = map[string]func(string) string{
	"as it is":       func(text string) string { return text },
	"windows":        func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
	"marked":         func(text string) string { return "\ufeff" + text },
	"no newline":     func(text string) string { return strings.TrimRight(text, "\n") },
	"many newlines":  func(text string) string { return text + "\n\n" },
	"windows marked": func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") },
}

// everyShape runs a test for every file as every editor saves it.
func everyShape(t *testing.T, test func(w *world, path, agent string, scope Scope)) {
	for _, shape := range shapes {
		data, err := os.ReadFile(filepath.Join("testdata", "settings", shape.file))
		if err != nil {
			t.Fatal(err)
		}
		for name, variant := range variants {
			t.Run(shape.file+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				path := filepath.Join(map[Scope]string{Project: w.Root, User: w.Home}[shape.scope], shape.path)
				w.write(path, variant(string(data)))
				test(w, path, shape.agent, shape.scope)
			})
		}
	}
}
