package headless

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/lazyregexp"
)

// Task is what a step asks of an agent.
type Task struct {
	Step    string // its name, with its item's
	Prompt  string
	Goal    string
	Outputs []string
	Checks  map[string]string // name → command
	Result  string            // the file in which it may say itself how it ended
}

// Begin returns the prompt of a new session. brief, which may be empty, says where everything stands, and told what
// earlier attempts came to; nil: there was none.
func (t Task) Begin(brief string, told *pawl.Resume) string {
	parts := []string{t.Prompt, t.terms()}
	if told != nil {
		if past := t.past(*told); past != "" || told.Attempt > 1 {
			parts = append(parts, "This was tried before. "+past)
		}
		if told.Prescribed != "" {
			parts = append(parts, told.Prescribed)
		}
	}
	if brief != "" {
		parts = slices.Concat([]string{strings.TrimSpace(brief), "Your task:"}, parts)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// Continue returns the prompt that goes on with the session of an earlier attempt.
func (t Task) Continue(told pawl.Resume) string {
	parts := slices.DeleteFunc([]string{t.past(told), told.Prescribed, carryOn, t.terms()}, func(part string) bool { return part == "" })
	return strings.Join(parts, "\n\n") + "\n"
}

// GoOn returns the prompt that goes on with a session of the same attempt, after what happened.
func (t Task) GoOn(what string) string {
	return notUser(what) + "\n\n" + carryOn + "\n"
}

const carryOn = "Carry on with your task from where you were, and finish it."

// notUser says that an agent was cut off. Without that it takes an interruption for a person's no.
func notUser(what string) string {
	return fmt.Sprintf("You were cut off by the machine or by pawl, which runs you, not by the user: %s. Nobody has refused anything. "+
		"What you were doing at that moment may be done, half done or not done: look before you do it again.", strings.TrimRight(what, "."))
}

// past says what earlier attempts came to.
func (t Task) past(told pawl.Resume) string {
	var parts []string
	switch {
	case len(told.Unmet) > 0:
		parts = append(parts, t.unmet(told))
	case told.Ended != "":
		parts = append(parts, notUser(told.Ended))
	}
	if told.Rejected != "" {
		parts = append(parts, "It is to be done again: "+told.Rejected)
	}
	for _, a := range told.Answers {
		parts = append(parts, fmt.Sprintf("To the question %q the answer is: %s.", a.Ask, answer(a)))
	}
	if len(told.Partial) > 0 {
		parts = append(parts, "Of its outputs there is something, and nobody vouches for it: "+strings.Join(told.Partial, ", ")+".")
	}
	return strings.Join(parts, "\n")
}

// unmet says which checks failed of an attempt that called itself done.
func (t Task) unmet(told pawl.Resume) string {
	var text strings.Builder
	text.WriteString("It is not done, whatever was said: these checks fail. Mend what they find.")
	for _, name := range told.Unmet {
		fmt.Fprintf(&text, "\n- %s: %s", name, t.Checks[name])
	}
	return text.String() + "\nWhat they said: " + told.Ended
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

// terms says when the task is done, and how to speak to people.
func (t Task) terms() string {
	lines := []string{fmt.Sprintf("You do step %s of a plan, run by pawl; nobody watches, and nobody can answer you here.", t.Step)}
	if t.Goal != "" {
		lines = append(lines, "It is done when this is so: "+t.Goal)
	}
	if len(t.Outputs) > 0 {
		lines = append(lines, "It must leave these, relative to the project: "+strings.Join(t.Outputs, ", "))
	}
	if len(t.Checks) > 0 {
		lines = append(lines, "When you end your turn these are run, and it is done only if all succeed:")
		for _, name := range slices.Sorted(maps.Keys(t.Checks)) {
			lines = append(lines, fmt.Sprintf("- %s: %s", name, t.Checks[name]))
		}
	}
	lines = append(lines,
		"If you need a person's answer, run `pawl ask QUESTION` and end your turn: you go on once it is there.",
		fmt.Sprintf("If you cannot go on at all, write {\"status\": \"blocked\", \"summary\": \"WHY\"} into the file %s and end your turn.", t.Result))
	return strings.Join(lines, "\n")
}

// variable is one of pawl's own in a prompt.
var variable = lazyregexp.New(`\$\{PAWL_[A-Z_]+\}|\$PAWL_[A-Z_]+`)

// Expand replaces pawl's own variables in a prompt by their values. Others stay: a prompt may speak of them.
func Expand(prompt string, value func(name string) (string, bool)) string {
	return variable.ReplaceAllStringFunc(prompt, func(found string) string {
		if v, ok := value(strings.Trim(found, "${}")); ok {
			return v
		}
		return found
	})
}
