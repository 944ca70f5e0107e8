package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/hook"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// slowestHook is how long an agent may have to wait for a hook, but for one in twenty.
const slowestHook = 10 * time.Millisecond

// hooks is row 7: what an agent waits for before and after each tool, by the length of the journal.
func (b *bench) hooks() ([]line, error) {
	var lines []line
	for _, events := range []int{10, 100_000} {
		p, err := b.session(events)
		if err != nil {
			return nil, err
		}
		for _, event := range []string{"PreToolUse", "PostToolUse"} {
			l, err := b.hook(p, event, events)
			if err := errors.Join(err, endKeeper(p)); err != nil {
				return nil, err
			}
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// session makes a project with a run of a session, of so many events.
func (b *bench) session(events int) (*project.Project, error) {
	p, err := b.project(fmt.Sprint("hook-", events))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(p.Root, "file.txt"), []byte("text\n"), 0o600); err != nil {
		return nil, err
	}
	run := pawl.NewRunID("session", time.Now(), "0000")
	log, err := journal.Create(p.Runs(), run)
	if err != nil {
		return nil, err
	}
	list, err := sessionEvents(p, run, events)
	if err != nil {
		return nil, err
	}
	if _, err := log.Append(b, 0, list...); err != nil {
		return nil, err
	}
	state, err := log.State(b)
	if err == nil {
		err = log.SaveState(state)
	}
	return p, errors.Join(err, log.Close())
}

// sessionEvents returns what happened to a session that runs commands.
func sessionEvents(p *project.Project, run pawl.RunID, events int) (list []pawl.Event, err error) {
	session := pawl.SessionIDOf("claude", "bench", "")
	said := []pawl.Payload{
		pawl.RunCreated{Format: pawl.Format, Run: run, Project: p.ID, Kind: pawl.SessionRun, Name: "session"},
		pawl.SessionBegan{Session: session, Source: "startup", Dir: p.Root},
	}
	for i := 0; len(said) < events; i++ {
		o := pawl.Operation{
			ID: pawl.OperationIDOf(session, fmt.Sprint(i)), Session: session, Tool: "Bash", Kind: pawl.OperationCommand,
			Summary: "go test ./internal/journal", Digest: strings.Repeat("d", 64), Clock: time.Now(),
		}
		said = append(said, pawl.OperationBegun{Operation: o}, pawl.OperationEnded{Operation: o.ID, Session: session, Seconds: 1})
	}
	for _, payload := range said {
		e, err := event(payload)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// hook measures one event's hook, as a whole process.
func (b *bench) hook(p *project.Project, event string, events int) (line, error) {
	payload, err := json.Marshal(map[string]any{
		"session_id": "bench", "transcript_path": "/home/ann/.claude/projects/x/bench.jsonl", "cwd": p.Root, "hook_event_name": event,
		"permission_mode": "acceptEdits", "tool_name": "Bash", "tool_use_id": "toolu_01", "tool_input": map[string]any{"command": "go test ./internal/journal"},
		"tool_response": map[string]any{"stdout": strings.Repeat("ok\n", 300), "stderr": "", "interrupted": false},
	})
	if err != nil {
		return line{}, err
	}
	f, err := b.bareFile()
	if err != nil {
		return line{}, err
	}
	defer f.Close()
	var works, yardsticks times
	work := works.of(func() error {
		cmd := exec.Command(b.hookProgram, hook.Verb, "claude")
		cmd.Dir, cmd.Stdin = p.Root, bytes.NewReader(payload)
		return quiet(cmd)
	})
	yardstick := yardsticks.of(func() error {
		cmd := exec.Command(b.nothing)
		cmd.Stdin = bytes.NewReader(payload)
		return errors.Join(quiet(cmd), f.appendOne())
	})
	m, err := inTurns(b.full(300, 20), 1, work, yardstick)
	if err != nil {
		return line{}, err
	}
	peak, err := b.hookPeak(p, payload)
	if err != nil {
		return line{}, err
	}
	if said, err := os.ReadFile(p.HookLog()); err == nil {
		return line{}, fmt.Errorf("the hooks say: %s", said)
	}
	p95 := works.p95()
	l := m.line(fmt.Sprintf("hook call of %s, whole process, event durable, in a journal of %d events", event, events), "a do-nothing Go binary + one fdatasync", goal{ratio: 5})
	l.measured = fmt.Sprintf("%s, p95 %s, %s against %s, p95 %s",
		m.show(m.work), m.show(p95), inMegabytes(peak), m.show(m.yardstick), m.show(yardsticks.p95()))
	l.goal += ", p95 ≤ " + slowestHook.String()
	l.met = yesOrNo(m.ratio <= 5 && p95 <= slowestHook)
	return l, nil
}

// times are what several rounds of the same took.
type times []time.Duration

// of makes a measurable thing of a deed, and keeps what each time takes.
func (t *times) of(do func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		d, err := timed(do)()
		*t = append(*t, d)
		return d, err
	}
}

// p95 is what all but one in twenty take at most.
func (t times) p95() time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[len(sorted)*95/100]
}

// hookPeak returns the memory that a hook takes.
func (b *bench) hookPeak(p *project.Project, payload []byte) (peak int64, err error) {
	path := filepath.Join(b.dir, "payload.json")
	if err := os.WriteFile(path, payload, 0o600); err != nil {
		return 0, err
	}
	for range 5 {
		in, err := os.Open(path)
		if err != nil {
			return 0, err
		}
		u, _, err := b.timedWith(in, p.Root, nil, b.hookProgram, hook.Verb, "claude")
		if err := errors.Join(err, in.Close()); err != nil {
			return 0, err
		}
		peak = max(peak, u.peak)
	}
	return peak, nil
}

// endKeeper ends who takes checkpoints for the hooks of a project, so that it is in nobody's way.
func endKeeper(p *project.Project) error {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return err
	}
	for _, link := range links {
		if dir, err := os.Readlink(link); err != nil || dir != p.Root {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(link, "/proc/%d/cwd", &pid); err == nil && pid != os.Getpid() {
			syscall.Kill(pid, syscall.SIGKILL) // gone meanwhile: as well
		}
	}
	return nil
}
