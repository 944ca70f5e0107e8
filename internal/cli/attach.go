package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pawl"
	"pawl/internal/attach"
	"pawl/internal/cli/attachview"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/layout"
	"pawl/internal/discover"
	"pawl/internal/project"
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
		RunE: func(c *cobra.Command, args []string) error {
			return a.applyAttach(c.Context(), o, func(setup attach.Setup) (*attach.Edits, error) {
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
	yesFlag(c, &o.yes, helptext.NoAsk)
	return c
}

// applyAttach prints the changes, asks for confirmation on a terminal, and applies them.
func (a *app) applyAttach(ctx context.Context, o attachOptions, prepare func(attach.Setup) (*attach.Edits, error)) error {
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
	report := attachview.Of(edits, o.dryRun)
	if edits.Attaches() {
		for _, found := range a.unimported(ctx) {
			report.Next = append(report.Next, found.Offer())
		}
	}
	if !a.json {
		report.PrintDiffs(a.Out)
		a.printNotes(report.Notes)
	}
	if !o.dryRun {
		if err := a.applyEdits(edits, o.yes); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	report.PrintApplied(a.Out)
	return nil
}

// applyEdits asks for confirmation on a terminal and applies the changes. Attaching initializes a project if there is none.
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
		edits.RecordIn(attach.RecordsOf(p))
	}
	return edits.Apply()
}

// attachSetup returns where to attach agents: the project, or the current folder if there is none.
func (a *app) attachSetup() (attach.Setup, error) {
	here, err := a.here()
	if err != nil {
		return attach.Setup{}, err
	}
	p, _ := a.project() // nil: none yet
	setup, err := attach.SetupOf(p, here)
	setup.Systems = discover.Systems(setup.Root)
	return setup, err
}

// agentFindings reports whether the hooks of attached agents will run. p may be nil.
func (a *app) agentFindings(p *project.Project) []pawl.Finding {
	setup, err := a.attachSetup()
	if err != nil {
		return []pawl.Finding{{Level: pawl.Warn, What: "cannot read the settings of agents: " + err.Error()}}
	}
	if p == nil {
		setup.Root, setup.Main = "", nil
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
		RunE: func(c *cobra.Command, args []string) error {
			return a.applyAttach(c.Context(), o, func(setup attach.Setup) (*attach.Edits, error) {
				return attach.Detach(args[0], attach.Scope(o.scope), setup)
			})
		},
	}
	return a.jsonFlag(o.flags(c))
}
