package cli

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/outcome"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) gatesCommand() *cobra.Command {
	return a.jsonFlag(a.readRunCommand("gates [RUN]", "List open gates (pending approvals, decisions and questions) and missing reviews", func(ctx context.Context, p *project.Project, r *runs.Run) error {
		return a.printGates(r, hints.Namer(ctx, p, r.State.Run))
	}))
}

func (a *app) printGates(r *runs.Run, onRun func(string) string) error {
	reports := []layout.GateReport{}
	for _, g := range r.State.OpenGates() {
		reports = append(reports, layout.GateReportOf(r.Plan, r.State, g).With(onRun))
	}
	if a.json {
		return a.printJSON(reports)
	}
	var missing []layout.MissingReview
	for _, step := range r.Plan.Steps() {
		if st := r.State.Steps[step.ID]; st != nil && st.Status == pawl.AwaitsReview {
			missing = append(missing, layout.MissingReview{Step: step.ID, From: st.Unreviewed()})
		}
	}
	layout.PrintGates(a.Out, reports, missing)
	return nil
}

// gateCommand builds a command that answers a gate. The gate is named by its id, a prefix of the id, or its step.
func (a *app) gateCommand(use, short string, args cobra.PositionalArgs, act func(g *pawl.GateState, args []string) (runs.Act, error), done string) *cobra.Command {
	var run string
	var resume bool
	c := &cobra.Command{
		Use: use, Short: short, Long: short + "\n\n" + helptext.Gate, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			g, err := a.findGate(ctx, run, args[0])
			if err != nil {
				return err
			}
			act, err := act(g, args[1:])
			if err != nil {
				return err
			}
			p, r, err := a.perform(ctx, run, act)
			if err != nil {
				return err
			}
			if err := r.Log.Close(); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, outcome.Gate(g.ID, done))
			switch _, alive := p.EngineHolder(); {
			case alive:
			case resume:
				return a.resume(ctx, string(r.State.Run), resumeOptions{quiet: true})
			default:
				a.hintContinue(r.State)
			}
			return nil
		},
	}
	runFlag(c, &run)
	c.Flags().BoolVar(&resume, "resume", false, "afterwards, resume the run and follow it live, unless a pawl process already works on it")
	return c
}

// findGate returns the open gate that a name stands for.
func (a *app) findGate(ctx context.Context, run, name string) (*pawl.GateState, error) {
	p, r, err := a.loadRun(ctx, run)
	if err != nil {
		return nil, err
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
		return nil, hints.For(ctx, p, r.State.Run, layout.NoOpenGate(r.State, name))
	case 1:
		return r.State.Gate(found[0]), nil
	}
	err = usageError("pawl gates", "%q matches %s: %s", name, layout.Count(len(found), "open gate"), layout.JoinIDs(found))
	return nil, hints.For(ctx, p, r.State.Run, err)
}

func (a *app) approveCommand() *cobra.Command {
	var why string
	var yes bool
	c := a.gateCommand("approve GATE", "Approve a gate; the approval is void if the content that the gate shows changes", exactArgs(a.gateArgument()),
		func(g *pawl.GateState, _ []string) (runs.Act, error) {
			if !yes && !a.interactive() && g.Type != pawl.DecisionFor { // nobody can approve a decision: the act says so
				return nil, usageError("", "approving gate %s; not a terminal: pass --yes to confirm", g.ID)
			}
			return runs.Approve(g.ID, why), nil
		}, "approved")
	messageFlag(c, &why, "reason")
	yesFlag(c, &yes, "confirm; required without a terminal")
	return c
}

func (a *app) rejectCommand() *cobra.Command {
	var why string
	var stop bool
	c := a.gateCommand("reject GATE -m TEXT", "Reject a gate: rerun the steps whose results it shows, or fail the run with --stop", exactArgs(a.gateArgument()),
		func(g *pawl.GateState, _ []string) (runs.Act, error) { return runs.Reject(g.ID, why, stop), nil }, "rejected")
	messageFlag(c, &why, "reason; passed to the next attempt")
	c.Flags().BoolVar(&stop, "stop", false, "fail the run instead of rerunning steps")
	requireFlags(c, "message")
	return c
}

func (a *app) answerCommand() *cobra.Command {
	var why string
	c := a.gateCommand("answer GATE OPTION", "Answer a decision gate with one of its options", exactArgs(a.gateArgument(), argument{name: "OPTION", hint: "pawl gates"}),
		func(g *pawl.GateState, args []string) (runs.Act, error) { return runs.Choose(g.ID, args[0], why), nil }, "answered")
	messageFlag(c, &why, "reason")
	return c
}

// openedGate is what `pawl ask --json` prints.
type openedGate struct {
	Gate pawl.GateID `json:"gate"`
	Run  pawl.RunID  `json:"run"`
}

func (a *app) askCommand() *cobra.Command {
	var run string
	var again bool
	action := pawl.GateAction{Type: pawl.HumanAction}
	c := &cobra.Command{
		Use:   "ask QUESTION",
		Short: "Ask a person a question: open a gate (for the current step, or for the run)",
		Long:  "Ask a person a question: open a gate (for the current step, or for the run)\n\nask returns at once. A person answers with pawl approve or pawl reject or, if there are options, with pawl answer.",
		Args:  exactArgs(argument{name: "QUESTION"}),
		RunE: func(c *cobra.Command, args []string) error {
			action.Ask = args[0]
			if strings.TrimSpace(action.Ask) == "" {
				return usageError("pawl ask --help", "the question is empty")
			}
			if len(action.Options) > 0 {
				action.Type = pawl.DecisionFor
			}
			if err := flags.CheckDefault(action.Default, action.Options); err != nil {
				return usageError("", "%v", err)
			}
			if step := stepClient(); step != nil {
				return a.askInside(step, action)
			}
			p, r, err := a.perform(c.Context(), run, runs.Ask(action, again))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			opened := openedGate{Gate: action.Gate("", "", time.Time{}).ID, Run: r.State.Run}
			if a.json {
				return a.printJSON(opened)
			}
			fmt.Fprintf(a.Out, "gate %s opened (run %s)\n", opened.Gate, opened.Run)
			fmt.Fprintf(a.Err, "pawl: hint: %s\n", hints.Namer(c.Context(), p, r.State.Run)("pawl gates"))
			return nil
		},
	}
	runFlag(c, &run)
	c.Flags().StringSliceVar(&action.Options, "option", nil, "offer `OPTION` as an answer; can be repeated")
	c.Flags().BoolVar(&again, "again", false, "ask even if this question was answered before")
	c.Flags().StringVar(&action.Default, "default", "", "choose `OPTION`, one of the options, without asking if the mode is autopilot")
	textFlag(c, &action.Expect, "expect", "TEXT", "what the person should check before answering")
	return a.jsonFlag(c)
}

// askInside opens a gate for the current step, and records in the step's result that it waits for the answer.
func (a *app) askInside(step *runs.StepClient, action pawl.GateAction) error {
	gate, err := step.OpenGate(action)
	if err != nil {
		return err
	}
	if err := step.MarkWaiting(action); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, gate.ID) // for the step's program
	fmt.Fprintf(a.Err, "pawl: gate %s opened; end this step now with exit code 0; a new attempt starts once the gate is answered\n", gate.ID)
	return nil
}

func (a *app) reviewCommand() *cobra.Command {
	var run, by, comment string
	var score int
	c := &cobra.Command{
		Use:   "review STEP --by NAME --score N",
		Short: "Score a finished step from 0 to 100",
		Long:  "Score a finished step from 0 to 100\n\nThe plan names the reviewers of a step and their minimum scores. A step with a score below its minimum reruns.",
		Args:  exactArgs(a.stepArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.perform(c.Context(), run, runs.Review(pawl.StepID(args[0]), by, score, comment))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			text, continues := layout.AfterReview(r.State.Steps[pawl.StepID(args[0])], by)
			fmt.Fprintf(a.Out, "step %s: score %d by %s%s (run %s)\n", args[0], score, by, text, r.State.Run)
			if _, alive := p.EngineHolder(); !alive && continues {
				a.hintContinue(r.State)
			}
			return nil
		},
	}
	runFlag(c, &run)
	textFlag(c, &by, "by", "NAME", "the reviewer's name")
	numberVar(c, &score, "score", "", 0, math.MinInt, "the score, 0 to 100")
	messageFlag(c, &comment, "what to improve")
	requireFlags(c, "by", "score")
	return c
}
