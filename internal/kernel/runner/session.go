package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise"
)

// FolderVar is the variable that names the session's folder to its runner.
const FolderVar = "PAWL_KERNEL_DIR"

// Start starts the runner of a session under a supervisor of its own, unless one is alive that runs the same kernel. It does not wait
// until the kernel is ready. The job needs a Kernel, and FolderVar in Env.
func Start(ctx context.Context, job pawl.Job) error {
	dir := job.Kernel.Folder
	if before, err := ReadJob(dir); err == nil && !sameKernel(before, &job) {
		if err := Stop(ctx, dir, "the plan names another kernel"); err != nil {
			return err
		}
	}
	lock, err := prepare(ctx, dir)
	if lock == nil || err != nil {
		return err
	}
	self, err := supervise.Self()
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	job.Command = []string{self, Verb}
	job.InterruptWait = pawl.Duration(closeLimit + time.Second)
	_, err = supervise.Start(lock, job, supervise.NewSeal())
	return err
}

// endLimit is how long the supervisor of a dead runner may take to end.
const endLimit = 30 * time.Second

// prepare takes the lock of a session, unless a runner holds it: the lock is then nil. A supervisor whose runner is dead holds it a little
// longer.
func prepare(ctx context.Context, dir string) (*supervise.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	for {
		lock, err := supervise.Prepare(dir)
		if pawl.KindOf(err) != pawl.KindHeld {
			return lock, err
		}
		if conn, dialErr := connect(ctx, dir); dialErr == nil {
			return nil, conn.Close()
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(dialInterval):
		}
	}
}

// sameKernel reports whether two jobs run the same kernel.
func sameKernel(a, b *pawl.Job) bool {
	x, y := a.Kernel.Action, b.Kernel.Action
	return x.Name == y.Name && x.Driver == y.Driver && x.Python == y.Python && x.Server == y.Server
}

// ReadJob reads the job of the runner that is this process, from the session's folder.
func ReadJob(dir string) (*pawl.Job, error) {
	data, err := disk.ReadFile(filepath.Join(dir, pawl.JobFile), disk.RecordLimit)
	if err != nil {
		return nil, fmt.Errorf("read the job: %w", err)
	}
	var job pawl.Job
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // parameters are exact
	if err := d.Decode(&job); err != nil {
		return nil, fmt.Errorf("read the job: %w", err)
	}
	if job.Kernel == nil {
		return nil, fmt.Errorf("read the job: not a job of a kernel")
	}
	return &job, nil
}

// Variables returns the folder with the checkpoints of a session's variables.
func Variables(dir string) string { return filepath.Join(dir, "variables") }

// Alive reports whether the runner of a session is alive.
func Alive(dir string) (bool, error) {
	status, err := supervise.Probe(dir)
	return status.State == supervise.Live, err
}

// Stop ends the runner of a session and its kernel, and waits until both are gone.
func Stop(ctx context.Context, dir, why string) error {
	alive, err := Alive(dir)
	if err != nil || !alive {
		return err
	}
	if err := supervise.RequestAbort(dir, pawl.Abort{Reason: pawl.ReasonAbort, Why: why}); err != nil {
		return err
	}
	return supervise.Attach(dir).Wait(ctx)
}

// errorPrefix begins the errors of a runner in its error output, which the kernel uses, too.
const errorPrefix = "pawl: kernel: "

// LastError returns the last error of the runner of a session; "" for none.
func LastError(dir string) string {
	file, err := disk.Open(filepath.Join(dir, pawl.ErrFile))
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	tail := make([]byte, min(info.Size(), 16<<10))
	if _, err := file.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return ""
	}
	last := ""
	for line := range strings.Lines(string(tail)) {
		if text, ok := strings.CutPrefix(line, errorPrefix); ok {
			last = strings.TrimSpace(text)
		}
	}
	return last
}
