package attach

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/textedit/jsonedit"
)

// For any settings file: attaching adds entries, attaching again changes nothing, and detaching restores every byte.
func TestReturnsToTheByte(t *testing.T) {
	t.Parallel()
	everyShape(t, func(w *world, path, agent string, scope Scope) {
		before, text := w.tree(), w.read(path)
		if edits := w.attach(agent, scope); len(edits.Changes) == 0 || w.read(path) == text {
			w.Fatalf("nothing was changed: %v", edits.Changes)
		}
		w.checkAttached(agent, scope)
		if edits := w.attach(agent, scope); len(edits.Changes) > 0 {
			w.Errorf("attaching again changes %s", edits.Changes[0].Path)
		}
		w.detach(agent, scope)
		w.same(before)
		if edits := w.detach(agent, scope); len(edits.Changes) > 0 {
			w.Errorf("detaching again changes %s", edits.Changes[0].Path)
		}
	})
}

// checkAttached checks that pawl's entries are complete and that the user's entries are unchanged.
func (w *world) checkAttached(name string, scope Scope) {
	w.Helper()
	a, err := find(name)
	if err != nil {
		w.Fatal(err)
	}
	for _, target := range a.targets(w.Setup, scope) {
		seen, err := target.inspect([]byte(w.read(target.path)))
		if err != nil || !seen.complete {
			w.Errorf("%s: not attached: %+v, %v\n%s", target.path, seen, err, w.read(target.path))
		}
	}
}

// Without a record, Detach recognizes pawl's entries by their content. It may remove only objects that were empty before.
func TestDetachWithoutRecord(t *testing.T) {
	t.Parallel()
	everyShape(t, func(w *world, path, agent string, scope Scope) {
		text := w.read(path)
		w.attach(agent, scope)
		if err := os.RemoveAll(w.folder(scope)); err != nil {
			w.Fatal(err)
		}
		w.detach(agent, scope)
		got := w.read(path)
		if got != text && squeezed(got) != squeezed(text) {
			w.Errorf("%s\nwas\n%s", got, text)
		}
	})
}

// squeezed is a text without whitespace, and without what was empty in those of the shapes that have such.
func squeezed(text string) string {
	text = strings.Join(strings.Fields(strings.TrimPrefix(text, "\ufeff")), "")
	for _, empty := range []string{`"Stop":[]`, `"SessionEnd":[],`, `,"hooks":{}`} {
		text = strings.ReplaceAll(text, empty, "")
	}
	if text == "" {
		return "{}"
	}
	return strings.ReplaceAll(text, ",}", "}")
}

// Detach keeps the user's later edits and all entries that are not pawl's.
func TestEditedMeanwhile(t *testing.T) {
	t.Parallel()
	everyShape(t, func(w *world, path, agent string, scope Scope) {
		text := w.read(path)
		if len(text) < 20 {
			w.Skip("nothing to edit")
		}
		before := w.tree()
		w.attach(agent, scope)
		w.write(path, edited(w.read(path)))
		if edits := w.attach(agent, scope); len(edits.Changes) > 0 {
			w.Errorf("attaching again changes %s", edits.Changes[0].Path)
		}
		w.detach(agent, scope)
		if got, want := w.read(path), edited(text); got != want {
			w.Errorf("got\n%q\nwant\n%q", got, want)
		}
		w.write(path, text)
		w.same(before)
	})
}

// edited is a text with something new at its beginning and at its end.
func edited(text string) string {
	i := strings.IndexByte(text, '{')
	if strings.Contains(text, "[tui]") {
		return "mine = 'x' # new\n" + strings.TrimPrefix(text, "\ufeff") + "\n# the end\n"
	}
	return text[:i+1] + `"mine": [1, {"hook": "claude"}],` + text[i+1:] + "\n"
}

// All five agents in both scopes, without any settings: attaching creates files and folders, detaching removes them.
func TestFromNothing(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		for _, scope := range []Scope{Project, User} {
			t.Run(name+"/"+string(scope), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				before := w.tree()
				edits := w.attach(name, scope)
				w.checkAttached(name, scope)
				for _, c := range edits.Changes {
					if c.Word() != "made" || filepath.IsAbs(c.Path) {
						t.Errorf("%s was %s", c.Path, c.Word())
					}
				}
				if scope == User && len(w.attach(name, scope).Changes) > 0 {
					t.Error("attaching again changes something")
				}
				w.detach(name, scope)
				w.same(before)
			})
		}
	}
}

// All agents can be attached to one project and detached in any order.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.tree()
	for _, name := range Names() {
		w.attach(name, Project)
	}
	for _, name := range Names() {
		w.checkAttached(name, Project)
		w.detach(name, Project)
	}
	w.same(before)
}

// A program that has moved is put in place of the old one, also in a file that was edited, and detaching still gives back
// every byte.
func TestAnotherProgram(t *testing.T) {
	t.Parallel()
	everyShape(t, func(w *world, path, agent string, scope Scope) {
		text := w.read(path)
		w.attach(agent, scope)
		old := w.Pawl
		w.Pawl = filepath.Join(w.Home, "a b's", "pawl")
		w.attach(agent, scope)
		if strings.Contains(w.read(path), old) {
			w.Errorf("the old program is still there:\n%s", w.read(path))
		}
		w.checkAttached(agent, scope)
		if len(text) > 20 {
			text = edited(text)
			w.write(path, edited(w.read(path)))
		}
		w.Pawl = old
		w.attach(agent, scope)
		w.checkAttached(agent, scope)
		w.detach(agent, scope)
		if got := w.read(path); got != text {
			w.Errorf("got\n%q\nwant\n%q", got, text)
		}
	})
}

// A file that cannot be read is reported with its location, and nothing is changed.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ agent, path, text, want string }{
		{"claude", ".claude/settings.local.json", "{\n  \"a\": 1\n  \"b\": 2\n}", ".claude/settings.local.json:3:3: expected , or } after the member"},
		{"claude", ".claude/settings.local.json", "{\n  \"hooks\": []\n}", ".claude/settings.local.json:2:12: expected an object { … } of events"},
		{"claude", ".claude/settings.local.json", "{\n  \"hooks\": {\"Stop\": {}}\n}", ".claude/settings.local.json:2:21: expected a list [ … ] of hooks for Stop"},
		{"claude", ".mcp.json", "[]", ".mcp.json:1:1: expected an object { … } of settings"},
		{"claude", ".mcp.json", "{\"mcpServers\": null}", ".mcp.json:1:16: mcpServers: expected an object { … }"},
		{"codex", ".codex/config.toml", "model = \"x\n", ".codex/config.toml:1:9: unclosed string"},
		{"codex", ".codex/config.toml", "mcp_servers = {}\n", ".codex/config.toml:1:1: mcp_servers is an inline table"},
		{"gemini", ".gemini/settings.json", "{ // never ends", ".gemini/settings.json:1:16: unexpected end"},
		{"opencode", "opencode.json", "{\"mcp\": {\"a\"}}", "opencode.json:1:13: expected : after the key"},
		{"copilot", ".github/hooks/pawl.json", "{", ".github/hooks/pawl.json:1:2: unexpected end"},
	} {
		w := newWorld(t)
		w.write(filepath.Join(w.Root, c.path), c.text)
		before := w.tree()
		_, err := Attach(c.agent, Project, w.Setup)
		if err == nil || !strings.Contains(err.Error(), c.want) || pawl.KindOf(err) != pawl.KindUsage || pawl.HintOf(err) == "" {
			t.Errorf("%s %q: %v (%s), want %s", c.path, c.text, err, pawl.HintOf(err), c.want)
		}
		w.same(before)
	}
}

// Settings that are links, as with dotfiles that are kept elsewhere: the link stays, what it leads to changes, and that is
// said. A link to nowhere is refused.
func TestLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dotfiles := filepath.Join(filepath.Dir(w.Home), "dotfiles")
	w.write(filepath.Join(dotfiles, "claude", "settings.json"), "{\n  \"model\": \"opus\"\n}\n")
	w.write(filepath.Join(dotfiles, "codex", "AGENTS.md"), "# mine\n")
	if err := os.Mkdir(filepath.Join(w.Home, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{".claude/settings.json": "claude/settings.json", ".codex": "codex"} {
		if err := os.Symlink(filepath.Join(dotfiles, to), filepath.Join(w.Home, from)); err != nil {
			t.Fatal(err)
		}
	}
	before := w.tree()
	edits := w.attach("claude", User)
	if !slices.ContainsFunc(edits.Notes, func(note string) bool {
		return strings.Contains(note, "~/.claude/settings.json is a link to "+dotfiles+"/claude/settings.json")
	}) {
		t.Errorf("the link is not reported: %q", edits.Notes)
	}
	if !strings.Contains(w.read(filepath.Join(dotfiles, "claude", "settings.json")), "SessionStart") {
		t.Error("the file behind the link has no hooks")
	}
	if edits := w.attach("codex", User); len(edits.Notes) != 3 {
		t.Errorf("the folder that is a link is not reported: %q", edits.Notes)
	}
	w.checkAttached("codex", User)
	w.detach("claude", User)
	w.detach("codex", User)
	w.same(before)
	if got := w.read(filepath.Join(dotfiles, "claude", "settings.json")); got != "{\n  \"model\": \"opus\"\n}\n" {
		t.Errorf("behind the link: %q", got)
	}
	if err := os.Symlink("nowhere", filepath.Join(w.Root, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Attach("claude", Project, w.Setup); err == nil || !strings.Contains(err.Error(), "is a link to nowhere, which does not exist") {
		t.Error(err)
	}
}

// A path that is not a regular file is refused without blocking.
func TestNoFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.Root, ".mcp.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Attach("claude", Project, w.Setup); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

// The mode of a file stays; files that are made are the user's own.
func TestModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.Home, ".claude.json")
	w.write(path, "{}\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	w.attach("claude", User)
	for path, want := range map[string]os.FileMode{path: 0o640, filepath.Join(w.Home, ".claude", "settings.json"): 0o600, filepath.Join(w.State, "attach", "claude.json"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// An edited plugin is moved, not deleted.
func TestEditedPlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.tree()
	w.attach("opencode", Project)
	plugin := filepath.Join(w.Root, ".opencode", "plugin", "pawl.js")
	w.write(plugin, w.read(plugin)+"// mine\n")
	edits := w.detach("opencode", Project)
	w.same(before)
	kept, err := filepath.Glob(filepath.Join(w.folder(Project), "edited", "opencode-*-pawl.js"))
	if err != nil || len(kept) != 1 || !strings.HasSuffix(w.read(kept[0]), "// mine\n") || len(edits.Notes) != 1 {
		t.Errorf("kept %v, %v; %q", kept, err, edits.Notes)
	}
}

// A file of the user's that has the name of pawl's file is restored.
func TestOthersSkill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(filepath.Join(w.Root, ".claude", "skills", "pawl", "SKILL.md"), "about ratchets\n")
	before := w.tree()
	w.attach("claude", Project)
	w.checkAttached("claude", Project)
	w.detach("claude", Project)
	w.same(before)
}

// A project that has moved is detached where it is now.
func TestMovedProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(filepath.Join(w.Root, ".mcp.json"), "{ \"mcpServers\": { } }")
	w.attach("claude", Project)
	moved := w.Root + "-elsewhere"
	if err := os.Rename(w.Root, moved); err != nil {
		t.Fatal(err)
	}
	w.Root = moved
	w.detach("claude", Project)
	if got := w.read(filepath.Join(w.Root, ".mcp.json")); got != "{ \"mcpServers\": { } }" {
		t.Errorf("%q", got)
	}
	if isThere(filepath.Join(w.Root, ".claude")) {
		t.Error("the folder that was made is still there")
	}
}

// In both scopes every hook would run twice.
func TestBothScopes(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		w := newWorld(t)
		w.attach(name, User)
		_, err := Attach(name, Project, w.Setup)
		if err == nil || pawl.HintOf(err) != "pawl detach "+name+" --scope user" {
			t.Errorf("%s: %v (%s)", name, err, pawl.HintOf(err))
		}
	}
}

// Detach in the scope in which an agent is not attached changes nothing and names the other one.
func TestDetachNamesTheOtherScope(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		for scope, other := range map[Scope]Scope{Project: User, User: Project} {
			w := newWorld(t)
			w.attach(name, other)
			before := w.tree()
			edits := w.detach(name, scope)
			if len(edits.Changes) > 0 || len(edits.Next) != 1 || !strings.HasSuffix(edits.Next[0], "pawl detach "+name+" --scope "+string(other)) {
				t.Errorf("%s, scope %s: %d changes, next %q", name, scope, len(edits.Changes), edits.Next)
			}
			w.same(before)
		}
	}
}

// Detach finds pawl's entries in edited files also if the variable that named the agent's folder is no longer set.
func TestDetachWithoutTheVariable(t *testing.T) {
	t.Parallel()
	for name, variable := range map[string]string{"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME", "gemini": "GEMINI_CLI_HOME", "opencode": "XDG_CONFIG_HOME", "copilot": "COPILOT_HOME"} {
		w := newWorld(t)
		w.env[variable] = filepath.Join(w.Home, "elsewhere")
		for _, c := range w.attach(name, User).Changes {
			if path := c.file.path; strings.HasSuffix(path, ".json") {
				w.write(path, strings.Replace(w.read(path), "{", `{"mine": 1,`, 1))
			}
		}
		delete(w.env, variable)
		if edits := w.detach(name, User); len(edits.Notes) > 0 {
			t.Errorf("%s: %q", name, edits.Notes)
		}
		for file, text := range w.tree() {
			if strings.Contains(text, w.Pawl) {
				t.Errorf("%s: still attached in %s: %s", name, file, text)
			}
		}
	}
}

// Apply does not overwrite a file that changed since Attach.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	edits, err := Attach("claude", Project, w.Setup)
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.Root, ".mcp.json"), "{\"faster\": true}")
	before := w.tree()
	if err := edits.Apply(); err == nil || !strings.Contains(err.Error(), "at the same time") {
		t.Error(err)
	}
	w.same(before)
}

func TestNoSuchAgent(t *testing.T) {
	t.Parallel()
	if _, err := Attach("aider", Project, newWorld(t).Setup); err == nil || !strings.Contains(err.Error(), "pawl run -- COMMAND…") {
		t.Error(err)
	}
}

// From a group with the user's hooks, only pawl's hook is removed.
func TestHookInAnothersGroup(t *testing.T) {
	t.Parallel()
	const mine = "{\n  \"hooks\": {\"Stop\": [{\"matcher\": \"\", \"hooks\": [{\"type\": \"command\", \"command\": \"bell\"}, OURS]}]}\n}\n"
	w := newWorld(t)
	path := filepath.Join(w.Root, ".claude", "settings.local.json")
	w.write(path, strings.Replace(mine, "OURS", `{"type": "command", "command": "/old/pawl hook claude || true"}`, 1))
	w.detach("claude", Project)
	if got := w.read(path); got != strings.Replace(mine, ", OURS", "", 1) {
		t.Errorf("%s", got)
	}
}

// FuzzEdits checks of settings of any content that what is added leaves them readable and complete, and that taking it
// out again gives the same bytes.
func FuzzEdits(f *testing.F) {
	for _, shape := range shapes {
		if data, err := os.ReadFile(filepath.Join("testdata", "settings", shape.file)); err == nil && strings.HasSuffix(shape.file, "json") {
			f.Add(data)
		}
	}
	setup := Setup{Root: "/p", Home: "/h", Pawl: "/usr/bin/pawl", Env: func(string) string { return "" }}
	target := gemini(setup, Project)[0]
	f.Fuzz(func(t *testing.T, text []byte) {
		seen, err := target.inspect(text)
		if err != nil || seen.any || len(strings.TrimSpace(string(text))) == 0 {
			t.Skip()
		}
		attached, err := target.with(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if seen, err := target.inspect(attached); err != nil || !seen.complete {
			t.Fatalf("%q became %q: %+v, %v", text, attached, seen, err)
		}
		if _, err := jsonedit.ReadJSONC(attached); err != nil {
			t.Fatalf("%q became %q: %v", text, attached, err)
		}
		back, err := target.without(attached, text)
		if err != nil || string(back) != string(text) {
			t.Fatalf("%q became %q and then %q: %v", text, attached, back, err)
		}
	})
}

// A settings file that OpenCode reads first may come later: what was put into the other one is still taken out.
func TestOtherFileMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(filepath.Join(w.Root, "opencode.json"), "{}")
	w.attach("opencode", Project)
	w.write(filepath.Join(w.Root, "opencode.jsonc"), "{ /* mine */ }")
	w.attach("opencode", Project)
	w.detach("opencode", Project)
	if a, b := w.read(filepath.Join(w.Root, "opencode.json")), w.read(filepath.Join(w.Root, "opencode.jsonc")); a != "{}" || b != "{ /* mine */ }" {
		t.Errorf("%q, %q", a, b)
	}
}
