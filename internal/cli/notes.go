package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// stepClient returns a client for the attempt that this process belongs to; nil outside of steps.
func stepClient() *runs.StepClient { return runs.StepClientOf(os.Getenv) }

func (a *app) progressCommand() *cobra.Command {
	var item, status string
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
			return step.Report(pawl.Line{Progress: parseProgress(text)})
		},
	}
	c.Flags().StringVar(&item, "item", "", "report the item `ID`, which the step defines itself")
	c.Flags().StringVar(&status, "status", string(pawl.ItemIsDone), "`STATUS` of the item: pending, running, done or failed")
	return c
}

// parseProgress reads "20/180", "45%" or plain text.
func parseProgress(text string) *pawl.Progress {
	p := &pawl.Progress{Text: text}
	first, _, _ := strings.Cut(text, " ")
	if of, total, ok := strings.Cut(first, "/"); ok {
		d, err1 := strconv.ParseFloat(of, 64)
		t, err2 := strconv.ParseFloat(total, 64)
		if err1 == nil && err2 == nil {
			p.Done, p.Total = &d, &t
		}
	} else if percent, ok := strings.CutSuffix(first, "%"); ok {
		if d, err := strconv.ParseFloat(percent, 64); err == nil {
			p.Done = &d
		}
	}
	return p
}

// recordNote reports a note for the current step, or journals it in the current run.
func (a *app) recordNote(c *cobra.Command, line pawl.Line, act runs.Act, done string) error {
	if step := stepClient(); step != nil {
		return step.Report(line)
	}
	_, r, err := a.perform(c.Context(), "", act)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Out, done)
	return r.Log.Close()
}

func (a *app) learnCommand() *cobra.Command {
	kind := string(pawl.Pattern)
	c := &cobra.Command{
		Use:   "learn TEXT",
		Short: "Add a note to MEMORY.md",
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
	c.Flags().StringVar(&kind, "kind", kind, "`KIND` of note: pattern, gotcha, preference, decision, rejected or fragile")
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
		RunE: func(*cobra.Command, []string) error {
			p, err := a.project()
			if err != nil {
				return err
			}
			memories, err := p.Memories()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(append([]project.Remembered{}, memories...)) // none is [], not null
			}
			for _, m := range memories {
				fmt.Fprintf(a.Out, "%-10s  %s\n", m.Kind, m.Text)
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
		Short: "Record a decision",
		Args:  exactArgs(argument{name: "CHOICE"}),
		RunE: func(c *cobra.Command, args []string) error {
			d.Choice, d.By = args[0], a.author().Name
			return a.recordNote(c, pawl.Line{Decide: &d}, runs.Decide(d), "decision recorded")
		},
	}
	c.Flags().StringVar(&d.Question, "question", "", "`TEXT` of the question")
	c.Flags().StringSliceVar(&d.Options, "option", nil, "`OPTION` that was considered")
	c.Flags().StringVarP(&d.Why, "message", "m", "", "reason")
	return c
}

func (a *app) blockCommand() *cobra.Command {
	var b pawl.Blocker
	var step string
	c := &cobra.Command{
		Use:   "block TEXT",
		Short: "Record a blocker for a step or the run",
		Args:  exactArgs(argument{name: "TEXT"}),
		RunE: func(c *cobra.Command, args []string) error {
			b.Text, b.Step = args[0], pawl.StepID(step)
			return a.recordNote(c, pawl.Line{Block: &b}, runs.Block(b), "blocker recorded; pawl status shows it")
		},
	}
	c.Flags().StringVar(&step, "step", "", "blocked `STEP` (default: the whole run)")
	c.Flags().StringVar(&b.Needs, "needs", "", "`TEXT` that says what would clear it")
	return c
}

func (a *app) unblockCommand() *cobra.Command {
	var how string
	c := &cobra.Command{
		Use:   "unblock NUMBER",
		Short: "Clear a blocker",
		Args:  exactArgs(argument{name: "NUMBER", hint: "pawl status"}),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError("pawl status", "blocker %q is not a number", args[0])
			}
			_, r, err := a.perform(c.Context(), "", runs.Unblock(id, how))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "blocker %d cleared\n", id)
			return r.Log.Close()
		},
	}
	c.Flags().StringVarP(&how, "message", "m", "", "how it was cleared")
	return c
}
