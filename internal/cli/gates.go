package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// gateReport is an open gate with what a person may type.
type gateReport struct {
	ID       pawl.GateID     `json:"id"`
	Step     pawl.StepID     `json:"step,omitempty"`
	Item     pawl.ItemID     `json:"item,omitempty"`
	Type     pawl.GateType   `json:"type"`
	Purpose  pawl.Purpose    `json:"purpose,omitempty"`
	Ask      string          `json:"ask"`
	Options  []string        `json:"options,omitempty"`
	Default  string          `json:"default,omitempty"`
	Expect   string          `json:"expect,omitempty"`
	Shown    pawl.Outputs    `json:"shown,omitempty"`
	Checks   []pawl.CheckRun `json:"checks,omitempty"`
	Opened   time.Time       `json:"opened_at"`
	Expires  *time.Time      `json:"expires_at,omitempty"`
	Commands []string        `json:"commands"`
}

func gateOf(g *pawl.GateState) gateReport {
	return gateReport{
		ID: g.ID, Step: g.Step, Item: g.Item, Type: g.Type, Purpose: g.Purpose, Ask: g.Ask, Options: g.Options, Default: g.Default,
		Expect: g.Expect, Shown: g.Shown, Checks: g.Checks, Opened: g.Opened, Expires: pointer(g.Expires), Commands: runs.AnswerCommands(g),
	}
}

func printGate(w io.Writer, g gateReport) {
	fmt.Fprintf(w, "gate %s  %s", g.ID, g.Type)
	if g.Step != "" {
		fmt.Fprintf(w, "  step %s", g.Step)
	}
	fmt.Fprintf(w, "\n  %s\n", g.Ask)
	if g.Expect != "" {
		fmt.Fprintf(w, "  expected: %s\n", g.Expect)
	}
	for _, path := range slices.Sorted(maps.Keys(g.Shown)) {
		c := g.Shown[path]
		size := fmt.Sprintf("%d bytes", c.Size)
		if c.Files > 0 {
			size = fmt.Sprintf("%d files", c.Files)
		}
		fmt.Fprintf(w, "  shown: %s  sha256 %.12s  %s\n", path, c.SHA256, size)
	}
	for _, c := range g.Checks {
		word := "passes"
		if c.Exit != 0 {
			word = fmt.Sprintf("fails (exit code %d)", c.Exit)
		}
		fmt.Fprintf(w, "  check: %s %s\n", c.Name, word)
	}
	if g.Expires != nil {
		fmt.Fprintf(w, "  expires: %s\n", g.Expires.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	for _, command := range g.Commands {
		fmt.Fprintf(w, "  %s\n", command)
	}
}

func (a *app) gatesCommand() *cobra.Command {
	return a.jsonFlag(a.reading("gates [RUN]", "List what a person is asked", func(_ context.Context, _ *project.Project, r *runs.Run) error {
		return a.printGates(r)
	}))
}

func (a *app) printGates(r *runs.Run) error {
	reports := []gateReport{}
	for _, g := range r.State.OpenGates() {
		reports = append(reports, gateOf(g))
	}
	if a.json {
		return a.printJSON(reports)
	}
	for i, g := range reports {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		printGate(a.Out, g)
	}
	for _, step := range r.Plan.Steps() {
		if st := r.State.Steps[step.ID]; st != nil && st.Status == pawl.AwaitsReview {
			fmt.Fprintf(a.Out, "review  step %s waits for: %s\n", step.ID, strings.Join(st.Unreviewed(), ", "))
			reports = append(reports, gateReport{})
		}
	}
	if len(reports) == 0 {
		fmt.Fprintln(a.Out, "no gate is open")
	}
	return nil
}

// onGate is a command that closes a gate. The gate may be named by its id, a prefix of it, or its step.
func (a *app) onGate(use, short string, args cobra.PositionalArgs, act func(id pawl.GateID, args []string) runs.Act, done string) *cobra.Command {
	var run string
	c := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			id, err := a.gateID(ctx, run, args[0])
			if err != nil {
				return err
			}
			p, r, err := a.perform(ctx, run, act(id, args[1:]))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintf(a.Out, "gate %s %s\n", id, done)
			if _, alive := p.EngineHolder(); !alive {
				fmt.Fprintf(a.Err, "pawl: hint: pawl resume %s\n", r.State.Run)
			}
			return nil
		},
	}
	c.Flags().StringVar(&run, "run", "", "of this run (default: the current one)")
	return c
}

func (a *app) gateID(ctx context.Context, run, name string) (pawl.GateID, error) {
	_, r, err := a.look(ctx, run)
	if err != nil {
		return "", err
	}
	defer r.Log.Close()
	var found []pawl.GateID
	for _, g := range r.State.OpenGates() {
		if string(g.Step) == name || strings.HasPrefix(string(g.ID), name) {
			found = append(found, g.ID)
		}
	}
	switch len(found) {
	case 0:
		return pawl.GateID(name), nil // the act says why it cannot be
	case 1:
		return found[0], nil
	}
	return "", usageError("pawl gates", "%q names %d open gates", name, len(found))
}

func (a *app) approveCommand() *cobra.Command {
	var why string
	c := a.onGate("approve GATE", "Approve what a gate shows, exactly that", cobra.ExactArgs(1),
		func(id pawl.GateID, _ []string) runs.Act { return runs.Approve(id, why) }, "approved")
	c.Flags().StringVarP(&why, "message", "m", "", "why")
	return c
}

func (a *app) rejectCommand() *cobra.Command {
	var why string
	var stop bool
	c := a.onGate("reject GATE -m WHY", "Have the steps that a gate needs done again, or fail the run", cobra.ExactArgs(1),
		func(id pawl.GateID, _ []string) runs.Act { return runs.Reject(id, why, stop) }, "rejected")
	c.Flags().StringVarP(&why, "message", "m", "", "what is wrong; the next attempt is told")
	c.Flags().BoolVar(&stop, "stop", false, "fail the run instead")
	if err := c.MarkFlagRequired("message"); err != nil {
		panic(err)
	}
	return c
}

func (a *app) answerCommand() *cobra.Command {
	var why string
	c := a.onGate("answer GATE OPTION", "Choose one of a decision's options", cobra.ExactArgs(2),
		func(id pawl.GateID, args []string) runs.Act { return runs.Choose(id, args[0], why) }, "answered")
	c.Flags().StringVarP(&why, "message", "m", "", "why")
	return c
}

func (a *app) askCommand() *cobra.Command {
	var run string
	action := pawl.GateAction{Type: pawl.HumanAction}
	c := &cobra.Command{
		Use:   "ask QUESTION",
		Short: "Open a gate: inside a step, for that step; else for the run",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			action.Ask = args[0]
			if len(action.Options) > 0 {
				action.Type = pawl.DecisionFor
			}
			if step := inside(); step != nil {
				return a.askInside(step, action)
			}
			_, r, err := a.perform(c.Context(), run, runs.Ask(action))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintln(a.Out, action.Gate("", "", time.Time{}).ID)
			return nil
		},
	}
	c.Flags().StringVar(&run, "run", "", "of this run (default: the current one)")
	c.Flags().StringSliceVar(&action.Options, "option", nil, "an answer to choose from (makes it a decision)")
	c.Flags().StringVar(&action.Default, "default", "", "the answer when nobody gives one in time")
	c.Flags().StringVar(&action.Expect, "expect", "", "what the person should find")
	return c
}

// askInside opens a gate for the step that this runs in, and notes in its result that it waits for the answer.
func (a *app) askInside(step *runs.StepClient, action pawl.GateAction) error {
	gate, err := step.OpenGate(action)
	if err != nil {
		return err
	}
	if err := step.MarkWaiting(action); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, gate.ID)
	fmt.Fprintln(a.Err, "pawl: end this step now with exit code 0; it goes on in a new attempt once the gate is answered")
	return nil
}

func (a *app) reviewCommand() *cobra.Command {
	var run, by, comment string
	var score int
	c := &cobra.Command{
		Use:   "review STEP --by NAME --score N",
		Short: "Score a finished step, 0 to 100",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			_, r, err := a.perform(c.Context(), run, runs.Review(pawl.StepID(args[0]), by, score, comment))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			st := r.State.Steps[pawl.StepID(args[0])]
			fmt.Fprintf(a.Out, "step %s: %d by %s; %s (run %s)\n", args[0], score, by, st.Status, r.State.Run)
			return nil
		},
	}
	c.Flags().StringVar(&run, "run", "", "of this run (default: the current one)")
	c.Flags().StringVar(&by, "by", "", "the reviewer")
	c.Flags().IntVar(&score, "score", -1, "0 to 100")
	c.Flags().StringVarP(&comment, "message", "m", "", "what is to be better")
	for _, flag := range []string{"by", "score"} {
		if err := c.MarkFlagRequired(flag); err != nil {
			panic(err)
		}
	}
	return c
}
