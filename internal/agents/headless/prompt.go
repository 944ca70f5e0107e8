package headless

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/lazyregexp"
)

// Task is a step for an agent.
type Task struct {
	Step    string // step name, with the item if any
	Prompt  string
	Goal    string
	Outputs []string
	Checks  map[string]string // name → command
	Result  string            // file in which the agent may write its own result
}

// Begin returns the prompt of a new session. brief is the handover summary and may be empty. earlier is the outcome of earlier
// attempts, nil if there were none.
func (t Task) Begin(brief string, earlier *pawl.Resume) string {
	parts := []string{t.Prompt, t.terms()}
	if earlier != nil {
		if past := t.past(*earlier); past != "" || earlier.Attempt > 1 {
			parts = append(parts, "This task was attempted before. "+past)
		}
		if earlier.Prescribed != "" {
			parts = append(parts, earlier.Prescribed)
		}
	}
	if brief != "" {
		parts = slices.Concat([]string{strings.TrimSpace(brief), "Your task:"}, parts)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// Continue returns the prompt that continues the session of an earlier attempt.
func (t Task) Continue(earlier pawl.Resume) string {
	parts := slices.DeleteFunc([]string{t.past(earlier), earlier.Prescribed, continueTask, t.terms()}, func(part string) bool { return part == "" })
	return strings.Join(parts, "\n\n") + "\n"
}

// ContinueAfter returns the prompt that continues a session in the same attempt, after an interruption.
func (t Task) ContinueAfter(what string) string {
	return interrupted(what) + "\n\n" + continueTask + "\n"
}

const continueTask = "Continue your task where you stopped, and finish it."

// interrupted tells an agent that it was interrupted. Without this, agents mistake an interruption for a denial by the user.
func interrupted(what string) string {
	return fmt.Sprintf("You were interrupted by the machine or by pawl, which runs you, not by the user: %s. This is not a denial. "+
		"Your action at that moment may be done, partly done or not done: verify before you repeat it.", strings.TrimRight(what, "."))
}

// past describes the outcome of earlier attempts.
func (t Task) past(earlier pawl.Resume) string {
	var parts []string
	switch {
	case len(earlier.Unmet) > 0:
		parts = append(parts, t.unmet(earlier))
	case earlier.Ended != "":
		parts = append(parts, interrupted(earlier.Ended))
	}
	if earlier.Rejected != "" {
		parts = append(parts, "Why this step runs again: "+earlier.Rejected)
	}
	for _, a := range earlier.Answers {
		parts = append(parts, fmt.Sprintf("Answer to the question %q: %s.", a.Ask, answer(a)))
	}
	if len(earlier.Partial) > 0 {
		parts = append(parts, "Outputs that exist but may be incomplete: "+strings.Join(earlier.Partial, ", ")+".")
	}
	return strings.Join(parts, "\n")
}

// unmet lists the checks that failed although the attempt reported success.
func (t Task) unmet(earlier pawl.Resume) string {
	var text strings.Builder
	text.WriteString("The task is not done, although success was reported: these checks fail. Fix what they find.")
	for _, name := range earlier.Unmet {
		fmt.Fprintf(&text, "\n- %s: %s", name, t.Checks[name])
	}
	return text.String() + "\nTheir output: " + earlier.Ended
}

func answer(a pawl.GateReply) string {
	text := string(a.Answer)
	if a.Option != "" {
		text = a.Option
	}
	if a.Why != "" {
		text += " (" + a.Why + ")"
	}
	return text
}

// terms states when the task is done, and how to reach a person.
func (t Task) terms() string {
	lines := []string{fmt.Sprintf("You are running step %s of a pawl plan. The session is unattended: nobody can answer you here.", t.Step)}
	if t.Goal != "" {
		lines = append(lines, "The goal: "+t.Goal)
	}
	if len(t.Outputs) > 0 {
		lines = append(lines, "Required output files, relative to the project: "+strings.Join(t.Outputs, ", "))
	}
	if len(t.Checks) > 0 {
		lines = append(lines, "When you end your turn, pawl runs these checks; the step is done only if all of them succeed:")
		for _, name := range slices.Sorted(maps.Keys(t.Checks)) {
			lines = append(lines, fmt.Sprintf("- %s: %s", name, t.Checks[name]))
		}
	}
	lines = append(lines,
		"If you need an answer from a person, run `pawl ask QUESTION` and end your turn; you continue when the answer is there.",
		fmt.Sprintf("If you cannot continue at all, write {\"status\": \"blocked\", \"summary\": \"WHY\"} to the file %s and end your turn.", t.Result))
	return strings.Join(lines, "\n")
}

// variable matches a variable of pawl in a prompt.
var variable = lazyregexp.New(`\$\{PAWL_[A-Z0-9_]+\}|\$PAWL_[A-Z0-9_]+`)

// Expand replaces pawl's variables in a prompt with their values. It leaves other variables alone.
func Expand(prompt string, value func(name string) (string, bool)) string {
	return variable.ReplaceAllStringFunc(prompt, func(found string) string {
		if v, ok := value(strings.Trim(found, "${}")); ok {
			return v
		}
		digits := strings.TrimLeft(found[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") // $PAWL_ITEM2 is $PAWL_ITEM and a digit
		if v, ok := value(strings.TrimSuffix(found[1:], digits)); ok {
			return v + digits
		}
		return found
	})
}
