package brief

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/stepenv"
)

// noRun is the first section of a project without runs.
func (w *writer) noRun() section {
	s := section{title: "Where we are"}
	s.add("now: no runs in this project yet; there is nothing to resume")
	s.add("begin: " + w.code("pawl run PLAN") + " runs a plan, " + w.code("pawl run -- COMMAND") + " runs one command")
	return s
}

// where is the first section: the status of the run.
func (w *writer) where() section {
	s := section{title: "Where we are"}
	s.add("now: " + w.standing())
	if w.State.Goal != "" {
		s.add("goal: " + w.quote(w.State.Goal))
	}
	if params := stepenv.ParamsLine(w.Plan, w.State.Given); params != "" {
		s.add("parameters: " + w.quote(params))
	}
	if w.planned > 0 {
		s.add("position: " + w.position())
	}
	s.add("last event: number " + strconv.FormatInt(int64(w.State.Seq), 10) + ", " + w.ago(w.State.Updated))
	s.add("last checkpoint: " + w.lastCheckpoint())
	if w.Worktree != "" {
		s.add("worktree: " + w.worktree())
	}
	if w.Git != "" {
		s.add("git: " + w.git())
	}
	if spent := w.spent(); spent != "" {
		s.add("so far: " + spent)
	}
	return s
}

// worktree says what a reader in a linked worktree must know: what the brief says about files is not about the reader's.
func (w *writer) worktree() string {
	text := "you work in " + w.code(w.Worktree) + ", a linked worktree of the project in " + w.code(w.Root)
	if strings.HasPrefix(w.Worktree, w.Root+"/") {
		return text
	}
	return text + "; checkpoints and file changes in this brief are those of the project's folder, not yours: commit with git to save your work"
}

// git names the current commit, and the one of the last checkpoint.
func (w *writer) git() string {
	text := "HEAD is " + w.quote(w.Git)
	switch w.GitWas {
	case "":
		return text
	case w.Git:
		return text + ", the same as at the last checkpoint"
	}
	return text + "; at the last checkpoint it was " + w.quote(w.GitWas)
}

// standing returns the status of the run and whether an engine runs it.
func (w *writer) standing() string {
	state := w.State
	word, why := state.StandingIn(w.Plan, w.Engine != nil)
	text := word
	if state.Kind == pawl.SessionRun {
		if w.status == pawl.StatusActive && w.agentsGone() {
			text = "no live agent"
		}
		text = "session without a plan, " + text
	}
	switch {
	case state.Rollback != nil: // it comes last
	case w.status == pawl.StatusWaiting && why != "":
		text += ": " + why // pawl's own words
	default:
		text += w.because(why)
	}
	switch {
	case w.Engine != nil:
		text += "; an engine (process " + strconv.Itoa(w.Engine.PID) + ") has been running it since " + at(w.Engine.Since) + ": do not start another"
	case w.status == pawl.StatusInterrupted && state.Engine != nil:
		text += "; no engine is running it: the last one (process " + strconv.Itoa(state.Engine.PID) + ") is gone and recorded no clean stop"
	case w.status == pawl.StatusInterrupted && word != pawl.ReadyToResume:
		text += "; no engine is running it"
	}
	if r := state.Rollback; r != nil {
		text += "; a rollback to checkpoint " + w.code(string(r.Checkpoint)) + " is unfinished: nothing else starts until it ends"
	}
	return text
}

// agentsGone reports whether no session has a live agent.
func (w *writer) agentsGone() bool {
	return !slices.ContainsFunc(w.Sessions, func(x Session) bool { return !x.Gone && x.Doing != pawl.SessionIsEnded })
}

func (w *writer) position() string {
	pos, tally := w.State.Position(w.Plan), w.State.Tally(w.Plan)
	total := strconv.Itoa(len(tally.Done)) + " of " + count(tally.Total, "step", "steps") + " finished, "
	if n := len(tally.Skipped); n > 0 {
		total += strconv.Itoa(n) + " skipped, "
	}
	if n := len(tally.Failed); n > 0 {
		total += pawl.ToleratedText(n) + ", "
	}
	total += strconv.Itoa(w.State.Percent(w.Plan)) + "% of the work"
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

// lastCheckpoint names the newest checkpoint and, if that is an emergency one, the newest regular one.
func (w *writer) lastCheckpoint() string {
	last, good := w.State.LastSave, w.State.LastGood
	if last == nil {
		return "none"
	}
	text := w.checkpoint(*last)
	if good != nil && good.ID != last.ID {
		text += "; last one that shows finished work: " + w.checkpoint(*good)
	}
	return text
}

func (w *writer) checkpoint(c pawl.Checkpoint) string {
	kind := w.plain(string(c.Kind)) + w.ofStep(c.Step)
	switch {
	case c.Kind == pawl.CheckpointStep && c.Step == "": // taken before steps start
		kind += ", " + w.plain(c.Why)
	case c.Kind == pawl.CheckpointStep:
		kind = "after step " + w.code(string(c.Step))
	}
	text := w.code(string(c.ID)) + " (" + kind + ") " + w.ago(c.Time)
	if why := c.Unsaved(); why != "" {
		text += ", files not saved" + w.because(why)
	}
	return text
}

func (w *writer) ofStep(id pawl.StepID) string {
	if id == "" {
		return ""
	}
	return ", step " + w.code(string(id))
}

// spent returns the time and cost of the run so far.
func (w *writer) spent() string {
	var parts []string
	state := w.State
	if d := time.Duration(state.Spent.Seconds * float64(time.Second)); d >= time.Second {
		parts = append(parts, formatDuration(d)+" of step time")
	}
	if state.Spent.Usage.USD > 0 {
		parts = append(parts, "$"+strconv.FormatFloat(state.Spent.Usage.USD, 'f', 2, 64))
	}
	if state.Spent.Usage.Tokens > 0 {
		parts = append(parts, strconv.FormatInt(state.Spent.Usage.Tokens, 10)+" tokens")
	}
	deaths := state.Deaths
	if state.Engine != nil && w.Engine == nil && !state.Ended() {
		deaths++ // not yet in the journal
	}
	if deaths > 0 {
		parts = append(parts, count(deaths, "crash of pawl", "crashes of pawl")+" survived")
	}
	return strings.Join(parts, ", ")
}
