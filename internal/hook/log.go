package hook

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pawl/internal/disk"
)

// maxLog is the size in bytes at which hook.log is rotated.
const maxLog = 1 << 20

// appendLog appends a line to a log. A line that cannot be written is lost: a hook must not disturb its agent.
func appendLog(path string, what error) {
	if info, err := disk.Lstat(path); err == nil && info.Size() > maxLog {
		_ = disk.Rename(path, path+".old")
	}
	file, err := disk.OpenAppend(path)
	if err != nil {
		return
	}
	defer file.Close()
	text := strings.ReplaceAll(what.Error(), "\n", " ⏎ ")
	_, _ = fmt.Fprintf(file, "%s %s\n", time.Now().UTC().Format(time.RFC3339), text)
}

// logError writes an error to the project's log without secrets, which file names may contain.
func (c *call) logError(what error) { appendLog(c.project.HookLog(), c.redactError(what)) }

func (c *call) redactError(what error) error { return errors.New(c.redact.Text(what.Error())) }
