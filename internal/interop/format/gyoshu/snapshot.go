package gyoshu

import (
	"pawl/internal/interop/format"
)

// Snapshot is what Gyoshu's planner is told of a run's checkpoints.
type Snapshot struct {
	Last      *LastCheckpoint `json:"lastCheckpoint,omitempty"`
	Resumable bool            `json:"resumable"`      // the run has not ended, and there is a valid one to go on from
	From      string          `json:"from,omitempty"` // that one
}

// LastCheckpoint is the newest checkpoint, whatever it is worth.
type LastCheckpoint struct {
	ID         string `json:"checkpointId"`
	Stage      string `json:"stageId"`
	Created    string `json:"createdAt"`
	Status     Status `json:"status"`
	Validation string `json:"validationStatus"` // valid, invalid_sha256, invalid_artifacts, emergency_no_artifacts, parse_error
}

// snapshot returns the snapshot of a run. The newest checkpoint is the newest by its time, not by the order of a folder.
func (r *research) snapshot(run string, ended bool, res resumption, env format.Env) Snapshot {
	var s Snapshot
	for _, rec := range r.records {
		if rec.Run == run {
			s.Last = rec.last(env)
			break
		}
	}
	if res.base != nil && !ended {
		s.Resumable, s.From = true, res.base.ID
	}
	return s
}

func (r *Record) last(env format.Env) *LastCheckpoint {
	if !r.Loads() {
		return &LastCheckpoint{ID: r.ID, Stage: "unknown", Status: "unknown", Validation: "parse_error"}
	}
	m := r.Manifest
	l := &LastCheckpoint{ID: m.CheckpointID, Stage: m.Stage, Created: m.Created, Status: m.Status, Validation: "valid"}
	switch {
	case !m.Intact():
		l.Validation = "invalid_sha256"
	case m.Status.unsafe() && len(m.Artifacts) == 0:
		l.Validation = "emergency_no_artifacts"
	case len(r.faults(env)) > 0:
		l.Validation = "invalid_artifacts"
	}
	return l
}
