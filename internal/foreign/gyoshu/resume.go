package gyoshu

import (
	"strings"

	"pawl/internal/foreign"
)

// Resumption is from where a research may go on, and how.
type Resumption struct {
	Found      bool     `json:"found"`
	Title      string   `json:"reportTitle"`
	Run        string   `json:"runId,omitempty"`
	Checkpoint *Entry   `json:"checkpoint,omitempty"`
	Cell       []string `json:"rehydrationCells,omitempty"` // see Rehydrate
	Next       string   `json:"nextStageId,omitempty"`      // how the next stage's id begins; all of it where it was begun; empty: nobody knows
	Searched   int      `json:"searchedCount"`
	Warning    string   `json:"trustWarning,omitempty"`
	Issues     []string `json:"validationIssues,omitempty"`
	Passed     []Passed `json:"passedOver,omitempty"` // newer checkpoints, each with the reason why it is not the one

	base *Record // of Checkpoint
}

// Passed is a checkpoint that nothing is resumed from.
type Passed struct {
	Entry
	Why string `json:"why"`
}

// Resume finds the newest checkpoint of a title that is valid, of one run or with "" of all. One that was taken in the
// middle of a stage is no base, whatever it holds: it only says which stage was begun, and that stage is the next.
func Resume(files foreign.Files, title, run string, p Provenance, w foreign.World) Resumption {
	records := Records(files, title, run)
	for _, r := range records {
		r.From = p
	}
	return resume(records, title, run, w)
}

// resume is Resume of a title's checkpoints, of which those of other runs are passed over.
func resume(records []*Record, title, run string, w foreign.World) Resumption {
	res := Resumption{Title: title, Run: run}
	begun := ""
	for _, r := range records {
		if !r.Loads() || run != "" && r.Run != run {
			continue
		}
		res.Searched++
		if res.Found {
			continue
		}
		m := r.Manifest
		switch issues := m.Issues(r.From.Trust(), w); {
		case len(issues) > 0:
			res.Passed = append(res.Passed, Passed{r.entry(), strings.Join(issues, "; ")})
		case m.Status.unsafe():
			res.Passed = append(res.Passed, Passed{r.entry(), "it was taken in the middle of its stage (" + string(m.Reason) + ")"})
			if begun == "" {
				begun = m.Stage
			}
		default:
			res.take(r, begun)
		}
	}
	if !res.Found {
		res.Next, res.Issues = begun, []string{res.none(begun)}
	}
	return res
}

// take goes on from a checkpoint; begun is the stage that was cut off since.
func (res *Resumption) take(r *Record, begun string) {
	entry := r.entry()
	res.Found, res.Checkpoint, res.Run, res.base = true, &entry, r.Manifest.Run, r
	res.Cell = Rehydrate(r.Manifest, r.From.Trust())
	res.Warning = r.From.warning(r.Manifest.Trust)
	if res.Next = NextStage(entry.Stage); begun != "" && begun != entry.Stage {
		res.Next = begun
	}
}

// none says why there is nothing to go on from.
func (res *Resumption) none(begun string) string {
	switch {
	case res.Searched == 0:
		return "No checkpoints exist for this research/run"
	case begun != "":
		return "Only emergency checkpoints are valid: there is nothing to go back to, and stage " + begun + " begins again"
	}
	return "No valid checkpoints found - all failed integrity checks"
}
