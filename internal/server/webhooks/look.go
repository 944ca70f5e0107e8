package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// lookEvery is how often the journals are looked at.
const lookEvery = 15 * time.Second

// marks say up to where a receiver has been told of a project, by run.
type marks map[pawl.RunID]mark

// mark says up to where a receiver has been told of a run.
type mark struct {
	Size    int64     `json:"size"`           // of the journal's file when it was read
	Time    int64     `json:"time"`           // of its last change, in nanoseconds
	Seq     pawl.Seq  `json:"seq"`            // of the last event then
	Ends    int       `json:"ends,omitempty"` // of the run until then
	Ended   bool      `json:"ended,omitempty"`
	Told    []string  `json:"told,omitempty"`   // ids of the notices that are due still, and are queued or delivered
	Expires time.Time `json:"expires,omitzero"` // when to look again, because a gate expires soon
}

// Run looks at the journals of projects, and sends, until ctx ends.
func (h *Hooks) Run(ctx context.Context, projects func() []*project.Project) {
	var sending sync.WaitGroup
	defer sending.Wait()
	for sends := false; h.Configured(); {
		mine, err := h.begin(time.Now())
		if err != nil {
			h.all[0].tell("begin", err.Error())
		}
		if mine && !sends {
			sends = true
			for _, x := range h.all {
				sending.Go(func() { x.deliver(ctx) })
			}
		}
		if mine {
			for _, p := range projects() {
				if ctx.Err() == nil {
					h.Look(ctx, p, time.Now())
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// Look queues the messages about a project that are due.
func (h *Hooks) Look(ctx context.Context, p *project.Project, now time.Time) {
	for _, x := range h.all {
		err := func() (err error) {
			defer func() {
				if fault := recover(); fault != nil {
					err = fmt.Errorf("panic: %v", fault)
				}
			}()
			return x.look(ctx, p, now)
		}()
		text := ""
		if err != nil {
			text = fmt.Sprintf("%s: %v", p.Root, err)
		}
		x.tell(p.ID, text)
	}
}

// look queues the messages for one receiver. What is wrong with one run does not touch the others.
func (x *hook) look(ctx context.Context, p *project.Project, now time.Time) error {
	ids, err := journal.Runs(p.Runs())
	if err != nil {
		return err
	}
	known, err := x.marksOf(p)
	if err != nil {
		return err
	}
	next, changed := make(marks, len(known)), x.unsaved[p.ID]
	var errs []error
	for _, run := range ids {
		before, seen := known[run]
		found, err := x.lookAt(ctx, p, run, before, now)
		if err == nil && found != nil {
			err = x.put(p, run, found.notices, now)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("run %s: %w", run, err))
			fallthrough
		case found == nil:
			if seen {
				next[run] = before
			}
		case !seen || !reflect.DeepEqual(before, found.mark):
			changed = true
			fallthrough
		default:
			next[run] = found.mark
		}
	}
	if changed = changed || len(next) != len(known); changed {
		errs = append(errs, x.keep(p, next))
	}
	x.release()
	return errors.Join(errs...)
}

// found is what is new in a run.
type found struct {
	mark    mark
	notices []pawl.Notice
}

// errFull is that a receiver has too many messages that wait.
var errFull = fmt.Errorf("%d messages wait; what comes after is queued when there is room", maxWaiting)

// lookAt reads a run, if its journal has changed or one of its gates expires soon; else it returns nil. A run that comes from elsewhere
// is left alone: whoever wrote it would write the messages.
func (x *hook) lookAt(ctx context.Context, p *project.Project, run pawl.RunID, before mark, now time.Time) (*found, error) {
	info, err := disk.Lstat(filepath.Join(p.RunDir(run), journal.FileName))
	if err != nil || runs.RequireOwn(p, run) != nil {
		return nil, nil
	}
	after := mark{Size: info.Size(), Time: info.ModTime().UnixNano()}
	stored, err := journal.StoredIn(p.Runs(), run)
	current := err == nil && (stored == "" || before.Ended) // else the copy may be behind
	expires := !before.Expires.IsZero() && !now.Before(before.Expires)
	if current && !expires && after.Size == before.Size && after.Time == before.Time {
		return nil, nil
	}
	if x.full() {
		return nil, errFull
	}
	r, err := runs.Load(ctx, p, run)
	if errors.Is(err, pawl.ErrNoRun) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Log.Close()
	after.Seq, after.Ends, after.Ended = r.State.Seq, r.State.Ends, r.State.Ended()
	notices, err := x.due(r, before, &after, now)
	host, _ := os.Hostname() // informational
	for i := range notices {
		notices[i].Project, notices[i].Host = p.Root, host
	}
	return &found{after, notices}, err
}

// due returns the notices that the receiver has not got yet, in their order, and completes the mark.
func (x *hook) due(r *runs.Run, before mark, after *mark, now time.Time) (all []pawl.Notice, err error) {
	s := r.State
	add := func(n pawl.Notice, old bool) {
		if !old && (len(x.On) == 0 || slices.Contains(x.On, n.Kind)) {
			all = append(all, n)
		}
	}
	if !s.Ended() {
		for _, n := range append(decide.Notices(r.Plan, s, decide.Action{}, now), decide.Expiring(r.Plan, s, now)...) {
			after.Told = append(after.Told, n.ID)
			add(n, slices.Contains(before.Told, n.ID) || n.Kind != pawl.NoticeExpiry && n.Time.Before(x.since))
		}
		for _, g := range s.OpenGates() {
			soon := g.Expires.Add(-pawl.ExpirySoon)
			if !g.Expires.IsZero() && soon.After(now) && (after.Expires.IsZero() || soon.Before(after.Expires)) {
				after.Expires = soon
			}
		}
	}
	if s.Ends > before.Ends && s.Kind != pawl.SessionRun {
		number := before.Ends
		for e, err := range r.Log.Events(before.Seq) {
			if err != nil {
				return nil, err
			}
			if e.Type != (pawl.RunEnded{}).Event() {
				continue
			}
			if end, err := e.Payload(); err == nil {
				number++
				add(decide.Ended(r.Plan, s, number, end.(pawl.RunEnded), e.Time), e.Time.Before(x.since))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b pawl.Notice) int { return a.Time.Compare(b.Time) })
	return all, nil
}

func (x *hook) markPath(p *project.Project) string {
	return filepath.Join(x.folder, "marks", p.ID+".json")
}

// maxMarks limits the file of a project's marks in bytes.
const maxMarks = 64 << 20

// marksOf returns up to where a receiver has been told of a project. A file that cannot be read stands for nothing: what is due is sent
// again, with the same ids.
func (x *hook) marksOf(p *project.Project) (marks, error) {
	if known, ok := x.marks[p.ID]; ok {
		return known, nil
	}
	known := marks{}
	data, err := disk.ReadFile(x.markPath(p), maxMarks)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil && json.Unmarshal(data, &known) != nil {
		known = marks{}
	}
	return known, err
}

// keep records up to where a receiver has been told of a project.
func (x *hook) keep(p *project.Project, now marks) error {
	x.marks[p.ID], x.unsaved[p.ID] = now, true
	data, err := json.Marshal(now)
	if err == nil {
		err = disk.Replace(x.markPath(p), data)
	}
	if err == nil {
		delete(x.unsaved, p.ID)
	}
	return err
}
