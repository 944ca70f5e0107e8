package hook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"pawl"
	"pawl/internal/agents"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/operations"
	"pawl/internal/snapshot"
)

// maxText is how much of a prompt, of last words or of an error is kept, in bytes.
const maxText = 2000

// hear does what is to be done about an event, and returns what is printed; nil is nothing.
func (c *call) hear(ctx context.Context) ([]byte, error) {
	c.kept = keptOf(c.project, c.session)
	e := c.event
	switch e.Kind {
	case agents.Start, agents.SubStart:
		return c.start(ctx)
	case agents.Prompt:
		err := c.add(ctx, pawl.SessionPrompted{Session: c.session, Text: c.words(e.Text), Digest: digest([]byte(e.Text))})
		return c.tellOthers(), err
	case agents.Before:
		return nil, c.before(ctx)
	case agents.After, agents.Denied:
		return nil, c.after(ctx)
	case agents.Tasks:
		return nil, c.add(ctx, c.tasks()...)
	case agents.Compact:
		return nil, c.compact(ctx)
	case agents.Stop:
		return c.stop(ctx)
	case agents.Failure:
		return nil, c.add(ctx, pawl.SessionTurned{Session: c.session, Doing: pawl.SessionFailed, Why: c.words(e.Why)})
	case agents.Interrupt:
		return nil, c.add(ctx, pawl.SessionTurned{Session: c.session, Doing: pawl.SessionIdle, Why: "a person has interrupted it"})
	case agents.Permission:
		return nil, c.add(ctx, pawl.SessionTurned{Session: c.session, Doing: pawl.SessionAsks, Why: c.words(e.Why)})
	case agents.End, agents.SubStop:
		return nil, c.add(ctx, pawl.SessionEnded{Session: c.session, Why: c.words(e.Why)})
	}
	return nil, nil
}

// words returns a text as it may be kept.
func (c *call) words(text string) string {
	if len(text) > 4*maxText { // what is redacted is looked at whole, but not what is thrown away anyway
		text = text[:4*maxText]
		text = text[:max(strings.LastIndexAny(text, " \n"), 3*maxText)] // no secret is cut in two
	}
	text = c.redact.Text(text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// before journals an intent. Only then does the tool run.
func (c *call) before(ctx context.Context) error {
	o := operations.Intent(operations.Call{
		Tool: c.event.Tool, Input: c.event.Input, Dir: c.dir(), Root: c.project.Root, Read: readSmall, There: isThere,
		Redact: c.redact.Text,
	})
	o.Session = c.session
	if c.event.Call != "" {
		o.ID = pawl.OperationIDOf(c.session, c.event.Call)
	}
	if head, err := snapshot.HeadOf(ctx, c.project.Root); err == nil && head != nil {
		o.Head = head.Commit
	}
	clock, err := disk.FileSystemClock(c.project.Clock())
	if err != nil {
		return err
	}
	o.Clock = clock.UTC()
	payloads := []pawl.Payload{pawl.OperationBegun{Operation: o}}
	unheard := c.unheard()
	if unheard != nil {
		payloads = []pawl.Payload{*unheard, payloads[0]}
	}
	if err := c.add(ctx, append(payloads, c.tasks()...)...); err != nil || unheard == nil {
		return err
	}
	c.kept.Process = unheard.Process
	c.keep()
	return nil
}

// dir returns where the agent works.
func (c *call) dir() string {
	if c.event.Dir != "" {
		return c.event.Dir
	}
	return c.project.Root
}

// maxRead is how large a file is looked at before an agent changes it, in bytes.
const maxRead = 8 << 20

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// readSmall reads a file that is not too large to be read before a tool runs.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRead {
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EFBIG}
	}
	return os.ReadFile(path)
}

// after journals an outcome, and has a checkpoint taken of what the tool may have changed.
func (c *call) after(ctx context.Context) error {
	e := c.event
	ended := pawl.OperationEnded{
		Session: c.session, Digest: operations.Digest(e.Tool, e.Input), Failed: e.Failed, Error: c.words(e.Error), Seconds: e.Seconds,
		Answer: digest(e.Answer), Bytes: len(e.Answer),
	}
	if e.Call != "" {
		ended.Operation = pawl.OperationIDOf(c.session, e.Call)
	}
	if e.Kind == agents.Denied {
		ended.Failed, ended.Error = true, "permission was denied"
	}
	if err := c.add(ctx, ended); err != nil {
		return err
	}
	if operations.Changes(e.Tool) {
		return c.want(pawl.CheckpointTool, "after "+c.words(e.Tool))
	}
	return nil
}

// compact has a checkpoint taken before the context is shortened.
func (c *call) compact(ctx context.Context) error {
	if err := c.add(ctx, pawl.SessionCompacted{Session: c.session, Trigger: c.words(c.event.Why)}); err != nil {
		return err
	}
	return c.want(pawl.CheckpointBeforeCompaction, "before the context is shortened")
}

// want has a checkpoint taken, without waiting for it.
func (c *call) want(kind pawl.CheckpointKind, why string) error {
	if c.snapshots().Off {
		return nil
	}
	start, err := history.RequestCheckpoint(c.project, history.CheckpointRequest{Run: c.kept.Run, Kind: kind, Why: why, Session: c.session})
	if err != nil || !start {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own program: %w", err)
	}
	cmd := exec.Command(self, KeeperVerb, c.project.Root)
	cmd.Dir = c.project.Root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start who takes checkpoints: %w", err)
	}
	return cmd.Process.Release()
}

// snapshots returns how snapshots are kept. Settings that cannot be read are noted, and count as none.
func (c *call) snapshots() config.Snapshots {
	cfg, err := config.Read(c.project.Config())
	if err != nil {
		c.note(err)
	}
	return cfg.Snapshots
}

// tasks returns what is new on the agent's task list. A task is known by its title: agents count from 1 in each session.
func (c *call) tasks() []pawl.Payload {
	if len(c.event.Tasks) == 0 {
		return nil
	}
	if c.kept.Tasks == nil {
		c.kept.Tasks = map[string]string{}
	}
	step := pawl.StepID(cmp.Or(variable(c.Environ, "PAWL_STEP"), string(pawl.TasksStep)))
	var news []pawl.Payload
	name := func(id pawl.ItemID, title string, status pawl.ItemStatus) {
		if now := string(status) + " " + title; c.kept.Tasks[string(id)] != now {
			c.kept.Tasks[string(id)] = now
			news = append(news, pawl.ItemNamed{Step: step, Item: id, Title: title, Status: status})
		}
	}
	listed := map[pawl.ItemID]bool{}
	for _, t := range c.event.Tasks[:min(len(c.event.Tasks), maxTasks)] {
		title := c.words(cmp.Or(t.Title, t.ID))
		id := pawl.ItemIDOf(title)
		for n := 2; listed[id]; n++ { // another one of that title
			id = pawl.ItemIDOf(fmt.Sprintf("%s (%d)", title, n))
		}
		listed[id] = true
		name(id, title, t.Status)
	}
	for id, was := range c.kept.Tasks {
		status, title, _ := strings.Cut(was, " ")
		if c.event.Whole && !listed[pawl.ItemID(id)] && status != string(pawl.ItemIsDone) {
			name(pawl.ItemID(id), title, pawl.ItemDropped)
		}
	}
	if len(news) > 0 {
		c.keep() // else they are journaled once more the next time
	}
	return news
}

// maxTasks is how many tasks of a list are journaled at once.
const maxTasks = 100
