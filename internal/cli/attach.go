package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pawl"
	"pawl/internal/attach"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/snapshot"
	"pawl/internal/userdir"
	"pawl/internal/version"
)

func (a *app) attachCommand() *cobra.Command {
	var o attachOptions
	c := &cobra.Command{
		Use:   "attach AGENT",
		Short: "Connect a coding agent: install hooks, MCP server and skill",
		Long: "Connect a coding agent: install hooks, MCP server and skill\n\nAGENT is one of " + strings.Join(attach.Names(), ", ") + ".\n" +
			"pawl adds its hooks, its MCP server and a skill (or command) to the agent's settings, and changes nothing else in\n" +
			"them. On a terminal it asks first; without a terminal it applies the changes at once.\n`pawl detach` removes what attach added.",
		Example: "  pawl attach claude --dry-run\n  pawl attach codex --scope user",
		Args:    exactArgs(agentArgument()),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.applyAttach(o, func(setup attach.Setup) (*attach.Edits, error) {
				return attach.Attach(args[0], attach.Scope(o.scope), setup)
			})
		},
	}
	return a.jsonFlag(o.flags(c))
}

// agentArgument is AGENT.
func agentArgument() argument {
	return argument{name: "AGENT", hint: "pawl attach --help", candidates: func(*cobra.Command) string { return layout.Candidates("agents", attach.Names()) }}
}

type attachOptions struct {
	scope       string
	dryRun, yes bool
}

func (o *attachOptions) flags(c *cobra.Command) *cobra.Command {
	o.scope = string(attach.Project)
	textFlag(c, &o.scope, "scope", "SCOPE", "whose settings: project (this project only) or user (all your projects)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the changes and exit")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	return c
}

// attachReport is what `pawl attach --json` and `pawl detach --json` print.
type attachReport struct {
	Agent  string         `json:"agent"`
	Scope  attach.Scope   `json:"scope"`
	DryRun bool           `json:"dry_run,omitempty"`
	Files  []attachedFile `json:"files"` // changed files; empty: nothing to change
	Notes  []string       `json:"notes"`
	Next   []string       `json:"next"` // what the user has to do next

	detached bool // there is nothing to detach
}

type attachedFile struct {
	Path   string `json:"path"`
	Change string `json:"change"` // see attach.Change.Word
	Diff   string `json:"diff"`
}

// applyAttach prints the changes, asks for confirmation on a terminal, and applies them.
func (a *app) applyAttach(o attachOptions, prepare func(attach.Setup) (*attach.Edits, error)) error {
	if scope := attach.Scope(o.scope); scope != attach.Project && scope != attach.User {
		return usageError("pawl attach --help", "unknown scope %q; expected project or user", o.scope)
	}
	setup, err := a.attachSetup()
	if err != nil {
		return err
	}
	edits, err := prepare(setup)
	if err != nil {
		return err
	}
	report := reportEdits(edits, o.dryRun)
	report.detached = !edits.Attaches() && len(edits.Changes) == 0
	if !a.json {
		a.printDiffs(report)
	}
	if !o.dryRun {
		if err := a.applyEdits(edits, o.yes); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	a.printApplied(report)
	return nil
}

// applyEdits asks for confirmation on a terminal and applies the changes. Attaching initialises a project if there is none.
func (a *app) applyEdits(edits *attach.Edits, yes bool) error {
	if in, ok := a.In.(*os.File); len(edits.Changes) > 0 && !yes && ok && term.IsTerminal(int(in.Fd())) && layout.IsTerminal(a.Out) {
		if err := a.confirm("this changes "+layout.Count(len(edits.Changes), "file"), fmt.Sprintf("Change %s?", layout.Count(len(edits.Changes), "file"))); err != nil {
			return err
		}
	}
	if edits.Attaches() && edits.Scope == attach.Project && len(edits.Changes) > 0 {
		p, err := a.projectOrInit()
		if err != nil {
			return err
		}
		a.register(p)
		edits.RecordIn(p.Trust.Folder)
	}
	return edits.Apply()
}

func reportEdits(edits *attach.Edits, dryRun bool) attachReport {
	secrets := redact.New(os.Environ())
	report := attachReport{Agent: edits.Agent, Scope: edits.Scope, DryRun: dryRun, Files: []attachedFile{}, Notes: append([]string{}, edits.Notes...), Next: append([]string{}, edits.Next...)}
	for _, c := range edits.Changes {
		diff := secrets.Text(snapshot.TextPatch(c.Path, c.Old, c.New))
		report.Files = append(report.Files, attachedFile{Path: c.Path, Change: c.Word(), Diff: diff})
	}
	return report
}

func (a *app) printDiffs(r attachReport) {
	for _, f := range r.Files {
		fmt.Fprint(a.Out, f.Diff)
		if !strings.HasSuffix(f.Diff, "\n") {
			fmt.Fprintln(a.Out)
		}
	}
	a.printNotes(r.Notes)
}

func (a *app) printApplied(r attachReport) {
	switch {
	case r.detached:
		fmt.Fprintf(a.Out, "%s is not attached (scope %s)\n", r.Agent, r.Scope)
		return
	case len(r.Files) == 0:
		fmt.Fprintf(a.Out, "%s, scope %s: already up to date, nothing to change\n", r.Agent, r.Scope)
		return
	case r.DryRun:
		fmt.Fprintln(a.Out, "dry run: nothing was changed")
		return
	}
	for _, f := range r.Files {
		fmt.Fprintf(a.Out, "%-8s %s\n", f.Change, f.Path)
	}
	for _, next := range r.Next {
		fmt.Fprintf(a.Out, "next: %s\n", next)
	}
}

// attachSetup returns where to attach agents: the project, or the current folder if there is none.
func (a *app) attachSetup() (attach.Setup, error) {
	setup := attach.Setup{Env: os.Getenv}
	root, err := a.here()
	if p, findErr := a.project(); findErr == nil {
		root = p.Root
		if p.Trust.Trusted() {
			setup.Data = p.Trust.Folder
		}
	}
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err == nil {
		setup.Root, err = filepath.EvalSymlinks(root)
	}
	if err == nil {
		setup.Home, err = os.UserHomeDir()
	}
	if err == nil {
		setup.State, err = userdir.State()
	}
	if err == nil {
		setup.Pawl, err = ownProgram()
	}
	if f, openErr := version.OpenHookProgram(filepath.Dir(setup.Pawl)); err == nil && openErr == nil {
		setup.Hook = f.Name()
		f.Close()
	}
	return setup, err
}

// ownProgram returns the path under which others should start this program. The path found through PATH is preferred
// to the real one, because it survives updates.
func ownProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of the running program: %w", err)
	}
	found, err := exec.LookPath(filepath.Base(self))
	if err != nil || !filepath.IsAbs(found) || strings.Contains(found, "/"+project.Folder+"/") { // a link that pawl made for a step
		return self, nil
	}
	us, err := os.Stat(self)
	if there, thereErr := os.Stat(found); err == nil && thereErr == nil && os.SameFile(us, there) {
		return found, nil
	}
	return self, nil
}

// agentFindings reports whether the hooks of attached agents will run. p may be nil.
func (a *app) agentFindings(p *project.Project) []pawl.Finding {
	setup, err := a.attachSetup()
	if err != nil {
		return []pawl.Finding{{Level: pawl.Warn, What: "cannot read the settings of agents: " + err.Error()}}
	}
	if p == nil {
		setup.Root = ""
	}
	return attach.Examine(setup, time.Now())
}

func (a *app) detachCommand() *cobra.Command {
	var o attachOptions
	c := &cobra.Command{
		Use:   "detach AGENT",
		Short: "Disconnect an agent: remove what attach installed",
		Long: "Disconnect an agent: remove what attach installed\n\nAGENT is one of " + strings.Join(attach.Names(), ", ") + ".\n" +
			"A file that was not edited since attach is restored byte for byte. From an edited file, only pawl's entries are removed.",
		Example: "  pawl detach claude --dry-run",
		Args:    exactArgs(agentArgument()),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.applyAttach(o, func(setup attach.Setup) (*attach.Edits, error) {
				return attach.Detach(args[0], attach.Scope(o.scope), setup)
			})
		},
	}
	return a.jsonFlag(o.flags(c))
}
