package gyoshu

import (
	"strings"

	"pawl/internal/interop/format"
)

// resumption is the resume point of a run.
type resumption struct {
	base     *Record // nil: no valid checkpoint
	next     string  // prefix of the next stage's id, or all of it if that stage has begun; empty if unknown
	searched int     // number of checkpoints that Gyoshu loads
	issue    string  // why there is no base
	passed   []passed
}

// passed is a newer checkpoint that is not a resume point.
type passed struct {
	*Record
	why string
}

// resume finds the newest valid checkpoint of a run. One from the middle of a stage is never the base: it only names the
// interrupted stage, which is the next one.
func resume(records []*Record, run string, env format.Env) resumption {
	var res resumption
	begun := ""
	for _, r := range records {
		if !r.Loads() || r.Run != run {
			continue
		}
		res.searched++
		if res.base != nil {
			continue
		}
		m := r.Manifest
		switch issues := r.faults(env); {
		case len(issues) > 0:
			res.passed = append(res.passed, passed{r, strings.Join(issues, "; ")})
		case m.Status.unsafe():
			res.passed = append(res.passed, passed{r, "it was taken in the middle of its stage (" + string(m.Reason) + ")"})
			if begun == "" {
				begun = m.Stage
			}
		default:
			res.resumeFrom(r, begun)
		}
	}
	if res.base == nil {
		res.next, res.issue = begun, res.whyNone(begun)
	}
	return res
}

// resumeFrom sets the base; begun is the stage that was interrupted after it.
func (res *resumption) resumeFrom(r *Record, begun string) {
	res.base = r
	if res.next = NextStage(r.Manifest.Stage); begun != "" && begun != r.Manifest.Stage {
		res.next = begun
	}
}

// whyNone returns why there is no base.
func (res *resumption) whyNone(begun string) string {
	switch {
	case res.searched == 0:
		return "No checkpoints exist for this research/run"
	case begun != "":
		return "Only emergency checkpoints are valid: there is no checkpoint to resume from, and stage " + begun + " starts over"
	}
	return "No valid checkpoints found - all failed integrity checks"
}
