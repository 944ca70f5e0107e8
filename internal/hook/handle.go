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
	"path/filepath"
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

// maxText is the maximum size of a journaled prompt, message or error in bytes.
const maxText = 2000

// handle processes the event and returns the answer to print, nil for none.
func (c *call) handle(ctx context.Context) ([]byte, error) {
	c.cache = readCache(c.project, c.session)
	e := c.event
	switch e.Kind {
	case agents.Start, agents.SubStart:
		return c.start(ctx)
	case agents.Prompt:
		return c.prompt(ctx)
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
		return nil, c.add(ctx, pawl.SessionTurned{Session: c.session, Doing: pawl.SessionFailed, Why: c.clean(e.Why)})
	case agents.Interrupt:
		return nil, c.add(ctx, pawl.SessionTurned{Session: c.session, Doing: pawl.SessionIdle, Why: "interrupted by a person"})
	case agents.Permission:
		return nil, c.add(ctx, c.asks())
	case agents.End, agents.SubStop:
		return nil, c.add(ctx, pawl.SessionEnded{Session: c.session, Why: c.clean(e.Why)})
	}
	return nil, nil
}

// asks returns the event that the agent asks a person for permission.
func (c *call) asks() pawl.SessionTurned {
	asks := pawl.SessionTurned{Session: c.session, Doing: pawl.SessionAsks, Why: c.clean(c.event.Why)}
	if len(c.event.Input) > 0 {
		asks.Digest = operations.Digest(c.event.Tool, c.event.Input)
	}
	return asks
}

// clean returns text redacted and truncated, as it may be journaled.
func (c *call) clean(text string) string {
	if len(text) > 4*maxText { // bounds the cost of redaction
		text = text[:4*maxText]
		text = text[:max(strings.LastIndexAny(text, " \n"), 3*maxText)] // do not cut a secret in two
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

// before journals the intent of a tool call. The tool runs only after it returns.
func (c *call) before(ctx context.Context) error {
	o := c.intent()
	o.Session = c.session
	if c.event.Call != "" {
		o.ID = pawl.OperationIDOf(c.session, c.event.Call)
	}
	if head, err := snapshot.HeadOf(ctx, operations.Dir(o, c.project.Root)); err == nil && head != nil {
		o.Head = head.Commit
	}
	clock, err := disk.FileSystemClock(c.project.Clock())
	if err != nil {
		return err
	}
	o.Clock = clock.UTC()
	payloads := []pawl.Payload{pawl.OperationBegun{Operation: o}}
	missed := c.missedStart()
	if missed != nil {
		payloads = []pawl.Payload{*missed, payloads[0]}
	}
	background := c.noteBackground(o)
	err = c.add(ctx, append(payloads, c.tasks()...)...)
	if err == nil && missed != nil {
		c.cache.Process = missed.Process
		c.recordProcess(*missed)
	}
	if background || err == nil && missed != nil {
		c.saveCache()
	}
	return err
}

// intent returns the expected effects of the event's tool call.
func (c *call) intent() pawl.Operation {
	return operations.Intent(operations.Call{
		Tool: c.event.Tool, Input: c.event.Input, Dir: c.dir(), Root: c.project.Root, Read: readSmall, There: isThere,
		Redact: c.redact.Text, Real: realPath,
	})
}

// dir returns the agent's working folder.
func (c *call) dir() string {
	if c.event.Dir != "" {
		return c.event.Dir
	}
	return c.project.Root
}

// realPath resolves the symbolic links of a path, if it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// maxRead is the maximum size in bytes of a file that is read before an agent changes it.
const maxRead = 8 << 20

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// readSmall reads a regular file of at most maxRead bytes.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRead {
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EFBIG}
	}
	return disk.ReadFile(path, maxRead)
}

// after journals the outcome of a tool call, and requests a checkpoint if the tool may have changed files.
func (c *call) after(ctx context.Context) error {
	e := c.event
	ended := pawl.OperationEnded{
		Session: c.session, Digest: operations.Digest(e.Tool, e.Input), Failed: e.Failed, Error: c.clean(e.Error), Seconds: e.Seconds,
		Answer: digest(e.Answer), Bytes: len(e.Answer),
	}
	if e.Call != "" {
		ended.Operation = pawl.OperationIDOf(c.session, e.Call)
	}
	if e.Kind == agents.Denied {
		ended.Failed, ended.Refused, ended.Error = true, true, cmp.Or(ended.Error, c.clean(e.Why), "permission was denied")
	}
	if err := c.add(ctx, append([]pawl.Payload{ended}, c.left()...)...); err != nil {
		return err
	}
	if operations.Changes(e.Tool) {
		return c.requestCheckpoint(pawl.CheckpointTool, "after "+c.clean(e.Tool))
	}
	return nil
}

// compact requests a checkpoint before the agent compacts its context.
func (c *call) compact(ctx context.Context) error {
	if err := c.add(ctx, pawl.SessionCompacted{Session: c.session, Trigger: c.clean(c.event.Why)}); err != nil {
		return err
	}
	if c.dialect.TellsLate("compact") {
		c.cache.Untold = true
		c.saveCache()
	}
	return c.requestCheckpoint(pawl.CheckpointBeforeCompaction, "before context compaction")
}

// requestCheckpoint requests a checkpoint and starts the keeper process if needed, without waiting for it.
func (c *call) requestCheckpoint(kind pawl.CheckpointKind, why string) error {
	if c.snapshots().Off || c.outsideCheckpoints() {
		return nil
	}
	start, err := history.RequestCheckpoint(c.project, history.CheckpointRequest{Run: c.cache.Run, Kind: kind, Why: why, Session: c.session})
	if err != nil || !start {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the pawl program: %w", err)
	}
	cmd := exec.Command(self, KeeperVerb, c.project.Root)
	cmd.Dir = c.project.Root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the checkpoint process: %w", err)
	}
	return cmd.Process.Release()
}

// outsideCheckpoints reports whether the agent works in a linked worktree whose files no checkpoint of the project holds.
func (c *call) outsideCheckpoints() bool {
	worktree := c.project.WorktreeOf(c.dir())
	return worktree != "" && !c.project.Contains(worktree)
}

// snapshots returns the snapshot settings. Unreadable settings are logged and count as empty.
func (c *call) snapshots() config.Snapshots {
	cfg, err := config.Of(c.project)
	if err != nil {
		c.logError(err)
	}
	return cfg.Snapshots
}

// tasks returns the changes of the agent's task list. Titles identify tasks, because each session numbers its tasks from 1.
func (c *call) tasks() []pawl.Payload {
	if len(c.event.Tasks) == 0 {
		return nil
	}
	if c.cache.Tasks == nil {
		c.cache.Tasks = map[string]string{}
	}
	step := pawl.StepID(cmp.Or(variable(c.Environ, "PAWL_STEP"), string(pawl.TasksStep)))
	var changed []pawl.Payload
	name := func(id pawl.ItemID, title string, status pawl.ItemStatus) {
		if now := string(status) + " " + title; c.cache.Tasks[string(id)] != now {
			c.cache.Tasks[string(id)] = now
			changed = append(changed, pawl.ItemNamed{Step: step, Item: id, Title: title, Status: status})
		}
	}
	listed := map[pawl.ItemID]bool{}
	for _, t := range c.event.Tasks[:min(len(c.event.Tasks), maxTasks)] {
		title := c.clean(cmp.Or(t.Title, t.ID))
		id := pawl.ItemIDOf(title)
		for n := 2; listed[id]; n++ { // a second task with this title
			id = pawl.ItemIDOf(fmt.Sprintf("%s (%d)", title, n))
		}
		listed[id] = true
		name(id, title, t.Status)
	}
	for id, was := range c.cache.Tasks {
		status, title, _ := strings.Cut(was, " ")
		if c.event.Whole && !listed[pawl.ItemID(id)] && status != string(pawl.ItemIsDone) {
			name(pawl.ItemID(id), title, pawl.ItemDropped)
		}
	}
	if len(changed) > 0 {
		c.saveCache() // otherwise the next call journals them again
	}
	return changed
}

// maxTasks is the maximum number of tasks journaled from one list.
const maxTasks = 100
