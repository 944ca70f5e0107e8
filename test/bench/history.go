package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/hook"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// sizes of journals in megabytes. The first one is the yardstick.
var (
	historySizes      = []int{10, 200, 2000}
	shortHistorySizes = []int{10, 50}
)

// history compares the cost of a hook and of `pawl status` in long journals with that in a short one.
func (b *bench) history() ([]line, error) {
	sizes := historySizes
	if b.short {
		sizes = shortHistorySizes
	}
	var projects []*project.Project
	for _, size := range sizes {
		p, err := b.longSession(size)
		if err != nil {
			return nil, err
		}
		projects = append(projects, p)
	}
	var lines []line
	for _, event := range []string{"PreToolUse", "PostToolUse"} {
		for i, p := range projects[1:] {
			before, err := endOf(p)
			if err != nil {
				return nil, err
			}
			m, err := inTurns(b.full(200, 20), 1, b.hookIn(p, event), b.hookIn(projects[0], event))
			if err := errors.Join(err, endKeeper(p), endKeeper(projects[0])); err != nil {
				return nil, err
			}
			if after, err := endOf(p); err != nil || after == before {
				return nil, fmt.Errorf("the hooks journaled nothing: %w", err)
			}
			work := fmt.Sprintf("hook call of %s in a journal of %d MB", event, sizes[i+1])
			lines = append(lines, m.line(work, fmt.Sprintf("the same in one of %d MB", sizes[0]), goal{ratio: 1.5}))
		}
	}
	for i, p := range projects[1:] {
		m, err := inTurns(b.full(50, 5), 1, b.statusOf(p), b.statusOf(projects[0]))
		if err != nil {
			return nil, err
		}
		work := fmt.Sprintf("`pawl status` in a journal of %d MB", sizes[i+1])
		lines = append(lines, m.line(work, fmt.Sprintf("the same in one of %d MB", sizes[0]), goal{ratio: 1.5}))
	}
	for _, p := range projects {
		if said, err := os.ReadFile(p.HookLog()); err == nil {
			return nil, fmt.Errorf("the hooks say: %s", said)
		}
		if err := os.RemoveAll(p.Root); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// longSession makes a project with a session whose journal has so many megabytes: the commands of one agent after another,
// the last one of which is alive.
func (b *bench) longSession(megabytes int) (*project.Project, error) {
	p, err := b.project(fmt.Sprintf("history-%d", megabytes))
	if err != nil {
		return nil, err
	}
	run := pawl.NewRunID("session", time.Now(), "0000")
	log, err := journal.Create(p.Runs(), run)
	if err != nil {
		return nil, err
	}
	created, err := event(pawl.RunCreated{Format: pawl.Format, Run: run, Project: p.ID, Kind: pawl.SessionRun, Name: "session"})
	if err == nil {
		_, err = log.Append(b, 0, created)
	}
	const batch = 2 << 20
	for written := 0; err == nil && written < megabytes*1_000_000; written += batch {
		err = b.appendSession(p, log, written/batch, batch)
	}
	if err == nil {
		err = b.appendSession(p, log, -1, 0)
	}
	state, stateErr := log.State(b)
	if err = errors.Join(err, stateErr); err == nil {
		err = log.SaveState(state)
	}
	return p, errors.Join(err, log.Close())
}

// appendSession journals one session of about so many bytes. Its number is part of its id; that of the bench is -1.
func (b *bench) appendSession(p *project.Project, log *journal.Log, number, size int) error {
	session := pawl.SessionIDOf("claude", "bench", "")
	if number >= 0 {
		session = pawl.SessionIDOf("claude", fmt.Sprint("past-", number), "")
	}
	said := []pawl.Payload{
		pawl.SessionBegan{Session: session, Source: "startup", Dir: p.Root},
		pawl.SessionPrompted{Session: session, Text: strings.Repeat("Please do this. ", 50), Digest: strings.Repeat("d", 64)},
	}
	summary := strings.Repeat("go test ./internal/journal && ", 20)
	for i := 0; size > 0; i++ {
		o := pawl.Operation{
			ID: pawl.OperationIDOf(session, fmt.Sprint(i)), Session: session, Tool: "Bash", Kind: pawl.OperationCommand,
			Summary: summary, Digest: strings.Repeat("d", 64), Clock: time.Now(),
		}
		said = append(said, pawl.OperationBegun{Operation: o}, pawl.OperationEnded{Operation: o.ID, Session: session, Seconds: 1})
		size -= len(summary) + 750 // of two lines
	}
	if number >= 0 {
		said = append(said, pawl.SessionEnded{Session: session})
	}
	var events []pawl.Event
	for _, payload := range said {
		e, err := event(payload)
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	_, err := log.Append(b, 0, events...)
	return err
}

// endOf returns where the journal of a project's only run ends.
func endOf(p *project.Project) (journal.Position, error) {
	runs, err := journal.Runs(p.Runs())
	if err != nil || len(runs) != 1 {
		return journal.Position{}, fmt.Errorf("%d runs: %w", len(runs), err)
	}
	return journal.End(p.Runs(), runs[0], 0)
}

// hookIn times a hook in a project, as a whole process.
func (b *bench) hookIn(p *project.Project, event string) func() (time.Duration, error) {
	payload, err := json.Marshal(map[string]any{
		"session_id": "bench", "transcript_path": "/home/ann/bench.jsonl", "cwd": p.Root, "hook_event_name": event, "tool_name": "Bash",
		"tool_use_id": "toolu_01", "tool_input": map[string]any{"command": "go test"}, "tool_response": map[string]any{"stdout": "ok\n"},
	})
	return timed(func() error {
		cmd := exec.Command(b.hookProgram, hook.Verb, "claude")
		cmd.Dir, cmd.Stdin = p.Root, bytes.NewReader(payload)
		return errors.Join(err, quiet(cmd))
	})
}

func (b *bench) statusOf(p *project.Project) func() (time.Duration, error) {
	return timed(func() error { return exec.Command(b.pawl, "-C", filepath.Clean(p.Root), "status").Run() })
}
