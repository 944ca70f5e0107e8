package brief

import (
	"strconv"
	"strings"
	"time"

	"pawl"
)

// nothing is the first section where no run is.
func (w *writer) nothing() section {
	s := section{title: "Where we are"}
	s.add("now: nothing has been run in this project yet, so there is nothing to go on with")
	s.add("begin: " + w.code("pawl run PLAN") + " carries out a plan, " + w.code("pawl run -- COMMAND") + " one command")
	return s
}

// where is the first section.
func (w *writer) where() section {
	s := section{title: "Where we are"}
	s.add("now: " + w.standing())
	if w.State.Goal != "" {
		s.add("goal: " + w.said(w.State.Goal))
	}
	if w.planned > 0 {
		s.add("position: " + w.position())
	}
	s.add("last event: number " + strconv.FormatInt(int64(w.State.Seq), 10) + ", " + w.ago(w.State.Updated))
	s.add("last checkpoint: " + w.lastSave())
	if w.Git != "" {
		s.add("git: " + w.git())
	}
	if spent := w.spent(); spent != "" {
		s.add("so far: " + spent)
	}
	return s
}

// git says where git stands, and stood.
func (w *writer) git() string {
	text := "HEAD is at " + w.said(w.Git)
	switch w.GitWas {
	case "":
		return text
	case w.Git:
		return text + ", as at the last checkpoint"
	}
	return text + ", and was at " + w.said(w.GitWas) + " at the last checkpoint"
}

// standing says how the run stands and who works on it.
func (w *writer) standing() string {
	state, text := w.State, string(w.status)
	if state.Kind == pawl.SessionRun {
		text = "a session without a plan, " + text
	}
	if !state.Ended() || w.status == pawl.StatusFailed {
		text += w.because(state.Why)
	}
	switch {
	case w.Engine != nil:
		text += "; an engine (process " + strconv.Itoa(w.Engine.PID) + ") works on it since " + at(w.Engine.Since) + ": do not start another"
	case w.status == pawl.StatusInterrupted && state.Engine != nil:
		text += "; no engine works on it: the last one (process " + strconv.Itoa(state.Engine.PID) + ") is gone and did not say that it stopped"
	case w.status == pawl.StatusInterrupted:
		text += "; no engine works on it"
	}
	if r := state.Rollback; r != nil {
		text += "; it is half rolled back, to checkpoint " + w.code(string(r.Checkpoint)) + ", and nothing else is started until that has ended"
	}
	return text
}

func (w *writer) position() string {
	pos, done := w.State.Position(w.Plan), 0
	for _, s := range w.steps[:w.planned] {
		if s.state.Finished() {
			done++
		}
	}
	total := strconv.Itoa(done) + " of " + count(w.planned, "step is", "steps are") + " finished, " + strconv.Itoa(w.State.Percent(w.Plan)) + "% of the work"
	if pos.Complete {
		return total
	}
	text := "phase " + strconv.Itoa(pos.Phase) + " of " + strconv.Itoa(pos.PhaseTotal)
	if pos.PhaseName != "" {
		text += " (" + w.code(pos.PhaseName) + ")"
	}
	text += ", step " + strconv.Itoa(pos.Step) + " of " + strconv.Itoa(pos.StepTotal) + " (" + w.code(string(pos.StepID)) + ")"
	if pos.ItemTotal > 0 {
		text += ", item " + strconv.Itoa(pos.Item) + " of " + strconv.Itoa(pos.ItemTotal)
	}
	return text + "; " + total
}

// lastSave names the newest checkpoint, and the newest one that can be gone back to where that is another.
func (w *writer) lastSave() string {
	last, good := w.State.LastSave, w.State.LastGood
	if last == nil {
		return "none was taken"
	}
	text := w.checkpoint(*last)
	if good != nil && good.ID != last.ID {
		text += "; the last one that is no emergency one: " + w.checkpoint(*good)
	}
	return text
}

func (w *writer) checkpoint(c pawl.Checkpoint) string {
	of := w.ofStep(c.Step)
	if c.Kind == pawl.CheckpointStep && c.Step == "" { // what is to come, not what was done
		of = ", " + w.plain(c.Why)
	}
	text := w.code(string(c.ID)) + " (" + w.plain(string(c.Kind)) + of + ") " + w.ago(c.Time)
	if why := c.Unsaved(); why != "" {
		text += ", without the files" + w.because(why)
	}
	return text
}

func (w *writer) ofStep(id pawl.StepID) string {
	if id == "" {
		return ""
	}
	return ", step " + w.code(string(id))
}

// spent says what the run took so far.
func (w *writer) spent() string {
	var parts []string
	state := w.State
	if d := time.Duration(state.Spent.Seconds * float64(time.Second)); d >= time.Second {
		parts = append(parts, lasted(d)+" of running time")
	}
	if state.Spent.Usage.USD > 0 {
		parts = append(parts, "$"+strconv.FormatFloat(state.Spent.Usage.USD, 'f', 2, 64))
	}
	if state.Spent.Usage.Tokens > 0 {
		parts = append(parts, strconv.FormatInt(state.Spent.Usage.Tokens, 10)+" tokens")
	}
	deaths := state.Deaths
	if state.Engine != nil && w.Engine == nil && !state.Ended() {
		deaths++ // known only from here on
	}
	if deaths > 0 {
		parts = append(parts, count(deaths, "death of pawl", "deaths of pawl")+" survived")
	}
	return strings.Join(parts, ", ")
}
