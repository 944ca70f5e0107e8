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
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/snapshot"
	"pawl/internal/version"
)

func (a *app) attachCommand() *cobra.Command {
	var o attachOptions
	c := &cobra.Command{
		Use:   "attach AGENT",
		Short: "Have a coding agent tell pawl what it does, and be told where things stand",
		Long: "Have a coding agent tell pawl what it does, and be told where things stand\n\nAGENT is " + strings.Join(attach.Names(), ", ") + ". Its settings get hooks,\n" +
			"the MCP server and a skill or command; what else is in them stays as it is. `pawl detach` gives back what was there.",
		Example:           "  pawl attach claude --dry-run\n  pawl attach codex --scope user",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeAgents,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.attachment(o, func(place attach.Place) (*attach.Deed, error) {
				return attach.Attach(args[0], attach.Scope(o.scope), place)
			})
		},
	}
	return a.jsonFlag(o.flags(c))
}

func completeAgents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return attach.Names(), cobra.ShellCompDirectiveNoFileComp
}

type attachOptions struct {
	scope       string
	dryRun, yes bool
}

func (o *attachOptions) flags(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&o.scope, "scope", string(attach.Project), "project, for this project, or user, for all of yours")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only show what would change")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return c
}

// attachReport is what `pawl attach --json` and `pawl detach --json` print.
type attachReport struct {
	Agent  string         `json:"agent"`
	Scope  attach.Scope   `json:"scope"`
	DryRun bool           `json:"dry_run,omitempty"`
	Files  []attachedFile `json:"files"` // that change; none: all is as it should be
	Notes  []string       `json:"notes"`
	Next   []string       `json:"next"` // what is left to a person to do
}

type attachedFile struct {
	Path   string `json:"path"`
	Change string `json:"change"` // made, changed or removed
	Diff   string `json:"diff"`
}

// attachment shows what a deed changes, asks where somebody is there to ask, and carries it out.
func (a *app) attachment(o attachOptions, prepare func(attach.Place) (*attach.Deed, error)) error {
	if scope := attach.Scope(o.scope); scope != attach.Project && scope != attach.User {
		return usageError("pawl attach --help", "no scope %q: want project or user", o.scope)
	}
	place, err := a.place()
	if err != nil {
		return err
	}
	deed, err := prepare(place)
	if err != nil {
		return err
	}
	report := reportDeed(deed, o.dryRun)
	if !a.json {
		a.printDeed(report)
	}
	if !o.dryRun {
		if err := a.carryOut(deed, o.yes); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	a.printDone(report)
	return nil
}

// carryOut asks a person, if there is one, and does the deed. Attaching to a folder makes it a project.
func (a *app) carryOut(deed *attach.Deed, yes bool) error {
	if in, ok := a.In.(*os.File); len(deed.Changes) > 0 && !yes && ok && term.IsTerminal(int(in.Fd())) && onTerminal(a.Out) {
		if err := a.confirm(fmt.Sprintf("Change these files (%d)?", len(deed.Changes))); err != nil {
			return err
		}
	}
	if deed.Attaches() && deed.Scope == attach.Project && len(deed.Changes) > 0 {
		p, err := a.projectOrInit()
		if err != nil {
			return err
		}
		a.register(p)
	}
	return deed.Do()
}

func reportDeed(deed *attach.Deed, dryRun bool) attachReport {
	secrets := redact.New(os.Environ())
	report := attachReport{Agent: deed.Agent, Scope: deed.Scope, DryRun: dryRun, Files: []attachedFile{}, Notes: append([]string{}, deed.Notes...), Next: append([]string{}, deed.Next...)}
	for _, c := range deed.Changes {
		diff := secrets.Text(snapshot.TextPatch(c.Path, c.Old, c.New))
		report.Files = append(report.Files, attachedFile{Path: c.Path, Change: c.Word(), Diff: diff})
	}
	return report
}

func (a *app) printDeed(r attachReport) {
	for _, f := range r.Files {
		fmt.Fprint(a.Out, f.Diff)
		if !strings.HasSuffix(f.Diff, "\n") {
			fmt.Fprintln(a.Out)
		}
	}
	a.sayNotes(r.Notes)
}

func (a *app) printDone(r attachReport) {
	switch {
	case len(r.Files) == 0:
		fmt.Fprintf(a.Out, "%s, scope %s: nothing to change\n", r.Agent, r.Scope)
		return
	case r.DryRun:
		fmt.Fprintln(a.Out, "nothing was changed")
		return
	}
	for _, f := range r.Files {
		fmt.Fprintf(a.Out, "%-8s %s\n", f.Change, f.Path)
	}
	for _, next := range r.Next {
		fmt.Fprintf(a.Out, "next: %s\n", next)
	}
}

// place is where agents are attached: in the project, or in the current folder where there is none.
func (a *app) place() (attach.Place, error) {
	place := attach.Place{Env: os.Getenv}
	root, err := a.here()
	if p, findErr := a.project(); findErr == nil {
		root = p.Root
	}
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err == nil {
		place.Root, err = filepath.EvalSymlinks(root)
	}
	if err == nil {
		place.Home, err = os.UserHomeDir()
	}
	if err == nil {
		place.State, err = project.StateFolder()
	}
	if err == nil {
		place.Pawl, err = ourself()
	}
	if f, openErr := version.OpenHookProgram(filepath.Dir(place.Pawl)); err == nil && openErr == nil {
		place.Hook = f.Name()
		f.Close()
	}
	return place, err
}

// ourself is this program as others should start it: by the name that PATH finds it under, if it does, for that outlives
// updates; else where it really is.
func ourself() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own program: %w", err)
	}
	found, err := exec.LookPath(filepath.Base(self))
	if err != nil || !filepath.IsAbs(found) || strings.Contains(found, "/"+project.Folder+"/") { // a step's own link
		return self, nil
	}
	us, err := os.Stat(self)
	if there, thereErr := os.Stat(found); err == nil && thereErr == nil && os.SameFile(us, there) {
		return found, nil
	}
	return self, nil
}

// agentFindings says whether the hooks of attached agents will run. There need not be a project.
func (a *app) agentFindings(p *project.Project) []pawl.Finding {
	place, err := a.place()
	if err != nil {
		return []pawl.Finding{{Level: pawl.Warn, What: "cannot look at the settings of agents: " + err.Error()}}
	}
	if p == nil {
		place.Root = ""
	}
	return attach.Examine(place, time.Now())
}
