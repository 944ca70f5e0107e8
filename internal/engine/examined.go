package engine

import (
	"pawl"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"slices"
)

// maxFindings is how many findings are journaled.
const maxFindings = 50

// Examined journals, before Run, what was found, as far as it is worth a word.
func (e *Engine) Examined(x *resume.Examination) {
	found := slices.DeleteFunc(slices.Clone(x.Findings), func(f pawl.Finding) bool { return f.Level == pawl.OK })
	said := pawl.RunExamined{Findings: found[:min(len(found), maxFindings)]}
	if len(found) > 0 && runs.CheckSize(said) == nil {
		e.emit(said)
	}
}
