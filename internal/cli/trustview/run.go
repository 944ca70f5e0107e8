package trustview

import (
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Adoption is what "pawl adopt" shows of a run before it asks.
type Adoption struct {
	Run     pawl.RunID `json:"run"`
	Reason  string     `json:"reason,omitempty"` // why it counts as made elsewhere; empty if it is adopted
	Damage  string     `json:"damage,omitempty"` // what prevents reading its journal; its steps are unknown then
	Steps   []Step     `json:"steps"`
	Notify  []Receiver `json:"notify,omitempty"`
	Answers []Answer   `json:"answers,omitempty"` // of gates, as the run's journal has them
}

// Receiver is who gets notices of a run from elsewhere.
type Receiver struct {
	Name    string            `json:"name"`
	On      []pawl.NoticeKind `json:"on"`
	Command string            `json:"command,omitempty"`
	Webhook string            `json:"webhook,omitempty"`
}

// Step is a step of a run from elsewhere, with what it would execute.
type Step struct {
	Step    pawl.StepID     `json:"step"`
	Status  pawl.StepStatus `json:"status"`
	Command string          `json:"command,omitempty"`
	Prompt  string          `json:"prompt,omitempty"`
}

// Answer is an answer in the journal of a run from elsewhere.
type Answer struct {
	Gate   pawl.GateID `json:"gate"`
	Answer pawl.Answer `json:"answer"`
	Option string      `json:"option,omitempty"`
}

// AdoptionOf collects what a person should see of a run before adopting it.
func AdoptionOf(p *project.Project, r *runs.Run) (Adoption, error) {
	reason, err := runs.Elsewhere(p, r.State.Run)
	if err != nil {
		return Adoption{}, err
	}
	shown := Adoption{Run: r.State.Run, Reason: reason, Steps: []Step{}}
	for _, step := range append(r.Plan.Steps(), r.Plan.Handlers()...) {
		s := Step{Step: step.ID, Status: pawl.Pending, Command: step.Run}
		if st := r.State.Steps[step.ID]; st != nil {
			s.Status = st.Status
		}
		if step.Agent != nil {
			s.Prompt = step.Agent.Task()
		}
		shown.Steps = append(shown.Steps, s)
	}
	for _, n := range r.Plan.Notify {
		to := Receiver{Name: n.Name, On: n.On, Command: n.Command}
		if n.Webhook != nil {
			to.Webhook = n.Webhook.Value
		}
		shown.Notify = append(shown.Notify, to)
	}
	for _, g := range r.State.Gates {
		if g.Answer != nil {
			shown.Answers = append(shown.Answers, Answer{g.ID, g.Answer.Answer, g.Answer.Option})
		}
	}
	return shown, nil
}

// DamagedOf is AdoptionOf for a run whose journal cannot be read to its end.
func DamagedOf(p *project.Project, run pawl.RunID, damage error) (Adoption, error) {
	reason, err := runs.Elsewhere(p, run)
	return Adoption{Run: run, Reason: reason, Damage: damage.Error(), Steps: []Step{}}, err
}

// Next returns the command to use after the adoption.
func (shown Adoption) Next() string {
	if shown.Damage != "" {
		return "pawl recover " + string(shown.Run)
	}
	return "pawl resume " + string(shown.Run)
}

// Print prints what adopting the run would accept.
func (shown Adoption) Print(w io.Writer) {
	fmt.Fprintf(w, "run %s comes from elsewhere: %s\n", shown.Run, shown.Reason)
	if shown.Damage != "" {
		fmt.Fprintf(w, "Its journal is damaged: %s\nIf you adopt it, you can restore and fork its checkpoints before the damage.\n", shown.Damage)
		return
	}
	for _, s := range shown.Steps {
		fmt.Fprintf(w, "  %s (%s)\n", s.Step, s.Status)
		quote(w, s.Command, s.Prompt)
	}
	for _, n := range shown.Notify {
		fmt.Fprintf(w, "  notification %s\n", n.Name)
		quote(w, n.Command, n.Webhook)
	}
	for _, answer := range shown.Answers {
		fmt.Fprintf(w, "  gate %s: %s %s\n", answer.Gate, answer.Answer, answer.Option)
	}
	fmt.Fprintf(w, "If you adopt it, pawl takes %s as finished, accepts the answers, and \"pawl resume\" executes the others.\n",
		finished(shown.Steps))
}

// quote prints the lines of texts.
func quote(w io.Writer, texts ...string) {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			fmt.Fprintf(w, "    > %s\n", strings.TrimRight(line, "\n"))
		}
	}
}

// finished says how many steps are finished.
func finished(steps []Step) string {
	n := 0
	for _, s := range steps {
		if s.Status == pawl.Done {
			n++
		}
	}
	return layout.Count(n, "step")
}
