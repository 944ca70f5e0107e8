package hook

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"pawl/internal/project"
)

// maxLog is how long hook.log gets before it is begun anew.
const maxLog = 1 << 20

// note writes a line into the project's hook.log. What cannot be written there is lost: nobody else may be disturbed.
func note(p *project.Project, what error) {
	if p == nil {
		return
	}
	if info, err := os.Stat(p.HookLog()); err == nil && info.Size() > maxLog {
		_ = os.Rename(p.HookLog(), p.HookLog()+".old")
	}
	file, err := os.OpenFile(p.HookLog(), os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600) // a pipe would be waited for
	if err != nil {
		return
	}
	defer file.Close()
	text := strings.ReplaceAll(what.Error(), "\n", " ⏎ ")
	_, _ = fmt.Fprintf(file, "%s %s\n", time.Now().UTC().Format(time.RFC3339), text)
}

// note writes a line into the log of the session's project, without secrets: errors name files.
func (c *call) note(what error) { note(c.project, c.clean(what)) }

func (c *call) clean(what error) error { return errors.New(c.redact.Text(what.Error())) }
