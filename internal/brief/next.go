package brief

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl"
)

// step is a step of the plan with where it stands.
type step struct {
	*pawl.Step
	state *pawl.StepState // nil: nothing has happened to it
}

// stepsOf returns the plan's steps, and then those that only the state knows, in the order in which they began.
func stepsOf(state *pawl.State, plan *pawl.Plan) (steps []step, planned int) {
	known := make(map[pawl.StepID]bool, len(state.Steps))
	for _, s := range plan.Steps() {
		known[s.ID] = true
		steps = append(steps, step{s, state.Steps[s.ID]})
	}
	planned = len(steps)
	for id, st := range state.Steps {
		if !known[id] {
			steps = append(steps, step{&pawl.Step{ID: id}, st})
		}
	}
	slices.SortFunc(steps[planned:], func(a, b step) int {
		return cmp.Or(a.state.Started.Compare(b.state.Started), cmp.Compare(a.ID, b.ID))
	})
	return steps, planned
}

// next says what to do, and how to know that it is done.
func (w *writer) next() section {
	s := section{title: "What to do next, and how to know that it is done", all: w.command("pawl status", "")}
	if w.Inside != nil {
		w.yours(&s)
		return s
	}
	s.add("next: " + w.todo())
	for _, st := range w.steps {
		if st.state != nil && st.state.Status == pawl.FailedForGood {
			s.add("failed step: " + w.called(st) + w.because(st.state.Why) + "; once that is mended: " + w.onRun("pawl retry "+string(st.ID), "--run"))
		}
	}
	for _, st := range w.begun() {
		if st.ID != pawl.TasksStep {
			s.add("unfinished step: " + w.task(st))
		}
		w.named(&s, st)
	}
	if !w.State.Ended() {
		for _, st := range w.ready() {
			s.add("then step: " + w.task(st))
		}
	}
	return s
}

// yours tells an attempt what it is to do itself.
func (w *writer) yours(s *section) {
	name := w.code(w.Inside.Name())
	s.add("next: you are attempt " + strconv.Itoa(w.Inside.Attempt) + " of " + name + "; do that, and nothing else of the plan: pawl does the rest")
	for _, st := range w.steps {
		if st.ID == w.Inside.Step {
			s.add("your step: " + w.task(st))
			w.named(s, st)
			if st.state != nil && st.state.Rejected != "" {
				s.add("sent back: a person wants " + w.code(string(st.ID)) + " done again" + w.because(st.state.Rejected))
			}
		}
	}
}

// todo says what moves the run on, with the command.
func (w *writer) todo() string {
	resume := w.onRun("pawl resume", "")
	if w.State.Rollback != nil {
		return w.code("pawl rollback") + " goes on undoing, " + w.code("pawl rollback --stop") + " gives it up"
	}
	switch w.status {
	case pawl.StatusCompleted:
		return "nothing; the run has completed"
	case pawl.StatusFailed:
		return "the run has failed; mend what made it fail, have the step retried, then " + resume
	case pawl.StatusWaiting:
		return "a person does what stands under \"" + forPeople + "\"; then " + resume + " goes on"
	}
	switch {
	case w.State.Kind == pawl.SessionRun:
		return w.sessionTodo()
	case w.State.Kind == pawl.DurableRun:
		return "start the program that made this run: it goes on where it was"
	case w.Engine != nil:
		return "nothing of the plan by hand: the engine does what follows; " + w.onRun("pawl watch", "") + " shows it"
	}
	text := resume + " goes on with what follows; finished steps and items are not run again"
	if len(w.State.OpenGates())+len(w.State.OpenBlockers()) > 0 {
		text += "; what stands under \"" + forPeople + "\" waits for a person"
	}
	return text
}

// sessionTodo says what moves a run on that has no plan.
func (w *writer) sessionTodo() string {
	text := "go on with the goal; no plan says what comes next"
	for _, x := range w.Sessions {
		if x.Asked != "" {
			text = "go on with what was asked last: " + w.said(x.Asked)
			if first := w.firstAsked(); first != x.Asked {
				text += ", and before that: " + w.said(first)
			}
			break
		}
	}
	if len(w.Operations) > 0 {
		return "see first to what is in doubt above, then " + text
	}
	return text
}

// firstAsked returns what the oldest session was asked first that is told of.
func (w *writer) firstAsked() (asked string) {
	for _, x := range w.Sessions {
		if x.First != "" {
			asked = x.First
		}
	}
	return asked
}

// begun returns the steps that were begun and are not done.
func (w *writer) begun() []step {
	return slices.DeleteFunc(slices.Clone(w.steps), func(s step) bool {
		switch {
		case s.state == nil || s.state.Finished() || s.state.Status == pawl.FailedForGood:
			return true
		case s.state.Status == pawl.Pending:
			return s.state.Attempts == 0 && s.state.Items == nil && s.state.Rejected == "" && len(s.state.Named) == 0
		}
		return false
	})
}

// ready returns the steps that nothing but their turn keeps from being begun.
func (w *writer) ready() []step {
	finished := make(map[pawl.StepID]bool, len(w.steps))
	for _, s := range w.steps {
		finished[s.ID] = s.state.Finished()
	}
	waits := func(id pawl.StepID) bool { return !finished[id] }
	order := w.Plan.Order()
	var ready []step
	for _, s := range w.steps[:w.planned] {
		fresh := s.state == nil || s.state.Status == pawl.Pending && s.state.Attempts == 0 && s.state.Items == nil && s.state.Rejected == ""
		if fresh && !slices.ContainsFunc(order[s.ID], waits) {
			ready = append(ready, s)
		}
	}
	return ready
}

// task says what a step is to do, how far it is, and how to know that it is done.
func (w *writer) task(s step) string {
	text := w.called(s)
	if s.Goal != "" {
		text += "; goal: " + w.said(s.Goal)
	}
	text += w.does(s.Step)
	if st := s.state; st != nil {
		text += w.progress(s.ID, st)
	}
	return text + "; done when: " + w.doneWhen(s.Step)
}

func (w *writer) called(s step) string {
	if s.Name == "" || s.Name == string(s.ID) {
		return w.code(string(s.ID))
	}
	return w.code(string(s.ID)) + " (" + w.code(s.Name) + ")"
}

// does says how a step is done.
func (w *writer) does(s *pawl.Step) string {
	switch {
	case s.Run != "":
		return "; runs " + w.script(s.Run)
	case s.Agent != nil:
		return "; an agent (" + w.code(string(s.Agent.Use)) + ") is asked " + w.said(s.Agent.Prompt)
	case s.Kernel != nil:
		return "; runs " + w.script(cmp.Or(s.Kernel.File, s.Kernel.Code)) + " in kernel " + w.code(s.Kernel.Name)
	case s.Gate != nil:
		return "; asks a person " + w.said(s.Gate.Ask)
	}
	return ""
}

// script returns the lines of a program on one line.
func (w *writer) script(text string) string {
	return w.code(strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ "))
}

// progress says how far a step is.
func (w *writer) progress(id pawl.StepID, st *pawl.StepState) string {
	text := ""
	if items := st.Items; items != nil {
		text += "; " + strconv.Itoa(items.Count) + " of " + count(items.Total, "item is", "items are") + " done"
		if n := len(items.Failed); n > 0 {
			text += ", " + strconv.Itoa(n) + " failed for good"
		}
		if found := w.outputs(id); found != "" {
			text += " (" + found + ")"
		}
		if left := w.Left[id]; left.Count > 0 {
			text += "; left are " + w.codes(left.First, maxLeft)
			if more := left.Count - min(len(left.First), maxLeft); more > 0 && len(left.First) <= maxLeft {
				text += " and " + strconv.Itoa(more) + " more"
			}
		}
	}
	if st.Progress != nil && st.Progress.Text != "" {
		text += "; it last said " + w.said(st.Progress.Text)
	}
	if st.Rejected != "" {
		text += "; a person sent it back" + w.because(st.Rejected)
	}
	return text
}

// maxLeft is how many items that are left are named.
const maxLeft = 8

// maxOutputs is how many outputs or checks of a step are named.
const maxOutputs = 5

// doneWhen says how to know that a step is done.
func (w *writer) doneWhen(s *pawl.Step) string {
	if s.Gate != nil {
		return "a person has answered"
	}
	conditions := []string{"it ends well"}
	if s.Foreach != nil {
		conditions[0] = "each item ends well"
	}
	if len(s.Outputs) > 0 {
		conditions = append(conditions, w.codes(s.Outputs, maxOutputs)+map[bool]string{true: " is", false: " are"}[len(s.Outputs) == 1]+" there")
	}
	names := slices.Sorted(maps.Keys(s.Accept))
	for _, name := range names[:min(len(names), maxOutputs)] {
		conditions = append(conditions, "check "+w.code(name)+" passes: "+w.code(s.Accept[name]))
	}
	if more := len(names) - maxOutputs; more > 0 {
		conditions = append(conditions, count(more, "more check passes", "more checks pass"))
	}
	for _, reviewer := range slices.Sorted(maps.Keys(s.Review)) {
		conditions = append(conditions, w.code(reviewer)+" gives it "+strconv.Itoa(s.Review[reviewer])+" of 100 or more")
	}
	return strings.Join(conditions, ", and ")
}

// named tells of the items that a step named itself and has not done.
func (w *writer) named(s *section, st step) {
	if st.state == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(st.state.Named)) {
		switch item := st.state.Named[id]; {
		case item.Status == pawl.ItemIsDone, item.Status == pawl.ItemDropped:
		case st.ID == pawl.TasksStep:
			s.add("open task: " + w.said(item.Title) + ", " + w.plain(string(item.Status)))
		default:
			s.add("its item: " + w.code(string(st.ID)+"/"+string(id)) + " is " + w.plain(string(item.Status)) + w.because(item.Title))
		}
	}
}

// command returns a command on this run.
func (w *writer) command(name, flag string) string {
	if flag != "" {
		flag += " "
	}
	return name + " " + flag + w.run
}

// onRun names a command on this run.
func (w *writer) onRun(name, flag string) string { return w.code(w.command(name, flag)) }
