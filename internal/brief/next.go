package brief

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl"
)

// step is a step with its state.
type step struct {
	*pawl.Step
	state *pawl.StepState // nil: no events yet
}

// stepsOf returns the plan's steps, then those that are only in the state, ordered by start time.
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

// next lists what to do and how to verify that it is done.
func (w *writer) next() section {
	s := section{title: "What to do next, and how to know that it is done", all: w.command("pawl status", "")}
	if w.Inside != nil {
		w.ownStep(&s)
		return s
	}
	todo := w.todo()
	s.add("next: " + todo[0])
	for _, also := range todo[1:] {
		s.add("also: " + also)
	}
	for _, st := range w.steps {
		if w.State.Rollback == nil && st.state.FailsRun() {
			s.add("failed step: " + w.called(st) + w.because(st.state.Why) + "; after fixing the cause: " + w.onRun("pawl retry "+string(st.ID), "--run"))
		}
	}
	begun := w.begun()
	for _, st := range begun {
		if st.ID != pawl.TasksStep {
			s.add("unfinished step: " + w.task(st))
		}
		w.addNamed(&s, st)
	}
	if !w.State.Ended() {
		for _, st := range w.ready(begun) {
			s.add("then step: " + w.task(st))
		}
	}
	return s
}

// ownStep describes the task of the reader's own attempt.
func (w *writer) ownStep(s *section) {
	name := w.code(w.Inside.Name())
	s.add("next: you are attempt " + strconv.Itoa(w.Inside.Attempt) + " of " + name + "; do only that: pawl runs the rest of the plan")
	for _, st := range w.steps {
		if st.ID == w.Inside.Step {
			s.add("your step: " + w.task(st))
			w.addNamed(s, st)
			if why := w.State.RerunText(st.ID); why != "" {
				s.add("rerun: why " + w.code(string(st.ID)) + " runs again" + w.because(why))
			}
		}
	}
}

// todo returns what to do next, with the command. Each further line is something to do as well.
func (w *writer) todo() []string {
	if w.State.Kind == pawl.SessionRun && w.State.Rollback == nil && w.State.Restore == nil && !w.State.Ended() {
		return w.sessionTodo()
	}
	return []string{w.runTodo()}
}

// runTodo returns the next action in a run with a plan.
func (w *writer) runTodo() string {
	resume := w.onRun("pawl resume", "")
	if w.State.Rollback != nil {
		return w.code("pawl rollback") + " continues the rollback, " + w.code("pawl rollback --stop") + " abandons it"
	}
	if w.State.Restore != nil {
		return w.code("pawl restore") + " finishes the restore, " + w.code("pawl restore --undo") + " returns to the files before it"
	}
	switch w.status {
	case pawl.StatusCompleted:
		return "nothing; the run is complete"
	case pawl.StatusFailed:
		return "the run has failed; fix the cause, retry the failed step, then " + resume
	case pawl.StatusWaiting:
		return "a person must act on \"" + forPeople + "\" below; then " + resume + " continues the run"
	}
	switch {
	case w.State.Kind == pawl.DurableRun:
		return "start the program that created this run: it continues where it stopped"
	case w.Engine != nil:
		return "do not run these steps yourself: the engine runs them; " + w.onRun("pawl watch", "") + " follows it"
	}
	text := resume + " continues with the steps below; finished steps and items rerun only if " + w.onRun("pawl why", "") + " lists them"
	if len(w.State.OpenGates())+len(w.State.OpenBlockers()) > 0 {
		text += "; what is listed under \"" + forPeople + "\" needs a person"
	}
	return text
}

// sessionTodo returns what to do next in a run without a plan.
func (w *writer) sessionTodo() []string {
	todo, left := w.unfinishedTurns()
	if slices.ContainsFunc(w.Operations, func(o Operation) bool { return o.Verdict != pawl.OperationRefused }) {
		todo[0] = "first resolve what is in doubt above" + map[bool]string{true: ", then ", false: "; "}[left] + todo[0]
	}
	if w.status == pawl.StatusWaiting {
		todo = append(todo, "a person must act on \""+forPeople+"\" below: do not do what depends on it")
	}
	return todo
}

// unfinishedTurns names the prompts that are left to finish: the reader's own, else those of the sessions that left something to do. found
// reports whether there are any; if not, the only line says what to do instead.
func (w *writer) unfinishedTurns() (todo []string, found bool) {
	var left, elsewhere, busy []string
	for i := range w.Sessions {
		switch x := &w.Sessions[i]; {
		case x.Reader && x.Open && x.Source == "compact":
			return []string{"continue with the user's last prompt: " + w.prompts(x)}, true
		case x.open() && x.Asked != "" && x.Worktree != w.Worktree:
			elsewhere = append(elsewhere, w.code(string(x.Session)))
		case x.open() && x.Asked != "":
			left = append(left, w.unfinishedTurn(x))
		case x.alive() && x.Open:
			busy = append(busy, w.code(string(x.Session)))
		}
	}
	const follow = "; follow the user's prompt"
	switch {
	case len(left) > 0:
		return left, true
	case len(busy) > 0:
		return []string{strings.Join(busy, ", ") + " is working now: do not do the same" + follow}, false
	case len(elsewhere) > 0:
		return []string{"your worktree has no interrupted turn to continue (in others, " + strings.Join(elsewhere, ", ") + " left something)" + follow}, false
	case w.State.Goal != "" && len(w.Sessions) == 0:
		return []string{"continue with the goal; there is no plan"}, true
	}
	return []string{"there is no interrupted turn to continue" + follow}, false
}

// unfinishedTurn names the prompt that a session has not finished, and why.
func (w *writer) unfinishedTurn(x *Session) string {
	name := w.code(string(x.Session))
	switch {
	case x.interrupted():
		return "ask the user whether to continue with the prompt of " + name + ", whose turn a person interrupted: " + w.prompts(x)
	case x.Doing == pawl.SessionFailed:
		return "continue with the prompt of " + name + ", which a model error stopped" + w.because(x.Why) + ": " + w.prompts(x)
	case x.Doing == pawl.SessionIsEnded:
		return "continue with the prompt of " + name + ", which ended before its turn was over: " + w.prompts(x)
	}
	return "continue with the prompt of " + name + ", which ended unexpectedly: " + w.prompts(x)
}

// prompts returns a session's last prompt and, if it is another one, its first.
func (w *writer) prompts(x *Session) string {
	if x.First == x.Asked {
		return w.quote(x.Asked)
	}
	return w.quote(x.Asked) + " (its first prompt was: " + w.quote(x.First) + ")"
}

// begun returns the steps that have started and are not done.
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

// ready returns the steps that have not begun and whose dependencies are all finished.
func (w *writer) ready(begun []step) []step {
	listed := make(map[pawl.StepID]bool, len(begun))
	for _, s := range begun {
		listed[s.ID] = true
	}
	waits := func(id pawl.StepID) bool { return !w.State.Steps[id].Finished() }
	order := w.Plan.Order()
	var ready []step
	for _, s := range w.steps[:w.planned] {
		fresh := s.state == nil || s.state.Status == pawl.Pending
		if fresh && !listed[s.ID] && !slices.ContainsFunc(order[s.ID], waits) {
			ready = append(ready, s)
		}
	}
	return ready
}

// task describes a step: what it does, its progress, and how to verify that it is done.
func (w *writer) task(s step) string {
	text := w.called(s)
	if g := w.State.AnsweredGate(s.ID); s.Gate != nil && g != nil && w.Engine == nil {
		return text + "; " + w.plain(g.AnswerText()) + "; " + w.onRun("pawl resume", "") + strings.TrimPrefix(g.After(), "pawl resume")
	}
	if s.Goal != "" {
		text += "; goal: " + w.quote(s.Goal)
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

// does describes the action of a step.
func (w *writer) does(s *pawl.Step) string {
	switch {
	case s.Run != "":
		return "; runs " + w.script(s.Run)
	case s.Agent != nil:
		return "; an agent (" + w.code(string(s.Agent.Use)) + ") is prompted with " + w.quoteEnds(s.Agent.Task())
	case s.Kernel != nil:
		return "; runs " + w.script(cmp.Or(s.Kernel.File, s.Kernel.Code)) + " in kernel " + w.code(s.Kernel.Name)
	case s.Gate != nil:
		return "; asks a person " + w.quote(s.Gate.Ask)
	}
	return ""
}

// script returns a program on one line.
func (w *writer) script(text string) string {
	return w.code(strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ "))
}

// progress describes the progress of a step.
func (w *writer) progress(id pawl.StepID, st *pawl.StepState) string {
	text := ""
	if items := st.Items; items != nil {
		text += "; " + strconv.Itoa(items.Count) + " of " + count(items.Size(), "item", "items") + " done"
		if n := len(items.Failed); n > 0 {
			text += ", " + strconv.Itoa(n) + " failed"
		}
		if found := w.outputs(id); found != "" {
			text += " (" + found + ")"
		}
		if left := w.Left[id]; left.Count > 0 {
			text += "; remaining: " + w.codes(left.First, maxLeft)
			if more := left.Count - min(len(left.First), maxLeft); more > 0 && len(left.First) <= maxLeft {
				text += " and " + strconv.Itoa(more) + " more"
			}
		}
	}
	if st.Progress != nil && st.Progress.Text != "" {
		text += "; last progress: " + w.quote(st.Progress.Text)
	}
	for _, live := range st.Live() {
		for _, warning := range live.Warnings {
			text += "; warning: " + w.quote(warning)
		}
	}
	if why := w.State.RerunText(id); why != "" {
		text += "; why it runs again" + w.because(why)
	}
	return text
}

// maxLeft is the maximum number of remaining items listed.
const maxLeft = 8

// maxOutputs is the maximum number of outputs or checks listed for a step.
const maxOutputs = 5

// doneWhen returns the conditions for a step to be done.
func (w *writer) doneWhen(s *pawl.Step) string {
	if s.Gate != nil {
		return "a person has answered"
	}
	conditions := []string{"it succeeds"}
	if s.Foreach != nil {
		conditions[0] = "each item succeeds"
	}
	if len(s.Outputs) > 0 {
		conditions = append(conditions, w.codes(s.Outputs, maxOutputs)+map[bool]string{true: " exists", false: " exist"}[len(s.Outputs) == 1])
	}
	names := slices.Sorted(maps.Keys(s.Accept))
	for _, name := range names[:min(len(names), maxOutputs)] {
		conditions = append(conditions, "check "+w.code(name)+" passes: "+w.code(s.Accept[name]))
	}
	if more := len(names) - maxOutputs; more > 0 {
		conditions = append(conditions, count(more, "more check passes", "more checks pass"))
	}
	for _, reviewer := range slices.Sorted(maps.Keys(s.Review)) {
		conditions = append(conditions, w.code(reviewer)+" scores it at least "+strconv.Itoa(s.Review[reviewer])+" of 100")
	}
	return strings.Join(conditions, ", and ")
}

// addNamed adds the unfinished items that a step named itself.
func (w *writer) addNamed(s *section, st step) {
	if st.state == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(st.state.Named)) {
		switch item := st.state.Named[id]; {
		case item.Status == pawl.ItemIsDone, item.Status == pawl.ItemDropped:
		case st.ID == pawl.TasksStep:
			s.add("open task: " + w.quote(item.Title) + ", " + w.plain(string(item.Status)))
		default:
			s.add("item: " + w.code(string(st.ID)+"/"+string(id)) + " is " + w.plain(string(item.Status)) + w.because(item.Title))
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

// onRun returns a command on this run as code.
func (w *writer) onRun(name, flag string) string { return w.code(w.command(name, flag)) }
