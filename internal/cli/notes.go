package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/flags"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// stepClient returns a client for the attempt that this process belongs to; nil outside of steps.
func stepClient() *runs.StepClient { return runs.StepClientOf(os.Getenv) }

func (a *app) progressCommand() *cobra.Command {
	item, status := "", string(pawl.ItemIsDone)
	c := &cobra.Command{
		Use:     "progress [TEXT]",
		Short:   "Report progress from inside a step: TEXT, N/TOTAL or N%",
		Example: "  pawl progress 20/180\n  pawl progress --item intro --status done",
		Args:    atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			step := stepClient()
			if step == nil {
				return usageError("pawl status", "pawl progress works only inside a step: PAWL_EVENTS is not set")
			}
			text := optional(args, 0)
			if item != "" {
				return step.Report(pawl.Line{Item: &pawl.ItemNamed{Item: pawl.ItemIDOf(item), Title: text, Status: pawl.ItemStatus(status)}})
			}
			return step.Report(pawl.Line{Progress: flags.Progress(text)})
		},
	}
	c.Flags().StringVar(&item, "item", "", "report on item `ID`; the step chooses its own ids")
	textFlag(c, &status, "status", "STATUS", "the item's status: pending, running, done or failed")
	return c
}

// recordNote reports a note for the current step, or journals it in the run that --run names and prints what done returns.
func (a *app) recordNote(c *cobra.Command, line pawl.Line, act runs.Act, done func(*runs.Run) string) error {
	if step := stepClient(); step != nil {
		return step.Report(line)
	}
	_, r, err := a.perform(c.Context(), flagValue(c, "run"), act)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Out, done(r))
	return r.Log.Close()
}

func (a *app) learnCommand() *cobra.Command {
	kind := string(pawl.Pattern)
	c := &cobra.Command{
		Use:   "learn TEXT",
		Short: "Add a note to MEMORY.md, for later runs",
		Args:  exactArgs(argument{name: "TEXT"}),
		RunE: func(c *cobra.Command, args []string) error {
			m := pawl.Memory{Kind: pawl.MemoryKind(kind), Text: args[0]}
			if err := m.Validate(); err != nil {
				return usageError("pawl learn --help", "%v", err)
			}
			if step := stepClient(); step != nil {
				return step.Report(pawl.Line{Learn: &m})
			}
			return a.learn(c, m)
		},
	}
	textFlag(c, &kind, "kind", "KIND", "the kind of note: pattern, gotcha, preference, decision, rejected or fragile")
	return c
}

// learn adds to MEMORY.md, even in a project without runs.
func (a *app) learn(c *cobra.Command, m pawl.Memory) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	_, r, err := a.perform(c.Context(), "", runs.Learn(m))
	if err == nil {
		fmt.Fprintln(a.Out, "added to MEMORY.md")
		return r.Log.Close()
	}
	if !errors.Is(err, pawl.ErrNoRun) {
		return err
	}
	if _, err := p.Learn(m); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "added to MEMORY.md")
	return nil
}

func (a *app) memoryCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "memory",
		Short: "List the notes in MEMORY.md",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.project()
			if err != nil {
				return err
			}
			memories, err := p.Memories()
			if err != nil {
				return err
			}
			p.FindSources(c.Context(), memories)
			if a.json {
				return a.printJSON(append([]project.Remembered{}, memories...)) // none is [], not null
			}
			if len(memories) == 0 {
				fmt.Fprintln(a.Out, "no notes in MEMORY.md")
			}
			for _, m := range memories {
				mark := ""
				if m.Unverified {
					mark = "  (unverified: " + cmp.Or(m.Source, "the file was edited or pulled") + ")"
				}
				fmt.Fprintf(a.Out, "%-10s  %s%s\n", m.Kind, m.Text, mark)
			}
			return nil
		},
	}
	return a.jsonFlag(c)
}

func (a *app) decideCommand() *cobra.Command {
	var d pawl.Decision
	c := &cobra.Command{
		Use:   "decide CHOICE",
		Short: "Record a decision in the journal of the run",
		Args:  exactArgs(argument{name: "CHOICE"}),
		RunE: func(c *cobra.Command, args []string) error {
			d.Choice, d.By = args[0], a.author().Name
			if strings.TrimSpace(d.Choice) == "" {
				return usageError("pawl decide --help", "the choice is empty")
			}
			return a.recordNote(c, pawl.Line{Decide: &d}, runs.Decide(d), func(*runs.Run) string { return "decision recorded" })
		},
	}
	textFlag(c, &d.Question, "question", "TEXT", "the question that CHOICE answers")
	c.Flags().StringSliceVar(&d.Options, "option", nil, "record that `OPTION` was considered; can be repeated")
	messageFlag(c, &d.Why, "reason")
	return c
}

func (a *app) blockCommand() *cobra.Command {
	var b pawl.Blocker
	var step, run string // recordNote reads run
	c := &cobra.Command{
		Use:   "block TEXT",
		Short: "Block a step or the run until pawl unblock, and record why",
		Args:  exactArgs(argument{name: "TEXT"}),
		RunE: func(c *cobra.Command, args []string) error {
			b.Text, b.Step = args[0], pawl.StepID(step)
			if strings.TrimSpace(b.Text) == "" {
				return usageError("pawl block --help", "the blocker is empty; say what blocks the work")
			}
			return a.recordNote(c, pawl.Line{Block: &b}, runs.Block(b), blockerRecorded)
		},
	}
	runFlag(c, &run)
	c.Flags().StringVar(&step, "step", "", "block only `STEP` (default: the whole run)")
	textFlag(c, &b.Needs, "needs", "TEXT", "what must happen before pawl unblock")
	return c
}

// blockerRecorded says what the newest blocker blocks, and how to clear it.
func blockerRecorded(r *runs.Run) string {
	open := r.State.OpenBlockers()
	b := open[len(open)-1]
	what := "run " + string(r.State.Run)
	if b.Step != "" {
		what = "step " + string(b.Step) + " of " + what
	}
	return fmt.Sprintf("blocker %d recorded: %s is blocked until pawl unblock %d", b.ID, what, b.ID)
}

func (a *app) unblockCommand() *cobra.Command {
	var run, how string
	c := &cobra.Command{
		Use:   "unblock NUMBER",
		Short: "Clear a blocker (pawl status shows its number)",
		Args:  exactArgs(argument{name: "NUMBER", hint: "pawl status"}),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError("pawl status", "blocker %q is not a number", args[0])
			}
			p, r, err := a.perform(c.Context(), run, runs.Unblock(id, how))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintf(a.Out, "blocker %d cleared (run %s)\n", id, r.State.Run)
			if _, alive := p.EngineHolder(); !alive && r.State.StatusNow(false) == pawl.StatusInterrupted && r.State.Kind != pawl.DurableRun {
				a.hintContinue(r.State)
			}
			return nil
		},
	}
	runFlag(c, &run)
	messageFlag(c, &how, "how the blocker was cleared")
	return c
}

func (a *app) settleCommand() *cobra.Command {
	var run, why string
	c := &cobra.Command{
		Use:   "settle NUMBER",
		Short: "Record that you checked a tool call whose effect is unknown (pawl status shows its number)",
		Args:  exactArgs(argument{name: "NUMBER", hint: "pawl status"}),
		RunE: func(c *cobra.Command, args []string) error {
			call, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usageError("pawl status", "tool call %q is not a number", args[0])
			}
			_, r, err := a.perform(c.Context(), run, runs.Settle(pawl.Seq(call), why))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			fmt.Fprintf(a.Out, "tool call %d settled (run %s)\n", call, r.State.Run)
			return nil
		},
	}
	runFlag(c, &run)
	messageFlag(c, &why, "what the check showed")
	return c
}
