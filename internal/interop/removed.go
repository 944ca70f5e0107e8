package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// removal is an open blocker that somebody removed from the file that listed it.
type removal struct {
	id   int
	file string
	ran  string // a step that may have removed it; empty: none ran since the blocker was opened
}

// removals returns the open blockers that somebody removed from the files, by id. What the blocker's own step may have removed is
// not among them: an agent may write its checkpoint without knowing of the blocker.
func (m *Mirror) removals(p *project.Project, r *runs.Run, files format.Files) []removal {
	if m.Format.ListedBlockers == nil || len(r.State.OpenBlockers()) == 0 {
		return nil
	}
	listed := m.Format.ListedBlockers(files, format.Export{State: r.State, Plan: r.Plan})
	maps.DeleteFunc(listed, func(_ int, b format.ListedBlocker) bool { return b.Listed })
	if len(listed) == 0 {
		return nil
	}
	opened, err := openingsOf(r)
	if err != nil {
		return nil // reading the journal elsewhere reports the error
	}
	known := readState(p, r.State)
	var all []removal
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		o := opened[id]
		if o != nil && !o.ranItself && (o.imported || known != nil && slices.Contains(known.Listed, id)) {
			all = append(all, removal{id: id, file: listed[id].File, ran: o.ran})
		}
	}
	return all
}

// opening is what the journal says of a blocker since it was opened.
type opening struct {
	step      pawl.StepID
	batch     pawl.Seq
	imported  bool
	ran       string // a step with an attempt since then
	ranItself bool   // the blocker's own step has one
}

func (o *opening) note(step pawl.StepID) {
	o.ran = string(step)
	o.ranItself = o.ranItself || step == o.step
}

// openingsOf returns the openings of a run's blockers, by id. An attempt that ended in the batch of an opening ended before.
func openingsOf(r *runs.Run) (map[int]*opening, error) {
	all := map[int]*opening{}
	for event, err := range r.Log.Events(0) {
		if err != nil {
			return nil, err
		}
		var about struct {
			Step pawl.StepID `json:"step"`
		}
		switch event.Type {
		case pawl.BlockerOpened{}.Event():
			if json.Unmarshal(event.Data, &about) == nil {
				all[len(all)+1] = &opening{step: about.Step, batch: event.Batch, imported: event.Seq < r.State.Import.Seq}
			}
		case pawl.AttemptStarted{}.Event(), pawl.AttemptEnded{}.Event(), pawl.StepDone{}.Event(), pawl.ItemDone{}.Event(), pawl.StepFailed{}.Event():
			for _, o := range all {
				if event.Batch != o.batch && json.Unmarshal(event.Data, &about) == nil {
					o.note(about.Step)
				}
			}
		}
	}
	for _, live := range r.State.Live() {
		for _, o := range all {
			o.note(live.Step)
		}
	}
	return all, nil
}

// removedIDs returns the ids of removals, for format.Export.
func removedIDs(all []removal) map[int]bool {
	ids := map[int]bool{}
	for _, r := range all {
		ids[r.id] = true
	}
	return ids
}

// clearRemoved clears the blockers that a person removed from the files, if that counts. It records why others stay open.
func (m *MirrorWriter) clearRemoved(ctx context.Context, r *runs.Run, files format.Files) {
	m.kept = nil
	for _, gone := range m.removals(m.project, r, files) {
		why := m.refuseFiles(r.State)
		if why == "" && gone.ran != "" {
			why = "step " + gone.ran + " ran since and may have removed it"
		}
		if why == "" {
			done, err := runs.Perform(ctx, m.project, r.State.Run, pawl.Author{Kind: pawl.ByPerson}, unblockIfOpen(gone.id, "removed from "+gone.file))
			if err == nil {
				_ = done.Log.Close() // the event is journaled
				continue
			}
			why = err.Error()
		}
		m.kept = append(m.kept, fmt.Sprintf("%s: the error of blocker %d was removed, and the blocker stays open: %s; to clear it, run pawl unblock %d", gone.file, gone.id, why, gone.id))
	}
}

// unblockIfOpen is runs.Unblock, or does nothing if the blocker was cleared in the meantime.
func unblockIfOpen(id int, how string) runs.Act {
	return func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		if !slices.ContainsFunc(r.State.OpenBlockers(), func(b pawl.Blocker) bool { return b.ID == id }) {
			return nil, nil
		}
		return runs.Unblock(id, how)(p, r)
	}
}

// noteListed records which open blockers the files list now, after they were written.
func (m *Mirror) noteListed(p *project.Project, run *pawl.State, plan *pawl.Plan, files format.Files) {
	if m.Format.ListedBlockers == nil || len(run.OpenBlockers()) == 0 || run.Mirror == nil || !run.Mirror.SameFiles(m.Record(p)) {
		return
	}
	k := readState(p, run)
	if k == nil {
		return
	}
	before := len(k.Listed)
	for id, b := range m.Format.ListedBlockers(files, format.Export{State: run, Plan: plan}) {
		if b.Listed && !slices.Contains(k.Listed, id) {
			k.Listed = append(k.Listed, id)
		}
	}
	if len(k.Listed) > before {
		slices.Sort(k.Listed)
		_ = k.put(p, run.Run) // only a cache
	}
}
