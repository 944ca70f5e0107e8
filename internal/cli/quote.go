package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/permission"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// topLevel returns the command of the first level that c is or belongs to.
func topLevel(c *cobra.Command) *cobra.Command {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}

// independent are the commands that do nothing with the project of the current folder. A step reports progress by its own files.
var independent = []string{"help", "completion", "schema", "version", "progress", "hook", "serve", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// reporters are the commands that, inside a step, only write to the file of its attempt. A step of another user than pawl's may use them.
var reporters = []string{"ask", "block", "checkpoint", "decide", "learn"}

// requireTrust returns an error in an untrusted project, unless the command only reads. Not every command needs the project
// before it changes files, prints what it finds, or asks a question.
func (a *app) requireTrust(c *cobra.Command) error {
	if a.reads || !c.HasParent() || slices.Contains(independent, topLevel(c).Name()) || stepClient() != nil && slices.Contains(reporters, topLevel(c).Name()) {
		return nil
	}
	p, err := a.locate()
	switch {
	case err == nil && p.Trust.Trusted():
		a.found = p
		return nil
	case err == nil:
		return needsAdoption(c, a.inherit(c, p), p)
	case pawl.KindOf(err) == pawl.KindDamaged: // for example a link
		return err
	}
	return nil // the command reports it
}

// needsAdoption adds to the refusal of an untrusted project that the command's run needs adoption too.
func needsAdoption(c *cobra.Command, refusal error, p *project.Project) error {
	run, name := pawl.RunID(""), ""
	if c.Name() == "resume" {
		name = c.Flags().Arg(0)
	}
	if pawl.HintOf(refusal) == "pawl trust" && permission.Continues(topLevel(c).Name()) {
		run = runs.ToAdopt(c.Context(), p, name)
	}
	if run == "" {
		return refusal
	}
	return &pawl.Error{Kind: pawl.KindOf(refusal), Err: fmt.Errorf("%w; run %s comes from elsewhere too", refusal, run), Hint: "pawl trust && pawl adopt " + string(run)}
}

// quoteForeignRun marks all that the command prints about a run that was made elsewhere.
func (a *app) quoteForeignRun(p *project.Project, run pawl.RunID) {
	if err := runs.RequireOwn(p, run); err != nil {
		a.quote(err, "to accept it: pawl adopt "+string(run))
	}
}

// reachable returns a command that pawl suggests, or "pawl trust" if the command is refused before that, in an untrusted project.
func (a *app) reachable(command string) string {
	if words := strings.Fields(command); a.untrusted && len(words) > 1 && words[0] == "pawl" && !permission.Reader(words[1]) {
		return "pawl trust"
	}
	return command
}

// reachableHint returns an error with a reachable hint.
func (a *app) reachableHint(err error) error {
	hint := pawl.HintOf(err)
	if instead := a.reachable(hint); instead != hint {
		return &pawl.Error{Kind: pawl.KindOf(err), Err: err, Hint: instead}
	}
	return err
}

// quote marks all that the command prints as unverified: JSON by a note, text by a note and "> " before each line.
func (a *app) quote(why error, remedy string) {
	if _, done := a.Out.(*layout.Quoter); done {
		return
	}
	fmt.Fprintf(a.Err, "pawl: note: %v\npawl: note: what follows comes from its files and is unverified; %s\n", why, remedy)
	if !a.json {
		a.Out = &layout.Quoter{Out: a.Out}
	}
}

// unquoted returns where pawl's own words go while the rest is quoted.
func (a *app) unquoted() io.Writer {
	if q, ok := a.Out.(*layout.Quoter); ok {
		return q.Out
	}
	return a.Out
}
