package kernelcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// maxCode is the maximum size of code, as in the runner's requests.
const maxCode = 8 << 20

// executeCode executes code in the chosen session. An interrupt of this process interrupts the code.
func (x *Commands) executeCode(ctx context.Context, code string, limit, wait time.Duration) error {
	if code == "-" {
		data, err := io.ReadAll(io.LimitReader(x.In, maxCode+1))
		if err != nil {
			return fmt.Errorf("read the code: %w", err)
		}
		if code = string(data); len(code) > maxCode {
			return usage("", "the code has more than %d bytes", maxCode)
		}
	}
	if strings.TrimSpace(code) == "" {
		return usage("pawl kernel execute 'print(1)'", "the code is empty")
	}
	_, _, dir, err := x.folder(ctx)
	if err != nil {
		return err
	}
	c, err := x.dial(ctx, dir)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Do(ctx, runner.Request{Op: runner.OpAcquire, By: fmt.Sprintf("pawl kernel execute (process %d)", os.Getpid()), Wait: pawl.Duration(wait)}, nil); err != nil {
		return err
	}
	defer interruptOnSignal(ctx, dir)()
	var shown []kernel.Message
	end, err := c.Execute(ctx, runner.Execution{Link: runner.Link{Code: code}, Timeout: pawl.Duration(limit)}, func(kernel.CellID) {}, func(m kernel.Message) error {
		if x.json {
			shown = append(shown, m)
			return nil
		}
		return x.show(m)
	})
	if err != nil {
		return err
	}
	if x.json {
		err = x.print(struct {
			*runner.End
			Messages []kernel.Message `json:"messages"`
		}{end, append([]kernel.Message{}, shown...)}, nil)
	} else if end.Note != "" {
		fmt.Fprintf(x.Err, "pawl: note: %s\n", clean(end.Note))
	}
	switch {
	case err != nil || end.Status == kernel.OK:
		return err
	case end.Status == kernel.Interrupted && end.Limit > 0:
		return &pawl.Error{Kind: pawl.KindRunFailed, Err: fmt.Errorf("interrupted after %s (--timeout); the kernel keeps its variables", limit)}
	case end.Status == kernel.Interrupted:
		return &pawl.Error{Kind: pawl.KindInterrupted, Err: errors.New("interrupted; the kernel keeps its variables")}
	case end.Status == kernel.Lost:
		return &pawl.Error{Kind: pawl.KindRunFailed, Err: fmt.Errorf("the kernel died: %s", clean(end.Reason())), Hint: "pawl kernel restart"}
	}
	return &pawl.Error{Kind: pawl.KindRunFailed, Err: errors.New(clean(end.Reason()))}
}

// interruptOnSignal interrupts the code when this process gets SIGINT or SIGTERM. The returned function ends that.
func interruptOnSignal(ctx context.Context, dir string) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	go func() {
		select {
		case <-over:
			return
		case <-signals:
		}
		if c, err := runner.Dial(ctx, dir); err == nil { // else the code has ended, too
			c.Do(ctx, runner.Request{Op: runner.OpInterrupt}, nil)
			c.Close()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
	}
}

// show prints a message.
func (x *Commands) show(m kernel.Message) error {
	var err error
	switch m.Kind {
	case kernel.KindStream:
		to := x.Out
		if m.Stream == kernel.Stderr {
			to = x.Err
		}
		_, err = io.WriteString(layout.Output(to), clean(m.Text))
	case kernel.KindDisplay, kernel.KindResult:
		if text := m.PlainText(); text != "" {
			_, err = fmt.Fprintln(layout.Output(x.Out), clean(text))
		}
	case kernel.KindError:
		_, err = fmt.Fprintln(layout.Output(x.Err), clean(m.Error.String()))
	}
	return err
}

// entry is a line of pawl kernel list.
type entry struct {
	Session string         `json:"session"`
	Alive   bool           `json:"alive"`
	Status  *runner.Status `json:"status,omitempty"`
}

// sessions returns all kernels of a project: those of the user, and those of runs.
func sessions(p *project.Project) (names, dirs []string, err error) {
	folder := filepath.Join(p.Trust.Folder, "kernels")
	if entries, err := disk.ReadDir(folder); err == nil {
		for _, e := range entries {
			names, dirs = append(names, e.Name()), append(dirs, filepath.Join(folder, e.Name()))
		}
	}
	ids, err := runs.List(p)
	for _, id := range ids {
		for _, dir := range runs.SessionDirs(p, id) {
			names, dirs = append(names, string(id)+"/"+filepath.Base(dir)), append(dirs, dir)
		}
	}
	return names, dirs, err
}

// listKernels returns the kernels that are alive; with all, also those that ended.
func (x *Commands) listKernels(ctx context.Context, all bool) ([]entry, error) {
	p, err := x.Find()
	if err != nil {
		return nil, err
	}
	if err := p.Trusted(); err != nil {
		return nil, err
	}
	names, dirs, err := sessions(p)
	if err != nil {
		return nil, err
	}
	list := []entry{}
	for i, dir := range dirs {
		alive, err := runner.Alive(dir)
		if err != nil {
			return nil, err
		}
		e := entry{Session: names[i], Alive: alive}
		if alive {
			if e.Status, err = statusOf(ctx, dir); errors.Is(err, runner.ErrGone) || errors.Is(err, runner.ErrNotStarted) {
				e.Alive, err = false, nil // it has ended meanwhile
			}
			if err != nil {
				return nil, err
			}
		}
		if e.Alive || all {
			list = append(list, e)
		}
	}
	return list, nil
}

func statusOf(ctx context.Context, dir string) (*runner.Status, error) {
	c, err := runner.Dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	done, err := c.Do(ctx, runner.Request{Op: runner.OpStatus}, nil)
	if err != nil {
		return nil, err
	}
	return done.Status, nil
}
