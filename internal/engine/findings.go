package engine

import (
	"pawl"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"slices"
)

// maxFindings is the maximum number of findings in the journal event.
const maxFindings = 50

// Examined journals the findings above level OK. Call it before Run.
func (e *Engine) Examined(x *resume.Examination) {
	found := slices.DeleteFunc(slices.Clone(x.Findings), func(f pawl.Finding) bool { return f.Level == pawl.OK })
	said := pawl.RunExamined{Findings: found[:min(len(found), maxFindings)]}
	if len(found) > 0 && runs.CheckSize(said) == nil {
		e.emit(said)
	}
}
