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

// inside returns the attempt that this process belongs to, nil where it belongs to none.
func inside() *runs.StepClient { return runs.StepClientOf(os.Getenv) }

func (a *app) progressCommand() *cobra.Command {
	var item, status string
	c := &cobra.Command{
		Use:     "progress [TEXT]",
		Short:   "Say from inside a step how far it is: TEXT, N/TOTAL, or N%",
		Example: "  pawl progress 20/180\n  pawl progress --item intro --status done",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			step := inside()
			if step == nil {
				return usageError("pawl status", "pawl progress speaks from inside a step, where PAWL_EVENTS is set")
			}
			text := optional(args, 0)
			if item != "" {
				return step.Report(pawl.Line{Item: &pawl.ItemNamed{Item: pawl.ItemIDOf(item), Title: text, Status: pawl.ItemStatus(status)}})
			}
			return step.Report(pawl.Line{Progress: parseProgress(text)})
		},
	}
	c.Flags().StringVar(&item, "item", "", "an item that the step itself names")
	c.Flags().StringVar(&status, "status", string(pawl.ItemIsDone), "the item's: pending, running, done, failed")
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

// inform says something from inside a step, or journals it in the current run.
func (a *app) inform(c *cobra.Command, line pawl.Line, act runs.Act, done string) error {
	if step := inside(); step != nil {
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
		Short: "Add to MEMORY.md what was learned",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			m := pawl.Memory{Kind: pawl.MemoryKind(kind), Text: args[0]}
			if err := m.Validate(); err != nil {
				return usageError("pawl learn --help", "%v", err)
			}
			if step := inside(); step != nil {
				return step.Report(pawl.Line{Learn: &m})
			}
			return a.learn(c, m)
		},
	}
	c.Flags().StringVar(&kind, "kind", kind, "pattern, gotcha, preference, decision, rejected or fragile")
	return c
}

// learn adds to MEMORY.md, also in a project without a run.
func (a *app) learn(c *cobra.Command, m pawl.Memory) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	_, r, err := a.perform(c.Context(), "", runs.Learn(m))
	if err == nil {
		fmt.Fprintln(a.Out, "learned")
		return r.Log.Close()
	}
	if !errors.Is(err, pawl.ErrNoRun) {
		return err
	}
	if _, err := p.Learn(m); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "learned")
	return nil
}

func (a *app) memoryCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "memory",
		Short: "Show what was learned",
		Args:  cobra.NoArgs,
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
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d.Choice, d.By = args[0], me().Name
			return a.inform(c, pawl.Line{Decide: &d}, runs.Decide(d), "decision recorded")
		},
	}
	c.Flags().StringVar(&d.Question, "question", "", "what was to be decided")
	c.Flags().StringSliceVar(&d.Options, "option", nil, "what could have been chosen")
	c.Flags().StringVarP(&d.Why, "message", "m", "", "why")
	return c
}

func (a *app) blockCommand() *cobra.Command {
	var b pawl.Blocker
	var step string
	c := &cobra.Command{
		Use:   "block TEXT",
		Short: "Say what stands in the way: of a step, or of the run",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			b.Text, b.Step = args[0], pawl.StepID(step)
			return a.inform(c, pawl.Line{Block: &b}, runs.Block(b), "blocker recorded; `pawl status` names it")
		},
	}
	c.Flags().StringVar(&step, "step", "", "the step that is blocked (default: the whole run)")
	c.Flags().StringVar(&b.Needs, "needs", "", "what would clear it")
	return c
}

func (a *app) unblockCommand() *cobra.Command {
	var how string
	c := &cobra.Command{
		Use:   "unblock NUMBER",
		Short: "Clear a blocker",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError("pawl status", "%q is not a blocker's number", args[0])
			}
			_, r, err := a.perform(c.Context(), "", runs.Unblock(id, how))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "blocker %d cleared\n", id)
			return r.Log.Close()
		},
	}
	c.Flags().StringVarP(&how, "message", "m", "", "how")
	return c
}
