// Package promptview shows the prompt that the next attempt at an agent step starts with.
package promptview

import (
	"context"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/agents/headless"
	"pawl/internal/brief"
	"pawl/internal/engine"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/sessions"
)

// Prompt is what `pawl brief --prompt STEP --json` prints.
type Prompt struct {
	Run     pawl.RunID     `json:"run"`
	Step    pawl.StepID    `json:"step"`
	Item    pawl.ItemID    `json:"item,omitempty"`
	Attempt int            `json:"attempt"`
	Agent   pawl.AgentName `json:"agent"`
	Session string         `json:"session,omitempty"` // the agent's own session, which the attempt continues
	Text    string         `json:"prompt"`
}

// Of returns the prompt of the next attempt at a step, as it would be now. cfg is that of an engine.
func Of(ctx context.Context, cfg engine.Config, r *runs.Run, id pawl.StepID) (Prompt, error) {
	job, err := engine.Preview(ctx, cfg, r, id)
	if err != nil {
		return Prompt{}, err
	}
	task, earlier, err := headless.TaskOf(job, variablesOf(job.Env))
	if err != nil {
		return Prompt{}, err
	}
	var briefErr error
	text, continued := task.First(*job.Agent, earlier, func(first bool) string {
		reader := brief.Audience(headless.Reader(job.Agent.Use))
		b, err := sessions.Brief(ctx, cfg.Project, r.State.Run, sessions.Briefing{Options: brief.Options{For: reader}, Attempt: &job.AttemptRef, Snapshots: cfg.Snapshots})
		if briefErr = err; err != nil || first && !b.HandsOver() {
			return ""
		}
		return b.Text
	})
	p := Prompt{Run: r.State.Run, Step: id, Item: job.Item, Attempt: job.Attempt, Agent: job.Agent.Use, Text: redact.OfProcess().Text(text)}
	if continued != nil {
		p.Session = continued.ID
	}
	if briefErr != nil {
		return Prompt{}, fmt.Errorf("brief: %w", briefErr)
	}
	return p, nil
}

// variablesOf looks up variables in a list of NAME=VALUE.
func variablesOf(env []string) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		for _, entry := range env {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}
