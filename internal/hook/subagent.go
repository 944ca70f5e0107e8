package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/agents"
	"pawl/internal/disk"
)

// A dialect that mixes subagents reports the start and the end of a subagent in its parent's session, and the subagent's tool calls as those
// of a separate session that does not name its parent. While a subagent works, a file named after the agent's process holds the
// parent's session.

// subFiles returns the pattern of the files of the subagents of this agent's process.
func (c *call) subFiles(process *pawl.Process) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", *process))
	return "sub-" + hex.EncodeToString(sum[:8]) + "-*"
}

// parented returns the event as one of a subagent, if its session is one: another session in a process whose session has a running subagent.
func (c *call) parented(e agents.Event) agents.Event {
	process := agentProcess(os.Getppid())
	if process == nil {
		return e
	}
	paths, err := disk.Glob(c.project.Sessions(), c.subFiles(process))
	if err != nil {
		return e
	}
	for _, path := range paths {
		parent, err := disk.ReadFile(path, disk.RecordLimit)
		if err == nil && len(parent) > 0 && string(parent) != e.Session {
			e.Session, e.Sub = string(parent), e.Session
			return e
		}
	}
	return e
}

// noteSubagents keeps the files of the subagents of this agent's process: the start of one adds a file, its end removes it, and the end of
// the parent's turn removes all.
func (c *call) noteSubagents() {
	process := agentProcess(os.Getppid())
	if process == nil {
		return
	}
	var err error
	switch c.event.Kind {
	case agents.SubStart:
		if err = disk.MakeFolders(c.project.Sessions()); err == nil {
			err = disk.Put(c.subFile(process), []byte(c.event.Session))
		}
	case agents.SubStop:
		err = disk.Remove(c.subFile(process))
	case agents.Stop, agents.End:
		paths, globErr := disk.Glob(c.project.Sessions(), c.subFiles(process))
		err = globErr
		for _, path := range paths {
			err = errors.Join(err, disk.Remove(path))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.logError(err)
	}
}

// subFile is the file of the event's subagent.
func (c *call) subFile(process *pawl.Process) string {
	sum := sha256.Sum256([]byte(c.event.Sub))
	pattern := c.subFiles(process)
	return filepath.Join(c.project.Sessions(), pattern[:len(pattern)-1]+hex.EncodeToString(sum[:8]))
}
