package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// adoption is what "pawl adopt" shows of a run before it asks.
type adoption struct {
	Run     pawl.RunID      `json:"run"`
	Reason  string          `json:"reason,omitempty"` // why it counts as made elsewhere; empty if it is adopted
	Steps   []adoptedStep   `json:"steps"`
	Answers []adoptedAnswer `json:"answers,omitempty"` // of gates, as the run's journal has them
}

// adoptedStep is a step of a run from elsewhere, with what it would execute.
type adoptedStep struct {
	Step    pawl.StepID     `json:"step"`
	Status  pawl.StepStatus `json:"status"`
	Command string          `json:"command,omitempty"`
	Prompt  string          `json:"prompt,omitempty"`
}

// adoptedAnswer is an answer in the journal of a run from elsewhere.
type adoptedAnswer struct {
	Gate   pawl.GateID `json:"gate"`
	Answer pawl.Answer `json:"answer"`
	Option string      `json:"option,omitempty"`
}

func (a *app) adoptCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "adopt [RUN]",
		Short: "Accept a run that was made elsewhere, so that it can be resumed here",
		Long: "A run that was imported, pulled with git or copied from another machine is unverified: pawl does not resume it.\n" +
			"adopt shows its steps with their commands and prompts, what counts as finished, and the answers in its journal, and asks.",
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error { return a.adopt(c.Context(), optional(args, 0), yes) },
	}
	c.Flags().BoolVar(&yes, "yes", false, "adopt the run without asking")
	return a.jsonFlag(c)
}

func (a *app) adopt(ctx context.Context, name string, yes bool) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	r, err := a.loadNamedRun(ctx, p, name)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	shown, err := adoptionOf(p, r)
	if err != nil {
		return err
	}
	if shown.Reason == "" {
		if a.json {
			return a.printJSON(shown)
		}
		_, err := fmt.Fprintf(a.Out, "run %s is yours already\n", shown.Run)
		return err
	}
	if !yes {
		a.printAdoption(shown)
		if err := a.confirm("this would adopt run "+string(shown.Run), "Adopt this run?"); err != nil {
			return err
		}
	}
	if err := runs.Mark(p, shown.Run); err != nil {
		return err
	}
	if a.json {
		shown.Reason = ""
		return a.printJSON(shown)
	}
	fmt.Fprintf(a.Out, "adopted run %s\n", shown.Run)
	fmt.Fprintf(a.Out, "pawl resume %s\n", shown.Run)
	return nil
}

// adoptionOf collects what a person should see of a run before adopting it.
func adoptionOf(p *project.Project, r *runs.Run) (adoption, error) {
	reason, err := runs.Elsewhere(p, r.State.Run)
	if err != nil {
		return adoption{}, err
	}
	shown := adoption{Run: r.State.Run, Reason: reason, Steps: []adoptedStep{}}
	for _, step := range r.Plan.Steps() {
		s := adoptedStep{Step: step.ID, Status: pawl.Pending, Command: step.Run}
		if st := r.State.Steps[step.ID]; st != nil {
			s.Status = st.Status
		}
		if step.Agent != nil {
			s.Prompt = step.Agent.Prompt
		}
		shown.Steps = append(shown.Steps, s)
	}
	for _, g := range r.State.Gates {
		if g.Answer != nil {
			shown.Answers = append(shown.Answers, adoptedAnswer{g.ID, g.Answer.Answer, g.Answer.Option})
		}
	}
	return shown, nil
}

func (a *app) printAdoption(shown adoption) {
	fmt.Fprintf(a.Out, "run %s comes from elsewhere: %s\n", shown.Run, shown.Reason)
	for _, s := range shown.Steps {
		fmt.Fprintf(a.Out, "  %s (%s)\n", s.Step, s.Status)
		for _, text := range []string{s.Command, s.Prompt} {
			for line := range strings.Lines(text) {
				fmt.Fprintf(a.Out, "    > %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	for _, answer := range shown.Answers {
		fmt.Fprintf(a.Out, "  gate %s: %s %s\n", answer.Gate, answer.Answer, answer.Option)
	}
	fmt.Fprintf(a.Out, "If you adopt it, %s as finished and the answers count, and \"pawl resume\" executes the others.\n",
		countOf(shown.Steps))
}

// countOf says how many steps count as finished.
func countOf(steps []adoptedStep) string {
	n := 0
	for _, s := range steps {
		if s.Status == pawl.Done {
			n++
		}
	}
	if n == 1 {
		return "1 step counts"
	}
	return layout.Count(n, "step") + " count"
}
