// Package resume gathers what is true about an interrupted run: which attempts are alive, which outputs exist and
// match, how the plan on disk differs from the plan as run, and what git and the snapshots say. Package recovery judges
// it.
//
// It changes nothing. It reports what it cannot prove as unknown.
package resume
