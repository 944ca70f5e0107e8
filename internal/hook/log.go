package hook

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pawl/internal/disk"
	"pawl/internal/project"
)

// maxLog is the size in bytes at which hook.log is rotated.
const maxLog = 1 << 20

// logError writes a line to the project's hook.log. A line that cannot be written is lost: a hook must not disturb its agent.
func logError(p *project.Project, what error) {
	if p == nil {
		return
	}
	if info, err := disk.Lstat(p.HookLog()); err == nil && info.Size() > maxLog {
		_ = disk.Rename(p.HookLog(), p.HookLog()+".old")
	}
	file, err := disk.OpenAppend(p.HookLog())
	if err != nil {
		return
	}
	defer file.Close()
	text := strings.ReplaceAll(what.Error(), "\n", " ⏎ ")
	_, _ = fmt.Fprintf(file, "%s %s\n", time.Now().UTC().Format(time.RFC3339), text)
}

// logError writes an error to the project's log without secrets, which file names may contain.
func (c *call) logError(what error) { logError(c.project, c.redactError(what)) }

func (c *call) redactError(what error) error { return errors.New(c.redact.Text(what.Error())) }
