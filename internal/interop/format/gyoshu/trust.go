package gyoshu

import (
	"fmt"

	"pawl"
	"pawl/internal/interop/format"
)

// Provenance is the origin of a checkpoint. The manifest's own statements are not evidence of it.
type Provenance string

// Where a checkpoint can come from.
const (
	MadeHere  Provenance = "made here"  // written by a run of this project, as its journal proves
	FoundHere Provenance = "found here" // written by someone else
)

// Trust returns the trust level for this provenance.
func (p Provenance) Trust() Trust {
	if p == MadeHere {
		return Local
	}
	return Imported
}

// trust returns the trust level of a checkpoint: by its provenance, and no higher than in its manifest. A manifest can lower
// the level, but not raise it.
func (r *Record) trust() Trust {
	trust, claimed := r.From.Trust(), r.Manifest.Trust
	if claimed == Untrusted || trust == Local && claimed == Imported {
		return claimed
	}
	return trust
}

// warning returns Gyoshu's warning before a resume from the checkpoint.
func (r *Record) warning() string {
	return r.trust().warning()
}

func (t Trust) warning() string {
	if t == Local {
		return ""
	}
	return fmt.Sprintf("Checkpoint is %s - verify source before resuming", t)
}

// findOrigins determines the provenance of each checkpoint.
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

// origin is a run of this project that may have written checkpoints.
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

// wrote reports whether a checkpoint matches, in everything that its hash covers but the execution count and the
// Python environment, what pawl writes for
// the run at that time: the journal has the stage as done, with its artifacts and no others than those of earlier stages. It is false for one from the middle of a stage, which is never
// a base, and for one that repeats a step that another run finished.
func (o *origin) wrote(rec *Record) bool {
	id := o.steps[rec.Manifest.Stage]
	st := o.State.Steps[id]
	if st == nil || st.Status != pawl.Done || o.imported(id) || !rec.Manifest.Intact() {
		return false
	}
	r := o.request(rec.ID, id, rec.Manifest.Time())
	if !containsAll(r.Artifacts, rec.Manifest.Artifacts) || !containsAll(rec.Manifest.Artifacts, artifactsIn(st.Outputs)) {
		return false
	}
	r.Artifacts, r.Executed, r.Python = rec.Manifest.Artifacts, rec.Manifest.Executions, rec.Manifest.Python
	return rec.Manifest.sum == Sum(encoded(r.manifest().unsigned()))
}

// containsAll reports whether some artifacts are all among others.
func containsAll(all, some []Artifact) bool {
	known := make(map[Artifact]bool, len(all))
	for _, a := range all {
		known[a] = true
	}
	for _, a := range some {
		if !known[a] {
			return false
		}
	}
	return true
}
