package runs

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/shellwords"
)

// AnswerCommands returns the commands that close a gate. A step that waits to be started may also be done already.
func AnswerCommands(g *pawl.GateState) (commands []string) {
	if g.Type != pawl.DecisionFor {
		commands = []string{"pawl approve " + string(g.ID), fmt.Sprintf("pawl reject %s -m WHY", g.ID)}
	}
	for _, option := range g.Options {
		commands = append(commands, fmt.Sprintf("pawl answer %s %s", g.ID, shellwords.Word(option)))
	}
	if len(commands) == 0 {
		commands = append(commands, fmt.Sprintf("pawl answer %s CHOICE", g.ID))
	}
	if g.Purpose == pawl.ForStart {
		commands = append(commands, fmt.Sprintf("pawl done %s -m WHY", g.Step))
	}
	return commands
}

// ContinueCommand returns the command that continues a run; "" for a run without a plan, which no command continues.
func ContinueCommand(s *pawl.State) string {
	switch {
	case s.Rollback != nil:
		return "pawl rollback"
	case s.Restore != nil:
		return "pawl restore"
	case s.Kind == pawl.SessionRun, s.Kind == pawl.DurableRun:
		return ""
	}
	return "pawl resume " + string(s.Run)
}

// StartProgram says how to continue a durable run.
const StartProgram = "To resume this run, start the program that created it."

// ReviewCommands returns the commands that give the missing reviews of a step, each with the minimum score. onRun adds the run
// to a command that needs it.
func ReviewCommands(id pawl.StepID, st *pawl.StepState, onRun func(command string) string) []string {
	var commands []string
	for _, name := range st.Unreviewed() {
		review := fmt.Sprintf("pawl review %s --by %s --score N", id, shellwords.Word(name))
		command := onRun(review)
		if strings.HasPrefix(command, review) {
			command += fmt.Sprintf(" (minimum: %d of 100)", st.Minimum[name])
		}
		commands = append(commands, command)
	}
	return slices.Compact(commands)
}

// Then returns a text that begins with a command of pawl and says what it does, or which command a user needs before a resume.
func Then(text string, onRun func(command string) string) string {
	const resume = "pawl resume"
	if command := onRun(resume); strings.HasPrefix(text, resume) && !strings.HasPrefix(command, resume) {
		return "next: " + command
	}
	return text
}
