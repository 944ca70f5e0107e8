package attach

import (
	"fmt"

	"pawl"
	"pawl/internal/shellwords"
)

// hooksInMain reports whether the agent reads a project's hooks in a linked worktree from the main worktree. Codex has one list of
// hooks, and one consent to them, for each repository; the other agents read the files of the folder that they start in.
func (a agent) hooksInMain() bool { return a.name == "codex" }

// refusal returns the error for attaching an agent in a linked worktree that reads its hooks from here, the main worktree.
func (p Setup) refusal(a agent) error {
	return &pawl.Error{
		Kind: pawl.KindUsage,
		Err:  fmt.Errorf("%s reads the hooks of a linked worktree from the main worktree, %s: hooks written here would never run", a.name, p.Root),
		Hint: p.command("attach", a),
	}
}

// command returns the command that attaches or detaches an agent in this folder.
func (p Setup) command(verb string, a agent) string {
	return fmt.Sprintf("pawl -C %s %s %s", shellwords.Word(p.Root), verb, a.name)
}

// examineWorktree reports what the files of a linked worktree do not show about an agent: whether pawl gets its sessions there. here
// and user say whether the agent is attached in the worktree and for all projects.
func examineWorktree(a agent, setup Setup, here, user bool) []pawl.Finding {
	main := &examination{agent: a, scope: Project, setup: *setup.Main, elsewhere: true}
	attached := main.check()
	if !attached {
		main.findings = nil
	}
	switch {
	case a.hooksInMain() && here:
		hint := "pawl detach " + a.name
		if !attached {
			hint += " && " + setup.Main.command("attach", a)
		}
		return append(main.findings, pawl.Finding{
			Level: pawl.Bad, What: fmt.Sprintf("%s reads the hooks of a linked worktree from the main worktree, %s: those written here never run", a.name, setup.Main.Root), Hint: hint,
		})
	case a.hooksInMain():
		return main.findings
	case attached && !here && !user:
		return []pawl.Finding{{
			Level: pawl.Warn, What: fmt.Sprintf("%s is attached in the main worktree, %s, but reads the settings of the folder that it starts in: pawl does not record its sessions here", a.name, setup.Main.Root),
			Hint: "pawl attach " + a.name,
		}}
	}
	return nil
}
