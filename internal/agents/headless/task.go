package headless

import (
	"encoding/json"
	"fmt"

	"pawl"
)

// TaskOf returns the task of an attempt's job, and the outcome of earlier attempts, nil if there were none. variable returns the
// variables of the step.
func TaskOf(job pawl.Job, variable func(name string) (string, bool)) (Task, *pawl.Resume, error) {
	value := func(name string) string {
		text, _ := variable(name)
		return text
	}
	task := Task{
		Step: job.Name(), Prompt: Expand(job.Agent.Task(), variable), Goal: job.Goal, Outputs: job.Outputs, Checks: job.Checks, Result: value("PAWL_RESULT"),
	}
	earlier, err := ParseResume(value("PAWL_RESUME"))
	return task, earlier, err
}

// ParseResume reads the value of PAWL_RESUME.
func ParseResume(text string) (*pawl.Resume, error) {
	if text == "" {
		return nil, nil
	}
	var earlier pawl.Resume
	if err := json.Unmarshal([]byte(text), &earlier); err != nil {
		return nil, fmt.Errorf("read PAWL_RESUME: %w", err)
	}
	return &earlier, nil
}

// First returns the prompt of an attempt's first turn. If the attempt continues the session of an earlier one, First also returns
// that session; else the prompt starts with the brief. first reports that there were no earlier attempts.
func (t Task) First(action pawl.AgentAction, earlier *pawl.Resume, brief func(first bool) string) (string, *pawl.Conversation) {
	if earlier == nil {
		return t.Begin(brief(true), nil), nil
	}
	if c := earlier.Conversation; c != nil && c.Agent == action.Use && c.ID != "" && action.MayResume() {
		return t.Continue(*earlier), c
	}
	return t.Begin(brief(false), earlier), nil
}

// Reader returns the reader of an agent's brief.
func Reader(name pawl.AgentName) pawl.AgentName {
	if name == pawl.AnyCommand {
		return pawl.ClaudeCode
	}
	return name
}
