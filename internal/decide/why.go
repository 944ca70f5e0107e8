package decide

import (
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/runs"
)

// named adds the run to a command that needs it.
func (d *decider) named(command string) string {
	if d.onRun == nil {
		return command
	}
	return d.onRun(command)
}

// upToDate says why a finished step does not run.
func upToDate(st *pawl.StepState) string {
	switch {
	case st.Tolerated():
		return "failed (continue_on_error): " + st.Why
	case st.Status == pawl.Skipped:
		return st.SkippedText()
	case st.From != nil:
		return fmt.Sprintf("up to date, from %s", st.From.Run)
	}
	return "up to date"
}

func waitingFor(g *pawl.GateState) string {
	return fmt.Sprintf("waiting for gate %s: %s", g.ID, strings.Join(strings.Fields(g.Ask), " "))
}

// notStarted is the reason of a step or item that no attempt was made at.
const notStarted = "not started yet"

// pending says why a step or item runs. The engine, which prints nothing, gets no text.
func (d *decider) pending(id pawl.StepID, st *pawl.StepState, last *pawl.AttemptEnded) string {
	if d.onRun == nil {
		return ""
	}
	var parts []string
	if answered := d.state.AnsweredGate(id); answered != nil {
		parts = append(parts, answered.AnswerText()+"; "+runs.Then(answered.After(), d.onRun))
	} else if g := d.state.WithdrawnGate(id); g != nil {
		parts = append(parts, g.WithdrawnText()+"; "+runs.Then("pawl resume asks again", d.onRun))
	} else if why := d.state.RerunText(id); why != "" {
		parts = append(parts, why)
	}
	if last != nil && last.Outcome != pawl.WaitsFor {
		parts = append(parts, "last attempt: "+last.Why)
	}
	if len(parts) == 0 {
		parts = append(parts, notStarted)
	}
	return strings.Join(parts, "; ")
}

// itemsText counts the items of a foreach step that was begun.
func itemsText(it *pawl.ItemsState, run int) string {
	text := fmt.Sprintf("%d of %d items are finished", it.Count, it.Size())
	if n := len(it.Failed); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	switch {
	case run > 0:
		return text + fmt.Sprintf("; %d will run", run)
	case it.Left() > 0:
		return text
	case len(it.Failed) == 0:
		return fmt.Sprintf("all %d items are finished; pawl resume finishes the step", it.Size())
	}
	return text + "; pawl resume ends the step"
}
