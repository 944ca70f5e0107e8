package gyoshu

import (
	"strings"

	"pawl/internal/interop/format"
)

// resumption is from where a run may go on, and how.
type resumption struct {
	base     *Record // nil: there is nothing to go on from
	next     string  // how the next stage's id begins; all of it where it was begun; empty: nobody knows
	searched int     // checkpoints that Gyoshu loads
	issue    string  // why there is no base
	passed   []passed
}

// passed is a newer checkpoint that nothing is resumed from.
type passed struct {
	*Record
	why string
}

// resume finds the newest checkpoint of a run that is valid. One that was taken in the middle of a stage is no base, whatever
// it holds: it only says which stage was begun, and that stage is the next.
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
		res.next, res.issue = begun, res.none(begun)
	}
	return res
}

// resumeFrom makes a checkpoint the resume point; begun is the stage that was interrupted after it.
func (res *resumption) resumeFrom(r *Record, begun string) {
	res.base = r
	if res.next = NextStage(r.Manifest.Stage); begun != "" && begun != r.Manifest.Stage {
		res.next = begun
	}
}

// none says why there is nothing to go on from.
func (res *resumption) none(begun string) string {
	switch {
	case res.searched == 0:
		return "No checkpoints exist for this research/run"
	case begun != "":
		return "Only emergency checkpoints are valid: there is nothing to go back to, and stage " + begun + " begins again"
	}
	return "No valid checkpoints found - all failed integrity checks"
}
