// Package holder says which run holds a project and how far it is, and waits until the project is free.
package holder

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
)

// Held is the error that another process holds the project. It says how far that process is.
type Held struct {
	project.Holder
	Percent  int
	Finished int // steps
	Steps    int
	Running  []pawl.StepID
	Stopped  bool // the process is suspended, so it makes no progress

	text string
	err  error
}

// Error implements error.
func (h *Held) Error() string { return h.text }

// Unwrap returns the error without the progress of the holder.
func (h *Held) Unwrap() error { return h.err }

// Describe adds to an error that says that the project is held: how far the holder is, and what the user can do. mayWait says that
// the command has the flags --wait and --take-over. Other errors stay as they are.
func Describe(ctx context.Context, p *project.Project, err error, mayWait bool) error {
	locked, ok := errors.AsType[*project.HeldError](err)
	if _, described := errors.AsType[*Held](err); !ok || described {
		return err
	}
	_, same := errors.AsType[*running](err)
	h := &Held{Holder: locked.Holder, text: err.Error(), err: err}
	stat, findErr := process.Find(h.Process)
	h.Stopped = findErr == nil && stat.Stopped
	if progress := h.progress(ctx, p); progress != "" {
		h.text += ": " + progress
	}
	hint := pawl.HintOf(err)
	switch {
	case h.Stopped:
		h.text, hint = h.text+"; its process is suspended, so it makes no progress", "pawl resume --take-over"
	case mayWait && !same:
		h.text += "; pass --wait to start when the project is free"
	}
	return &pawl.Error{Kind: pawl.KindHeld, Err: h, Hint: hint}
}

// running is the error that the run which a command would start is running already.
type running struct {
	project.Holder
	err error
}

// Running returns the error for a plan whose run the holder executes. It wraps the error that the project is held.
func Running(h project.Holder, err error) error {
	return &pawl.Error{Kind: pawl.KindHeld, Err: &running{h, err}, Hint: "pawl watch " + string(h.Run)}
}

// Error implements error.
func (r *running) Error() string {
	return fmt.Sprintf("run %s of this plan is already running (pid %d, since %s)", r.Run, r.PID, layout.UTCWithZone(r.Since))
}

// Unwrap returns the error that the project is held.
func (r *running) Unwrap() error { return r.err }

// progress reads the run of the holder. It returns how far the run is, for people; "" if it cannot be read.
func (h *Held) progress(ctx context.Context, p *project.Project) string {
	if h.Run == "" {
		return h.Command
	}
	r, err := runs.Load(ctx, p, h.Run)
	if err != nil {
		return ""
	}
	defer r.Log.Close()
	h.Percent, h.Steps = r.State.Percent(r.Plan), len(r.Plan.Steps())
	var running []string
	for _, step := range r.Plan.Steps() {
		st := r.State.Steps[step.ID]
		switch {
		case st == nil:
		case st.Finished():
			h.Finished++
		case st.Status == pawl.Running:
			h.Running = append(h.Running, step.ID)
			running = append(running, runningText(step.ID, st))
		}
	}
	text := fmt.Sprintf("%d of %s finished (%d%%)", h.Finished, layout.Count(h.Steps, "step"), h.Percent)
	if len(running) > 0 {
		text += ", running: " + strings.Join(running[:min(len(running), maxRunning)], ", ")
	}
	if len(running) > maxRunning {
		text += ", …"
	}
	return text
}

// maxRunning is how many running steps a text names.
const maxRunning = 3

func runningText(id pawl.StepID, st *pawl.StepState) string {
	if st.Items == nil {
		return string(id)
	}
	return fmt.Sprintf("%s (%d of %d items)", id, st.Items.Count, st.Items.Size())
}
