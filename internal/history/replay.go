package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/stepenv"
	"pawl/internal/supervise"
)

// replay is a run as of a checkpoint.
type replay struct {
	target SavedCheckpoint
	events []pawl.Event
	state  *pawl.State
	plan   *pawl.Plan
	plans  map[string][]byte // plan revisions by file name
	blobs  [][]byte
}

// OpenReplay reads a run up to the event that names the checkpoint.
func OpenReplay(ctx context.Context, p *project.Project, target SavedCheckpoint) (*replay, error) {
	h := &replay{target: target, state: pawl.NewState(), plans: map[string][]byte{}, plan: &pawl.Plan{}}
	folder := runDir(p, target.Run)
	dir := &journal.Dir{Path: folder}
	err := h.read(ctx, dir)
	if err == nil {
		err = h.readFiles(folder)
	}
	return h, errors.Join(err, dir.Close())
}

// read reads the events. It does not read past the checkpoint, so damage there does not matter.
func (h *replay) read(ctx context.Context, dir *journal.Dir) error {
	for event, err := range dir.Read(ctx, h.target.Run, 0) {
		if err != nil {
			return err
		}
		h.events = append(h.events, event)
		h.state.Apply(event)
		if event.Seq == h.target.Seq {
			break
		}
	}
	switch h.state.Kind {
	case pawl.PlanRun, pawl.CommandRun, pawl.SessionRun:
	default:
		return runs.UsageError("pawl restore "+string(h.target.ID), "run %s belongs to the program that created it and cannot be forked, but its files can be restored", h.target.Run)
	}
	if len(h.state.UnknownTypes) > 0 {
		return fmt.Errorf("run %s: %w", h.target.Run, pawl.ErrNewer)
	}
	return nil
}

// readFiles reads the plans and blobs that the events name.
func (h *replay) readFiles(folder string) error {
	home := filepath.Join(folder, string(h.target.Run))
	for _, event := range h.events {
		switch event.Type {
		case pawl.RunPlanned{}.Event(), pawl.StepDone{}.Event():
		default:
			continue
		}
		payload, err := event.Payload()
		if err != nil {
			return err
		}
		switch p := payload.(type) {
		case pawl.RunPlanned:
			err = h.readPlan(home, p)
		case pawl.StepDone:
			err = h.readBlob(folder, p.Blob)
		}
		if err != nil {
			return err
		}
	}
	if h.state.Plan.Revision == 0 {
		return nil
	}
	var err error
	name := filepath.Base(h.state.Plan.File)
	if h.plan, err = planfile.ReadSaved(name, h.plans[name]); err == nil {
		h.plan = stepenv.Resolve(h.plan, h.state.Given)
	}
	return err
}

func (h *replay) readPlan(home string, planned pawl.RunPlanned) error {
	name := filepath.Base(planned.File)
	path := filepath.Join(home, name)
	data, err := disk.ReadFile(path, disk.PlanLimit)
	if err == nil && runs.SHA256Hex(data) != planned.SHA256 {
		err = fmt.Errorf("%s is not the plan recorded in the journal", path)
	}
	if err != nil {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("copy of the plan: %w", err), Hint: "pawl verify"}
	}
	h.plans[name] = data
	return nil
}

func (h *replay) readBlob(folder, name string) error {
	if name == "" {
		return nil
	}
	log, err := journal.Open(folder, h.target.Run)
	if err != nil {
		return err
	}
	data, err := log.Blob(name)
	h.blobs = append(h.blobs, data)
	return errors.Join(err, log.Close())
}

// inherited returns the events for the new run, with the same numbers and times. Only the first one differs.
func (h *replay) inherited(run pawl.RunID, projectID, version string) ([]pawl.Event, error) {
	var created pawl.RunCreated
	if err := json.Unmarshal(h.events[0].Data, &created); err != nil {
		return nil, err
	}
	created.Run, created.Project, created.Pawl, created.Format = run, projectID, version, pawl.Format
	created.Forked = &pawl.Fork{Run: h.target.Run, Checkpoint: h.target.ID, Seq: h.target.Seq, Origin: h.state.Origin()}
	first, err := redact.OfProcess().Event(h.events[0].By, created)
	if err != nil {
		return nil, err
	}
	return append([]pawl.Event{first}, h.events[1:]...), nil
}

// rejectsMore reports whether the state rejects more of the events than in the original run.
func (h *replay) rejectsMore(events []pawl.Event) bool {
	s := pawl.NewState()
	for i, event := range events {
		event.Seq = pawl.Seq(i + 1)
		s.Apply(event)
	}
	return s.RejectedCount > h.state.RejectedCount || len(s.Live()) > 0
}

// abandonedEnd returns the end of a live attempt of the original run, for the new one.
func (h *replay) abandonedEnd(p *project.Project, live *pawl.AttemptState) pawl.AttemptEnded {
	e := pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Lost, Why: "it belongs to run " + string(h.target.Run) + ", from which this one was forked"}
	dir := filepath.Join(runDir(p, h.target.Run), string(h.target.Run), "steps", string(live.Step), string(live.Item), fmt.Sprint(live.Attempt))
	if status, err := supervise.Probe(dir); err == nil && (status.Begun == nil || status.Begun.Started.After(h.target.Time)) {
		e.Outcome = pawl.NotStarted
	}
	return e
}

// Unproven returns the work that finished after the snapshot started and is not proven to be in it. Earlier work is in
// it, and a gate's answer has no files.
func (h *replay) Unproven(store *snapshot.Store, record snapshot.Record) ([]Redo, error) {
	var again []Redo
	for _, event := range h.events {
		if event.Seq <= record.Seq || event.Time.Before(record.Started) {
			continue
		}
		step, item, index, outputs := h.finished(event)
		if step == "" {
			continue
		}
		has, err := hasAll(store, record, outputs)
		if err != nil {
			return nil, err
		}
		if !has {
			again = addRedo(again, step, item, index)
		}
	}
	return again, nil
}

// finished returns the work that an event finished, if it leaves files; step is "" otherwise. Work that finished before
// the checkpoint was taken of it does not count.
func (h *replay) finished(event pawl.Event) (step pawl.StepID, item pawl.ItemID, index int, outputs pawl.Outputs) {
	payload, err := event.Payload()
	if err != nil {
		return "", "", 0, nil
	}
	switch p := payload.(type) {
	case pawl.StepDone:
		st, planned := h.state.Steps[p.Step], h.plan.Step(p.Step)
		if event.Seq != h.target.Seq && st.Done == event.Seq && st.Status != pawl.Pending && st.Items == nil && (planned == nil || planned.Gate == nil) {
			return p.Step, "", 0, p.Outputs
		}
	case pawl.ItemDone:
		if st := h.state.Steps[p.Step]; st.Items != nil && st.Items.Done.At(p.Index) == event.Seq {
			return p.Step, p.Item, p.Index, p.Outputs
		}
	}
	return "", "", 0, nil
}

// hasAll reports whether a snapshot provably contains all of the outputs. That is unknown for folders, large files and
// undeclared outputs.
func hasAll(store *snapshot.Store, record snapshot.Record, outputs pawl.Outputs) (bool, error) {
	for path, c := range outputs {
		e, err := store.At(record, path)
		if err != nil {
			return false, err
		}
		if e == nil || e.Kind != snapshot.File || e.ID.String() != c.SHA256 || c.Files > 0 {
			return false, nil
		}
	}
	return len(outputs) > 0, nil
}

// linkArtifacts links artifacts/$PAWL_RUN to the folder named after the origin of the line of forks, where declared
// paths look for it.
func (h *replay) linkArtifacts(home *project.Project, run pawl.RunID) error {
	origin := filepath.Dir(home.OutDir(h.state.Origin(), "step"))
	_, err := os.Stat(origin)
	if err != nil && !bytes.Contains(h.plans[filepath.Base(h.state.Plan.File)], []byte("PAWL_RUN")) {
		return nil
	}
	if err := disk.MakeFolders(origin); err != nil {
		return err
	}
	return disk.Symlink(filepath.Base(origin), filepath.Dir(home.OutDir(run, "step")))
}
