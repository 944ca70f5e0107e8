package attach

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dialects "pawl/internal/agents"
)

// asked returns what an agent's user asked for, if the agent passes the text of a command to its hook as the prompt.
func asked(t *testing.T, agent, text string) string {
	t.Helper()
	d, err := dialects.Find(agent)
	if err != nil {
		t.Fatal(err)
	}
	event := map[string]string{"gemini": "BeforeAgent"}[agent]
	payload, err := json.Marshal(map[string]string{"hook_event_name": cmp.Or(event, "UserPromptSubmit"), "session_id": "s", "prompt": strings.TrimSuffix(text, "'''\n")})
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.Parse(payload)
	if err != nil {
		t.Fatal(err)
	}
	return e.Text
}

// TestCommands: pawl's own command is installed everywhere, that of another system only where there are files of it, and none over
// one of the user's. Doctor names those that are there, and detach removes them.
func TestCommands(t *testing.T) {
	t.Parallel()
	for agent, c := range map[string]struct{ folder, ext, separator, arguments string }{
		"claude": {".claude/commands", ".md", ":", "$ARGUMENTS"}, "gemini": {".gemini/commands", ".toml", ":", "{{args}}"}, "opencode": {".opencode/command", ".md", "/", "$ARGUMENTS"},
	} {
		for _, scope := range []Scope{Project, User} {
			t.Run(agent+"/"+string(scope), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.Systems = []string{"grid", "dotagent"}
				folder := filepath.Join(map[Scope]string{Project: w.Root, User: w.Home}[scope], c.folder)
				if agent == "opencode" && scope == User {
					folder = filepath.Join(w.Home, ".config/opencode/command")
				}
				develop := filepath.Join(folder, "develop"+c.ext)
				w.write(develop, "mine\n")
				before := w.tree()
				edits := w.attach(agent, scope)
				if notes := strings.Join(edits.Notes, "\n"); w.read(develop) != "mine\n" || !strings.Contains(notes, "/develop does not call pawl") {
					t.Errorf("%q", notes)
				}
				text := w.read(filepath.Join(folder, "grid/resume"+c.ext))
				for _, part := range []string{"bin/pawl import grid --dry-run`", "bin/pawl resume`", "Asked for: " + c.arguments} {
					if !strings.Contains(text, part) || strings.Contains(text, "{{import") || strings.Contains(text, "{{about") || strings.Contains(text, "{{pawl") {
						t.Errorf("no %q in\n%s", part, text)
					}
				}
				if _, err := os.Stat(filepath.Join(folder, "dispatch-sitebuilder"+c.ext)); err == nil {
					t.Error("a command of a system without files here")
				}
				typed := "Resume an interrupted mission of The Grid with pawl: the letters"
				if asked := asked(t, agent, strings.ReplaceAll(text, c.arguments, "the letters")); asked != typed {
					t.Errorf("asked %q", asked)
				}
				w.Systems = nil // its files are gone: what is installed stays
				if again := w.attach(agent, scope); len(again.Changes) > 0 {
					t.Errorf("attaching again: %+v", again.Changes)
				}
				found := Examine(w.Setup, time.Now())
				if want := "/pawl" + c.separator + "resume, /grid" + c.separator + "resume"; agent != "gemini" && (len(found) == 0 || !strings.Contains(found[0].Evidence, want)) {
					t.Errorf("%+v", found)
				}
				w.detach(agent, scope)
				w.same(before)
			})
		}
	}
}

// TestCommandsOfOtherSystems: each system with commands of its own gets them in projects with its files, and each calls pawl.
func TestCommandsOfOtherSystems(t *testing.T) {
	t.Parallel()
	for name, system := range map[string]string{"grid/resume": "grid", "develop": "dotagent", "dispatch-sitebuilder": "sitebuilder"} {
		w := newWorld(t)
		w.Systems = []string{system}
		w.attach("claude", Project)
		text := w.read(filepath.Join(w.Root, ".claude/commands", name+".md"))
		for _, part := range []string{"import " + system + " --dry-run`", "resume`"} {
			if !strings.Contains(text, part) {
				t.Errorf("/%s: no %q in\n%s", name, part, text)
			}
		}
	}
}
