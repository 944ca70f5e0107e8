package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
)

// The hashes are those that Codex 0.169 shows for these hooks.
func TestCodexHash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event   string
		matcher any
		timeout float64
		command string
		want    string
	}{
		{"SessionStart", nil, 10, "/usr/bin/pawl hook codex", "98f052516c122152812f3b779c359515ab83fad392a525b3b8d9c602831a08aa"},
		{"PreToolUse", "*", 10, "/usr/bin/pawl hook codex", "782df66380e7ec8a607926cf1a35568a2608dafba2ac8357fbf595bef013d327"},
		{"Stop", nil, 60, "/usr/bin/pawl hook codex", "450902b7f0585b4f7a798a5eff1eeccce9c9ab4d3abc06042bfdd626474ffb84"},
		{"Stop", nil, 10, "'/opt/a b/<pawl>' hook codex", "c72e16603415782f596604d7b5ce7bb1a82ce4916598652e4ded6e87f7da72a4"},
		{"Interrupt", nil, 10, "/usr/bin/pawl hook codex", "96877ae87c2a7fae3f0527e9f8582e0bb56c095f5a14f991f2e0ec53ec1e72ea"},
	} {
		this := trust{event: c.event, matcher: c.matcher, handler: map[string]any{"type": "command", "command": c.command, "timeout": c.timeout}}
		if got := this.hash(); got != "sha256:"+c.want {
			t.Errorf("%s: %s, want %s", c.event, got, c.want)
		}
	}
}

// Without an attached agent there are no findings.
func TestExamineNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(filepath.Join(w.Root, ".claude", "settings.json"), `{"disableAllHooks": true}`)
	if got := Examine(w.Setup, time.Now()); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// Everything that prevents hooks from running is found, with a hint that fixes it.
func TestExamine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, agent string
		scope       Scope
		harm        func(w *world)
		level       pawl.Level
		want, hint  string
	}{
		{"all is well", "claude", Project, func(*world) {}, pawl.OK, "claude is attached, scope project", ""},
		{"file gone", "claude", Project, remove(".claude/settings.local.json"), pawl.Bad, "the file is missing", "pawl attach claude --scope project"},
		{"plugin gone", "opencode", Project, remove(".opencode/plugin/pawl.js"), pawl.Bad, "the file is missing", "pawl attach opencode --scope project"},
		{"broken", "gemini", Project, put(".gemini/settings.json", "{\n"), pawl.Bad, ".gemini/settings.json:2:1: unexpected end", "fix .gemini/settings.json"},
		{"hooks missing", "claude", User, put("~/.claude/settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "pawl hook claude"}]}]}}`), pawl.Bad, "missing: SessionStart, SessionEnd", "pawl attach claude --scope user"},
		{"hooks gone", "claude", User, put("~/.claude/settings.json", "{}\n"), pawl.Bad, "it has no entry of pawl", "pawl attach claude --scope user"},
		{"server gone", "codex", User, put("~/.codex/config.toml", ""), pawl.Bad, "it has no entry of pawl", "pawl attach codex --scope user"},
		{"server missing", "gemini", User, func(w *world) {
			path := w.at("~/.gemini/settings.json")
			w.write(path, strings.Replace(w.read(path), `"pawl": {`, `"paul": {`, 1))
		}, pawl.Bad, "missing: the MCP server", "pawl attach gemini --scope user"},
		{"skill of an older pawl", "claude", Project, put(".claude/skills/pawl/SKILL.md", marker), pawl.Warn, "differ from those that this version", "pawl attach claude --scope project"},
		{"program gone", "claude", Project, remove("~/../bin/pawl"), pawl.Bad, "which does not exist", "pawl attach claude --scope project"},
		{"program gone, plugin", "opencode", Project, remove("~/../bin/pawl"), pawl.Bad, "which does not exist", "pawl attach opencode --scope project"},
		{"no program", "copilot", Project, func(w *world) { w.check(os.Chmod(w.Pawl, 0o644)) }, pawl.Bad, "which is not executable", "pawl attach copilot --scope project"},
		{"another program", "gemini", User, func(w *world) {
			w.write(filepath.Join(w.Root, "bin", "pawl"), "")
			w.Pawl = filepath.Join(w.Root, "bin", "pawl")
		}, pawl.Warn, "than this one", "pawl attach gemini --scope user"},
		{"all hooks off", "claude", Project, put("~/.claude/settings.json", `{"disableAllHooks": true}`), pawl.Bad, "disableAllHooks is true", "remove disableAllHooks"},
		{"all hooks off, local", "claude", User, put(".claude/settings.local.json", `{"disableAllHooks": true}`), pawl.Bad, "disableAllHooks is true", "remove disableAllHooks"},
		{"managed only", "claude", Project, put(".claude/settings.json", `{"allowManagedHooksOnly": true}`), pawl.Bad, "allowManagedHooksOnly is true", ""},
		{"gemini off", "gemini", Project, put("~/.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}} // mine"), pawl.Bad, "hooksConfig.enabled is false", ""},
		{"gemini ours off", "gemini", Project, put("~/.gemini/settings.json", `{"hooksConfig": {"disabled": ["other", "pawl"]}}`), pawl.Bad, "hooksConfig.disabled", "run gemini, type /hooks enable pawl"},
		{"gemini folder", "gemini", Project, func(*world) {}, pawl.Warn, "this folder is not trusted", "run gemini in the project"},
		{"codex off", "codex", User, add("~/.codex/config.toml", "\n[features]\nhooks = false\n"), pawl.Bad, "features.hooks is false", ""},
		{"codex not trusted", "codex", User, func(*world) {}, pawl.Warn, "11 of 11 hooks do not run: they are not trusted yet", "run codex, type /hooks"},
		{"codex other", "codex", User, trustCodex("sha256:00", ""), pawl.Warn, "11 of 11 hooks do not run: they have changed since they were trusted", "run codex, type /hooks"},
		{"codex switched off", "codex", User, trustCodex("", "enabled = false"), pawl.Warn, "11 of 11 hooks are disabled", "run codex, type /hooks"},
		{"codex trusted", "codex", User, trustCodex("", ""), pawl.OK, "codex is attached, scope user", ""},
		{"codex folder", "codex", Project, trustCodex("", ""), pawl.Warn, "this folder is not trusted", "run codex in the project"},
		{"copilot off", "copilot", Project, put(".github/copilot/settings.json", `{"disableAllHooks": true}`), pawl.Bad, "disableAllHooks is true", ""},
		{"copilot folder", "copilot", Project, func(*world) {}, pawl.Warn, "this folder is not trusted, so Copilot CLI runs none", "run copilot in the project"},
		{"copilot other folder", "copilot", Project, trustCopilot("trustedFolders", "/project2"), pawl.Warn, "this folder is not trusted", "run copilot in the project"},
		{"copilot trusted", "copilot", Project, trustCopilot("trustedFolders", "/project"), pawl.OK, "copilot is attached, scope project", ""},
		{"copilot trusted above", "copilot", Project, trustCopilot("trusted_folders", ""), pawl.OK, "copilot is attached, scope project", ""},
		{"copilot, all projects", "copilot", User, func(*world) {}, pawl.OK, "copilot is attached, scope user", ""},
		{"record damaged", "claude", Project, func(w *world) { w.write(filepath.Join(w.folder(Project), "claude.json"), "{") }, pawl.Bad, "read the record", "mv "},
		{"trouble", "claude", Project, put(".pawl/hook.log", "a\n2026-11-21 SessionStart: disk full\n"), pawl.Warn, "hooks reported errors", "tail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.attach(c.agent, c.scope)
			c.harm(w)
			var all []string
			for _, f := range Examine(w.Setup, time.Now()) {
				all = append(all, fmt.Sprintf("%s %s: %s (%s)", f.Level, f.Where, f.What, f.Hint))
				if f.Level == c.level && strings.Contains(f.What, c.want) && strings.Contains(f.Hint, c.hint) {
					return
				}
			}
			t.Errorf("found\n%s\nwant %s %s (%s)", strings.Join(all, "\n"), c.level, c.want, c.hint)
		})
	}
}

// trustCopilot makes Copilot CLI trust a folder next to the project's parent.
func trustCopilot(key, folder string) func(w *world) {
	return func(w *world) {
		w.write(w.at("~/.copilot/config.json"), fmt.Sprintf(`{%q: ["/nowhere", %q]}`, key, filepath.Dir(w.Root)+folder))
	}
}

// Old errors of hooks are not reported; of recent ones, the last line is.
func TestHookLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.Root, ".pawl", "hook.log")
	w.write(path, strings.Repeat("x", 1000)+"\nlast line\n")
	if got := hookLog(w.Setup, time.Now()); len(got) != 1 || got[0].Evidence != "last line" {
		t.Errorf("%+v", got)
	}
	if got := hookLog(w.Setup, time.Now().Add(8*24*time.Hour)); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// An agent that is attached in both scopes gets a warning.
func TestExamineBothScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.attach("opencode", Project)
	w.write(filepath.Join(w.Home, ".config", "opencode", "plugin", "pawl.js"), w.read(filepath.Join(w.Root, ".opencode", "plugin", "pawl.js")))
	for _, f := range Examine(w.Setup, time.Now()) {
		if strings.Contains(f.What, "every hook runs twice") {
			return
		}
	}
	t.Error("not told")
}

// The longest rule that the folder lies in counts.
func TestGeminiTrusts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules map[string]any
		want  bool
	}{
		{nil, false},
		{map[string]any{"/home/sam/src": "TRUST_FOLDER"}, true},
		{map[string]any{"/home/sam/src/shop": "TRUST_FOLDER"}, true},
		{map[string]any{"/home/sam/src/shoe": "TRUST_FOLDER"}, false},
		{map[string]any{"/home/sam/src/shoe": "TRUST_PARENT"}, true},
		{map[string]any{"/home": "TRUST_FOLDER", "/home/sam/src/shop": "DO_NOT_TRUST"}, false},
		{map[string]any{"/home/sam/src/shop/sub": "TRUST_FOLDER"}, false},
	} {
		if got := geminiTrusts(c.rules, "/home/sam/src/shop"); got != c.want {
			t.Errorf("%v: %v", c.rules, got)
		}
	}
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// at is a path in the project, or behind ~/ in the home.
func (w *world) at(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(w.Home, rest)
	}
	return filepath.Join(w.Root, path)
}

func remove(path string) func(*world) { return func(w *world) { w.check(os.Remove(w.at(path))) } }

func put(path, text string) func(*world) { return func(w *world) { w.write(w.at(path), text) } }

func add(path, text string) func(*world) {
	return func(w *world) { w.write(w.at(path), w.read(w.at(path))+text) }
}

// trustCodex does as Codex does when its user trusts the hooks; a hash that is not empty is written in place of theirs.
func trustCodex(hash, more string) func(*world) {
	return func(w *world) {
		var text strings.Builder
		for _, scope := range []Scope{Project, User} {
			for _, target := range codex(w.Setup, scope)[:1] {
				file, err := readSettings(target.path)
				w.check(err)
				seen, err := target.inspect(file.data)
				w.check(err)
				for _, this := range seen.trusts {
					fmt.Fprintf(&text, "\n[hooks.state.%q]\ntrusted_hash = %q\n%s\n", this.key(target.path), this.hash()+hash, more)
				}
			}
		}
		path := w.at("~/.codex/config.toml")
		old, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			w.Fatal(err)
		}
		w.write(path, string(old)+text.String())
	}
}
