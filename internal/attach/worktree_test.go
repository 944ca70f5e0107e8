package attach

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
)

// inWorktree makes the world's project the main worktree, and its setup that of a linked worktree.
func (w *world) inWorktree() {
	w.Helper()
	main := w.Setup
	w.Main, w.Root, w.Data = &main, filepath.Join(filepath.Dir(w.Root), "tree"), filepath.Join(w.Data, "worktrees", "1")
	if err := os.Mkdir(w.Root, 0o755); err != nil {
		w.Fatal(err)
	}
}

// TestCodexInAWorktree: hooks that Codex would never read are not written, and those of an older pawl can be removed.
func TestCodexInAWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inWorktree()
	_, err := Attach("codex", Project, w.Setup)
	if err == nil || pawl.HintOf(err) != "pawl -C "+w.Main.Root+" attach codex" || !strings.Contains(err.Error(), w.Main.Root) {
		t.Errorf("attach: %v; hint %q", err, pawl.HintOf(err))
	}
	if got := w.tree(); len(got) != 2 { // the two folders
		t.Errorf("files were written: %v", got)
	}
	main := w.Main
	w.Main = nil // as an older pawl
	before := w.tree()
	w.attach("codex", Project)
	w.Main = main
	findings := fmt.Sprint(Examine(w.Setup, time.Now()))
	if !strings.Contains(findings, "those written here never run") || !strings.Contains(findings, "pawl detach codex && pawl -C "+main.Root+" attach codex") || strings.Contains(findings, "not trusted yet") {
		t.Errorf("doctor: %s", findings)
	}
	w.detach("codex", Project)
	if got := w.tree(); !maps.Equal(got, before) {
		t.Errorf("after detach: %v", got)
	}
	w.do(Attach("codex", Project, *main))
	findings = fmt.Sprint(Examine(w.Setup, time.Now()))
	if !strings.Contains(findings, "11 of 11 hooks do not run: they are not trusted yet") || strings.Contains(findings, "never run") {
		t.Errorf("doctor, attached in the main worktree: %s", findings)
	}
}

// TestOtherAgentsInAWorktree: they read the settings of the worktree itself, so it is attached and detached by itself.
func TestOtherAgentsInAWorktree(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"claude", "gemini", "opencode", "copilot"} {
		w := newWorld(t)
		w.do(Attach(agent, Project, w.Setup))
		w.inWorktree()
		findings := Examine(w.Setup, time.Now())
		if len(findings) != 1 || findings[0].Level != pawl.Warn || findings[0].Hint != "pawl attach "+agent || !strings.Contains(findings[0].What, "pawl does not record its sessions here") {
			t.Errorf("%s: not attached here: %s", agent, findings)
		}
		if _, err := Attach(agent, User, w.Setup); err == nil || pawl.HintOf(err) != "pawl -C "+w.Main.Root+" detach "+agent+" --scope project" {
			t.Errorf("%s: attached twice: %v; hint %q", agent, err, pawl.HintOf(err))
		}
		before := w.tree()
		w.attach(agent, Project)
		if findings := fmt.Sprint(Examine(w.Setup, time.Now())); !works(agent, findings) {
			t.Errorf("%s: attached here: %s", agent, findings)
		}
		w.detach(agent, Project)
		if got := w.tree(); !maps.Equal(got, before) {
			t.Errorf("%s: after detach: %v", agent, got)
		}
		if findings := fmt.Sprint(Examine(*w.Main, time.Now())); !works(agent, findings) {
			t.Errorf("%s: the main worktree: %s", agent, findings)
		}
	}
}

// works reports whether findings are all that there is to say of an agent whose hooks are in place. Gemini CLI's user has yet to trust
// the folder.
func works(agent, findings string) bool {
	want := agent + " is attached, scope project"
	if agent == "gemini" || agent == "copilot" {
		want = agent + ": this folder is not trusted"
	}
	return strings.Contains(findings, want) && strings.Count(findings, "{") == 1
}

// TestUserScopeCoversWorktrees: an agent that is attached for all projects needs nothing in a worktree.
func TestUserScopeCoversWorktrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inWorktree()
	w.attach("claude", User)
	for _, also := range []string{"", "in the main worktree too"} {
		if also != "" {
			main := *w.Main
			main.Home = w.Root // without the settings for all projects
			w.do(Attach("claude", Project, main))
		}
		if findings := Examine(w.Setup, time.Now()); len(findings) != 1 || findings[0].Level != pawl.OK {
			t.Errorf("%s: %+v", also, findings)
		}
	}
}
