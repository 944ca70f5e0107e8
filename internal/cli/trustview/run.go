package trustview

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
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
	Env     []string   `json:"env,omitempty"`    // variables of all steps, as NAME=VALUE
	Mirror  string     `json:"mirror,omitempty"` // the system whose files pawl would write, and their path
	Notify  []Receiver `json:"notify,omitempty"`
	Answers []Answer   `json:"answers,omitempty"` // of gates, as the run's journal has them

	durable bool   // a Go program resumes it
	next    string // how to go on after the adoption
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
	Also    []Text          `json:"also,omitempty"`
}

// Text is another text of a step that decides what is executed: its checks, its undo command, its shell and others.
type Text struct {
	What string `json:"what"`
	Text string `json:"text"`
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
	shown := Adoption{Run: r.State.Run, Reason: reason, Steps: []Step{}, durable: r.State.Kind == pawl.DurableRun, next: runs.ContinueCommand(r.State)}
	if shown.durable {
		shown.next = runs.StartProgram
		if shown.Steps, err = results(r); err != nil {
			return Adoption{}, err
		}
	}
	for _, step := range append(r.Plan.Steps(), r.Plan.Handlers()...) {
		s := Step{Step: step.ID, Status: pawl.Pending, Command: step.Run, Also: alsoExecuted(step)}
		if st := r.State.Steps[step.ID]; st != nil {
			s.Status = st.Status
		}
		if step.Agent != nil {
			s.Prompt = step.Agent.Task()
		}
		shown.Steps = append(shown.Steps, s)
	}
	shown.Env = append(variables(r.Plan.Env), variables(r.Plan.Defaults.Env)...)
	if m := r.State.Mirror; m != nil {
		shown.Mirror = strings.TrimSpace(m.System + " " + m.Path)
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
	if len(shown.Answers) == 0 || reason == "" {
		return shown, nil
	}
	return shown, runs.RefuseAnswers(p, r.State.Run)
}

// results returns the finished steps of a durable run, oldest first, with the results that its program would get.
func results(r *runs.Run) ([]Step, error) {
	all, steps := r.State.Steps, []Step{}
	for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b pawl.StepID) int { return cmp.Compare(all[a].Done, all[b].Done) }) {
		if all[id].Status != pawl.Done {
			continue
		}
		event, err := r.Log.Event(all[id].Done)
		if err != nil {
			return nil, err
		}
		payload, err := event.Payload()
		if err != nil {
			return nil, err
		}
		s := Step{Step: id, Status: pawl.Done}
		if d, ok := payload.(pawl.StepDone); ok {
			s.Also = []Text{{"result", cmp.Or(string(d.Result), "in the file blobs/"+d.Blob+" of the run")}}
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// alsoExecuted returns what a step executes besides its command and its prompt.
func alsoExecuted(step *pawl.Step) (all []Text) {
	add := func(what, text string) {
		if text != "" {
			all = append(all, Text{what, text})
		}
	}
	add("shell", string(step.Shell))
	if a := step.Agent; a != nil {
		add("agent", strings.Join(append([]string{string(a.Use)}, a.Args...), " "))
		add("program", a.Command)
	}
	if k := step.Kernel; k != nil {
		add("kernel", k.Name+" "+k.File+"\n"+k.Code)
	}
	if step.Service != nil {
		add("ready", step.Service.Ready)
	}
	for _, name := range slices.Sorted(maps.Keys(step.Accept)) {
		add("check "+name, step.Accept[name])
	}
	add("undo", step.Undo)
	add("env", strings.Join(variables(step.Env), "\n"))
	return all
}

// variables returns the variables as NAME=VALUE, sorted.
func variables(env pawl.Env) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		lines = append(lines, name+"="+env[name].Value)
	}
	return lines
}

// DamagedOf is AdoptionOf for a run whose journal cannot be read to its end.
func DamagedOf(p *project.Project, run pawl.RunID, damage error) (Adoption, error) {
	reason, err := runs.Elsewhere(p, run)
	return Adoption{Run: run, Reason: reason, Damage: damage.Error(), Steps: []Step{}, next: "pawl recover " + string(run)}, err
}

// PrintNext says how to go on after the adoption, if there is something to do.
func (shown Adoption) PrintNext(w io.Writer) (err error) {
	if shown.next != "" {
		_, err = fmt.Fprintln(w, shown.next)
	}
	return err
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
		for _, also := range s.Also {
			fmt.Fprintf(w, "    %s\n", also.What)
			quote(w, also.Text)
		}
	}
	if len(shown.Env) > 0 {
		fmt.Fprintln(w, "  variables of all steps")
		quote(w, shown.Env...)
	}
	if shown.Mirror != "" {
		fmt.Fprintf(w, "  writes the files of %s\n", shown.Mirror)
	}
	for _, n := range shown.Notify {
		fmt.Fprintf(w, "  notification %s\n", n.Name)
		quote(w, n.Command, n.Webhook)
	}
	for _, answer := range shown.Answers {
		fmt.Fprintf(w, "  gate %s: %s %s\n", answer.Gate, answer.Answer, answer.Option)
	}
	if shown.durable {
		fmt.Fprintf(w, "If you adopt it, its program takes %s as finished, with these results, and accepts the answers.\n", finished(shown.Steps))
		return
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
