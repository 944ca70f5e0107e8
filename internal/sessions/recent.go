package sessions

import (
	"fmt"

	"pawl"
	"pawl/internal/brief"
)

// maxNews is how many events are listed.
const maxNews = 40

// recentEvents describes the events after one, one line each, without those of the reader.
func (g *briefer) recentEvents(after pawl.Seq) *brief.News {
	news := &brief.News{}
	for event, err := range g.run.Log.Events(after) {
		if err != nil {
			g.unchecked("recent events: %v", err)
			break
		}
		if event.By.Session != "" && pawl.SessionIDOf(event.By.Name, event.By.Session, "") == g.Session {
			continue
		}
		payload, err := event.Payload()
		if err != nil {
			continue
		}
		if line := describeEvent(payload); line != "" {
			news.Lines = append(news.Lines, event.Time.UTC().Format("15:04:05 UTC")+": "+line)
		}
	}
	if more := len(news.Lines) - maxNews; more > 0 {
		news.Lines, news.More = news.Lines[more:], more
	}
	return news
}

// describeEvent describes an event in a line, "" for an unimportant one.
func describeEvent(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.StepDone:
		return fmt.Sprintf("step %s done%s", p.Step, orNothing(": ", p.Summary))
	case pawl.StepFailed:
		return fmt.Sprintf("step %s failed%s", p.Step, orNothing(": ", p.Why))
	case pawl.StepReopened:
		return fmt.Sprintf("step %s queued for retry%s", p.Step, orNothing(": ", p.Why))
	case pawl.GateOpened:
		return fmt.Sprintf("gate %s: %s", p.Gate.ID, p.Gate.Ask)
	case pawl.GateAnswered:
		return fmt.Sprintf("gate %s answered: %s %s%s", p.Gate, p.Answer, p.Option, orNothing(": ", p.Why))
	case pawl.DecisionMade:
		return fmt.Sprintf("decision: %s%s", p.Choice, orNothing(", because ", p.Why))
	case pawl.BlockerOpened:
		return "blocker: " + p.Text
	case pawl.BlockerCleared:
		return fmt.Sprintf("blocker %d cleared%s", p.ID, orNothing(": ", p.How))
	case pawl.MemoryLearned:
		return "learned: " + p.Text
	case pawl.FilesRestored:
		return fmt.Sprintf("files restored to checkpoint %s (%d paths)", p.Checkpoint, p.Changed)
	case pawl.OperationBegun:
		if p.Kind != pawl.OperationReads {
			return fmt.Sprintf("%s ran %s: %s", p.Session, p.Tool, p.Summary)
		}
	case pawl.SessionPrompted:
		if !p.Own {
			return fmt.Sprintf("prompt to %s: %s", p.Session, p.Text)
		}
	case pawl.RunEnded:
		return "run " + string(p.Status)
	}
	return ""
}

func orNothing(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}
