package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pawl"
	"pawl/internal/agents"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// A dialect that mixes subagents reports the start and the end of a subagent in its parent's session, and the subagent's tool calls as those
// of a separate session that does not name its parent. While a subagent works, a file named after the agent's process holds the
// parent's session. Another file, named after the subagent's session, keeps its parent for hooks that outlive the agent.

// subagents is the content of both files.
type subagents struct {
	Parent  string       `json:"parent"` // the session
	Process pawl.Process `json:"process"`
}

// parented returns the event as one of a subagent, if its session is one: another session in a process whose session has a running subagent.
func (c *call) parented(e agents.Event) agents.Event {
	parent := ""
	if c.process != nil {
		parent = c.parentIn(e)
	}
	if parent == "" && (e.Kind == agents.Before || e.Kind == agents.After || e.Kind == agents.Denied) {
		parent = c.parentBefore(e)
	}
	if parent != "" {
		e.Session, e.Sub = parent, e.Session
	}
	return e
}

// parentIn returns the session of this agent's process that has a running subagent, and keeps it; "" if there is none, or if it is the
// event's own.
func (c *call) parentIn(e agents.Event) string {
	paths, err := disk.Glob(c.project.Sessions(), c.subFiles(c.process))
	if err != nil {
		return ""
	}
	for _, path := range paths {
		of := readSubagents(path)
		if of.Parent == "" || of.Parent == e.Session {
			continue
		}
		if kept := c.parentFile(e.Session); readSubagents(kept) != of {
			c.putSubagents(kept, of)
		}
		return of.Parent
	}
	return ""
}

// parentBefore returns the parent of a subagent whose agent has died while this hook started; "" if the event's session is none.
func (c *call) parentBefore(e agents.Event) string {
	if kept := readSubagents(c.parentFile(e.Session)); kept.Parent != "" && (c.process == nil || *c.process != kept.Process) {
		return kept.Parent
	}
	if c.process != nil || readCache(c.project, pawl.SessionIDOf(c.dialect.Name, e.Session, e.Sub)).Run != "" {
		return ""
	}
	paths, err := disk.Glob(c.project.Sessions(), "sub-*")
	if err != nil {
		return ""
	}
	parent := ""
	for _, path := range paths { // its first call: which subagents had dead agents?
		of := readSubagents(path)
		if _, err := process.Find(of.Process); of.Parent == "" || of.Parent == parent || !errors.Is(err, process.ErrGone) {
			continue
		}
		if parent != "" {
			return "" // several
		}
		parent = of.Parent
	}
	return parent
}

// noteSubagents keeps the files of the subagents of this agent's process: the start of one adds a file, its end removes it, and the end of
// the parent's turn removes all.
func (c *call) noteSubagents() {
	if c.process == nil {
		return
	}
	switch c.event.Kind {
	case agents.SubStart:
		c.removeSubagents("sub-*", func(of subagents) bool {
			_, err := process.Find(of.Process)
			return errors.Is(err, process.ErrGone)
		})
		c.putSubagents(c.subFile(), subagents{Parent: c.event.Session, Process: *c.process})
	case agents.SubStop:
		if err := disk.Remove(c.subFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.logError(err)
		}
	case agents.Stop, agents.End:
		c.removeSubagents(c.subFiles(c.process), func(subagents) bool { return true })
	}
}

// removeSubagents removes the files that match a pattern and a condition.
func (c *call) removeSubagents(pattern string, which func(subagents) bool) {
	paths, err := disk.Glob(c.project.Sessions(), pattern)
	for _, path := range paths {
		if !which(readSubagents(path)) {
			continue
		}
		if failed := disk.Remove(path); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		c.logError(err)
	}
}

// readSubagents reads a file of subagents; it returns the zero value if the file is missing or invalid.
func readSubagents(path string) (of subagents) {
	data, err := disk.ReadFile(path, disk.RecordLimit)
	if err != nil || json.Unmarshal(data, &of) != nil {
		return subagents{}
	}
	return of
}

func (c *call) putSubagents(path string, of subagents) {
	data, err := json.Marshal(of)
	if err == nil {
		err = disk.MakeFolders(c.project.Sessions())
	}
	if err == nil {
		err = disk.Put(path, data)
	}
	if err != nil {
		c.logError(err)
	}
}

// subFiles returns the pattern of the files of the running subagents of an agent's process.
func (c *call) subFiles(process *pawl.Process) string {
	return "sub-" + short(fmt.Sprintf("%+v", *process)) + "-*"
}

// subFile is the file of the event's subagent while it runs.
func (c *call) subFile() string {
	pattern := c.subFiles(c.process)
	return filepath.Join(c.project.Sessions(), pattern[:len(pattern)-1]+short(c.event.Sub))
}

// parentFile is the file that keeps the parent of a subagent's session.
func (c *call) parentFile(session string) string {
	return filepath.Join(c.project.Sessions(), "parent-"+short(session))
}

// short returns a hash of text for a file name.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
