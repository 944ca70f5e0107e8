package gyoshu

import (
	"path"
	"slices"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
)

// recordsAt returns the checkpoints of a title whose manifests, or folders, at these paths could not be read.
func recordsAt(paths []string, title string) []*Record {
	var found []*Record
	for _, at := range paths {
		for _, name := range []string{at, path.Join(at, "checkpoint.json")} {
			if r, ok := placeOf(name); ok && r.Title == title {
				found = append(found, r)
			}
		}
	}
	return found
}

// unread returns the checkpoints of a run that exist and cannot be parsed at all.
func (r *research) unread(run string) []*Record {
	return slices.DeleteFunc(slices.Clone(r.records), func(rec *Record) bool {
		return rec.Run != run || rec.Manifest != nil && rec.Manifest.Stage != ""
	})
}

// stageInText matches the stage in a manifest, also in a truncated one.
var stageInText = lazyregexp.New(`"stageId"\s*:\s*"([^"\\\s]+)"`)

// stageOf returns the stage of an unreadable checkpoint, from its text or the notebook's cell; "" if unknown.
func (r *research) stageOf(rec *Record) string {
	if file := r.files.Find(rec.Path); file != nil {
		if m := stageInText.FindSubmatch(file.Data); m != nil {
			return string(m[1])
		}
	}
	if r.notebook == nil {
		return ""
	}
	for _, c := range r.notebook.Cells {
		if c.Pointer.Manifest == rec.Path || c.Pointer.Manifest == "" && c.Pointer.ID == rec.ID {
			return c.Pointer.Stage
		}
	}
	return ""
}

// askUnread adds a gate for unreadable checkpoints of unknown stages. They may be newer than the resume point, so a person
// must decide before anything starts.
func (r *research) askUnread(out *format.Project, run string) {
	steps := out.Phases[0].Steps
	next := pawl.StepID("")
	if i := slices.IndexFunc(steps, func(s format.Step) bool { return s.Status != pawl.Done }); i >= 0 {
		next = steps[i].ID
	}
	for _, rec := range r.unread(run) {
		if r.stageOf(rec) == "" {
			out.Gates = append(out.Gates, format.Gate{Gate: pawl.Gate{Step: next, Type: pawl.HumanVerify, Opened: out.Updated,
				Ask: "Checkpoint " + rec.ID + " cannot be read, and its stage is unknown: " + rec.Path + ". Is it the checkpoint of a known stage, and can the run continue from the known stages?"}})
		}
	}
}
