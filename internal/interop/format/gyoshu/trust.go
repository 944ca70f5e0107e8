package gyoshu

import (
	"fmt"

	"pawl"
	"pawl/internal/interop/format"
)

// Provenance is how a checkpoint came to be where it lies. What a manifest says of itself is no evidence of that.
type Provenance string

// Where a checkpoint can come from.
const (
	MadeHere  Provenance = "made here"  // a run of this project wrote it: its journal says the same
	FoundHere Provenance = "found here" // somebody else wrote it
)

// Trust returns how far a checkpoint of this provenance is trusted.
func (p Provenance) Trust() Trust {
	if p == MadeHere {
		return Local
	}
	return Imported
}

// trust returns how far a checkpoint is trusted to be resumed from: by its provenance, and no further than its manifest says. A
// manifest can cast doubt on itself, but not take it away.
func (r *Record) trust() Trust {
	trust, claimed := r.From.Trust(), r.Manifest.Trust
	if claimed == Untrusted || trust == Local && claimed == Imported {
		return claimed
	}
	return trust
}

// warning returns Gyoshu's words of caution before a checkpoint is resumed from.
func (r *Record) warning() string {
	trust := r.trust()
	if trust == Local {
		return ""
	}
	return fmt.Sprintf("Checkpoint is %s - verify source before resuming", trust)
}

// findOrigins says of each checkpoint where it comes from.
func (r *research) findOrigins(env format.Env) {
	runs := map[string]*origin{}
	for _, rec := range r.records {
		rec.From = FoundHere
		if env.Run == nil || !rec.Loads() {
			continue
		}
		o, known := runs[rec.Run]
		if !known {
			o = originOf(env.Run(rec.Run))
			runs[rec.Run] = o
		}
		if o != nil && o.wrote(rec) {
			rec.From = MadeHere
		}
	}
}

// origin is a run of this project's, which may have written checkpoints.
type origin struct {
	*researchWriter
	steps map[string]pawl.StepID // by stage
}

func originOf(state *pawl.State, plan *pawl.Plan) *origin {
	if state == nil {
		return nil
	}
	o := &origin{researchWriter: newResearchWriter(nil, format.Export{State: state, Plan: plan}), steps: map[string]pawl.StepID{}}
	for id, stage := range o.stages {
		o.steps[stage] = id
	}
	return o
}

// wrote reports whether a checkpoint is, in all that its hash is of, what is written of the run at that time: the journal
// says too that the stage is done, and which artifacts it left. One that was taken in the middle of a stage is no base for
// anything, and nobody asks. What it only says again of a step that another run finished is not its own.
func (o *origin) wrote(rec *Record) bool {
	id := o.steps[rec.Manifest.Stage]
	st := o.State.Steps[id]
	if st == nil || st.Status != pawl.Done || o.imported(id) || !rec.Manifest.Intact() {
		return false
	}
	return rec.Manifest.sum == Sum(encoded(o.request(rec.ID, id, rec.Manifest.Time()).manifest().unsigned()))
}
