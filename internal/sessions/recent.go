package sessions

import (
	"fmt"

	"pawl"
	"pawl/internal/brief"
)

// maxNews is how many lines of news are told.
const maxNews = 40

// recentEvents says what happened since an event, one line each, but for what the reader did itself.
func (g *briefer) recentEvents(after pawl.Seq) *brief.News {
	news := &brief.News{}
	for event, err := range g.run.Log.Events(after) {
		if err != nil {
			g.unchecked("what is new: %v", err)
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

// describeEvent says an event in a line, where it is worth telling.
func describeEvent(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.StepDone:
		return fmt.Sprintf("step %s is done%s", p.Step, orNothing(": ", p.Summary))
	case pawl.StepFailed:
		return fmt.Sprintf("step %s has failed%s", p.Step, orNothing(": ", p.Why))
	case pawl.StepReopened:
		return fmt.Sprintf("step %s is to be done again%s", p.Step, orNothing(": ", p.Why))
	case pawl.GateOpened:
		return fmt.Sprintf("gate %s asks: %s", p.Gate.ID, p.Gate.Ask)
	case pawl.GateAnswered:
		return fmt.Sprintf("gate %s was answered: %s %s%s", p.Gate, p.Answer, p.Option, orNothing(": ", p.Why))
	case pawl.DecisionMade:
		return fmt.Sprintf("decided: %s%s", p.Choice, orNothing(", because ", p.Why))
	case pawl.BlockerOpened:
		return "a blocker: " + p.Text
	case pawl.BlockerCleared:
		return fmt.Sprintf("blocker %d is cleared%s", p.ID, orNothing(": ", p.How))
	case pawl.MemoryLearned:
		return "learned: " + p.Text
	case pawl.FilesRestored:
		return fmt.Sprintf("the files were brought back to checkpoint %s (%d paths)", p.Checkpoint, p.Changed)
	case pawl.OperationBegun:
		if p.Kind != pawl.OperationReads {
			return fmt.Sprintf("%s ran %s: %s", p.Session, p.Tool, p.Summary)
		}
	case pawl.SessionPrompted:
		return fmt.Sprintf("%s was asked: %s", p.Session, p.Text)
	case pawl.RunEnded:
		return "the run has " + string(p.Status)
	}
	return ""
}

func orNothing(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}
