package logview

import (
	"cmp"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/oneline"
)

func gate(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.GateOpened:
		text := fmt.Sprintf("gate %s opened", p.ID)
		if p.Step != "" {
			text += " by " + string(p.Step)
		}
		return text + because(p.Ask)
	case pawl.GateAnswered:
		text := fmt.Sprintf("gate %s %s", p.Gate, p.Answer)
		if p.Option != "" {
			text += fmt.Sprintf(" %q", clip(p.Option))
		}
		if p.Auto {
			text += " automatically"
		}
		return text + because(p.Why)
	case pawl.GateExpired:
		return fmt.Sprintf("gate %s expired", p.Gate)
	case pawl.GateWithdrawn:
		return fmt.Sprintf("gate %s withdrawn%s", p.Gate, because(p.Why))
	case pawl.BudgetSpent:
		return fmt.Sprintf("budget spent (%s): %s of %s", p.Budget, p.Used, p.Limit)
	}
	return ""
}

func note(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.DecisionMade:
		return "decision" + because(p.Question) + because(p.Choice) + layout.Parenthesized(clip(p.Why))
	case pawl.BlockerOpened:
		text := "blocked"
		if p.Step != "" {
			text = string(p.Step) + " blocked"
		}
		return text + because(p.Text)
	case pawl.BlockerCleared:
		return fmt.Sprintf("blocker %d cleared%s", p.ID, because(p.How))
	case pawl.ResultsAdopted:
		return fmt.Sprintf("results reused from run %s", p.Run)
	case pawl.NoticeSent:
		if p.Error != "" {
			return fmt.Sprintf("notification (%s) to %s failed%s", p.Kind, p.To, because(p.Error))
		}
		return fmt.Sprintf("notification (%s) sent to %s", p.Kind, p.To)
	case pawl.MemoryLearned:
		return fmt.Sprintf("note (%s)%s", p.Kind, because(p.Text))
	}
	return ""
}

func checkpoint(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.CheckpointSaved:
		text := fmt.Sprintf("checkpoint %s saved (%s)", p.ID, strings.ReplaceAll(string(p.Kind), "_", " "))
		if p.Step != "" {
			text += " after " + pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name()
		}
		return text + because(cmp.Or(p.Unsaved(), p.Why))
	case pawl.CheckpointsPruned:
		if p.Why == pawl.WhyLost {
			return fmt.Sprintf("the snapshots of %s are missing: %s", layout.Count(len(p.Checkpoints), "checkpoint"), list(p.Checkpoints))
		}
		return fmt.Sprintf("%s deleted%s: %s", layout.Count(len(p.Checkpoints), "checkpoint"), layout.Parenthesized(clip(p.Why)), list(p.Checkpoints))
	case pawl.FilesRestored:
		return fmt.Sprintf("files restored from checkpoint %s: %s changed; before: checkpoint %s", p.Checkpoint, layout.Count(p.Changed, "path"), p.Before)
	}
	return ""
}

func rollback(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.RollbackStarted:
		return fmt.Sprintf("rollback to checkpoint %s started: %s", p.Checkpoint, layout.Count(p.Undos, "undo command"))
	case pawl.UndoStarted:
		return fmt.Sprintf("undo of %s started (attempt %d)", p.Name(), p.Attempt)
	case pawl.UndoDone:
		return fmt.Sprintf("undo of %s done", p.Name())
	case pawl.UndoFailed:
		return fmt.Sprintf("undo of %s failed%s", p.Name(), because(p.Why))
	case pawl.UndoSkipped:
		return fmt.Sprintf("undo of %s skipped%s", p.Name(), because(p.Why))
	case pawl.RollbackEnded:
		if p.Stopped != "" {
			return fmt.Sprintf("rollback to checkpoint %s stopped%s", p.Checkpoint, because(p.Stopped))
		}
		return fmt.Sprintf("rollback to checkpoint %s done", p.Checkpoint)
	}
	return ""
}

func session(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.SessionBegan:
		return fmt.Sprintf("%s began%s%s", sessionName(p.Session), layout.Parenthesized(p.Source), because(p.Model))
	case pawl.SessionPrompted:
		return fmt.Sprintf("%s got a prompt%s", sessionName(p.Session), because(p.Text))
	case pawl.SessionTurned:
		return turned(p)
	case pawl.SessionCompacted:
		return fmt.Sprintf("%s compacted its context%s", sessionName(p.Session), layout.Parenthesized(p.Trigger))
	case pawl.SessionTold:
		return fmt.Sprintf("the brief of %s named unfinished work of %s", sessionName(p.Session), layout.Count(len(p.Open), "session"))
	case pawl.SessionEnded:
		return fmt.Sprintf("%s ended%s", sessionName(p.Session), because(p.Why))
	}
	return ""
}

func operation(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.OperationBegun:
		return "tool call " + p.Tool + because(cmp.Or(p.Summary, oneline.Paths(p.Paths)))
	case pawl.OperationEnded:
		if p.Failed {
			return "tool call failed" + ended(p) + because(p.Error)
		}
		return "tool call finished" + ended(p)
	case pawl.OperationJudged:
		return fmt.Sprintf("interrupted tool call judged: %s%s", strings.ReplaceAll(string(p.Verdict), "_", " "), because(strings.Join(p.Evidence, "; ")))
	case pawl.OperationSettled:
		return "interrupted tool call settled" + because(p.Why)
	case pawl.OperationLeft:
		return fmt.Sprintf("tool call %s left %s running%s", p.Tool, layout.Count(len(p.Processes), "process"), because(p.Summary))
	}
	return ""
}

// ended says how long a tool call took, or who else says that it ended.
func ended(p pawl.OperationEnded) string {
	switch {
	case p.Source == pawl.FromTranscript:
		return " according to the agent's own record"
	case p.Seconds > 0:
		return " after " + layout.Seconds(p.Seconds)
	}
	return ""
}

// short cuts the agent's own id of a session, which is often a UUID.
func short(id pawl.SessionID) string { return fmt.Sprintf("%s:%.8s", id.Agent(), id.Native()) }

// sessionName names a session, or a subagent of one.
func sessionName(id pawl.SessionID) string {
	if id.Parent() != "" {
		return "subagent of session " + short(id)
	}
	return "session " + short(id)
}

// turned says what a session does since an event.
func turned(p pawl.SessionTurned) string {
	does := map[pawl.SessionDoing]string{pawl.SessionAsks: "asks for permission", pawl.SessionWorks: "works", pawl.SessionIdle: "is idle", pawl.SessionFailed: "failed"}[p.Doing]
	return sessionName(p.Session) + " " + cmp.Or(does, string(p.Doing)) + because(cmp.Or(p.Why, p.Said))
}
