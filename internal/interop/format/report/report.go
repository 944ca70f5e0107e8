// Package report collects the findings of reading or verifying files.
package report

import (
	"fmt"
	"strconv"

	"pawl"
)

// Report holds findings, each once, in the order in which they were added. The zero one holds none.
type Report struct {
	list []pawl.Finding
	held map[pawl.Finding]bool
}

// Add adds the findings that it does not hold yet.
func (r *Report) Add(found ...pawl.Finding) {
	if r.held == nil {
		r.held = map[pawl.Finding]bool{}
	}
	for _, f := range found {
		if !r.held[f] {
			r.held[f] = true
			r.list = append(r.list, f)
		}
	}
}

// Find adds a finding, and returns it.
func (r *Report) Find(level pawl.Level, where, hint, format string, args ...any) pawl.Finding {
	f := New(level, where, hint, format, args...)
	r.Add(f)
	return f
}

// Warn adds a warning without a hint, and returns it.
func (r *Report) Warn(where, format string, args ...any) pawl.Finding {
	return r.Find(pawl.Warn, where, "", format, args...)
}

// Bad adds a fault without a hint, and returns it.
func (r *Report) Bad(where, format string, args ...any) pawl.Finding {
	return r.Find(pawl.Bad, where, "", format, args...)
}

// Check adds the faults of one validation or, if there are none, that it passed.
func (r *Report) Check(passed string, faults []pawl.Finding) {
	if len(faults) == 0 {
		faults = []pawl.Finding{{Level: pawl.OK, What: passed}}
	}
	r.Add(faults...)
}

// Findings returns all of them.
func (r *Report) Findings() []pawl.Finding { return r.list }

// New returns a finding.
func New(level pawl.Level, where, hint, format string, args ...any) pawl.Finding {
	return pawl.Finding{Level: level, Where: where, Hint: hint, What: fmt.Sprintf(format, args...)}
}

// Where names a line of a file; 0: the file as a whole.
func Where(file string, line int) string {
	if line <= 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}
