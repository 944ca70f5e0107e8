package dotagent

import (
	"slices"
	"strings"
)

// phase is one of the five phases of a workflow, by its index.
type phase int

const (
	requirements phase = iota
	architecture
	implementation
	verification
	reflection
	phaseEnd // all are done
)

const unknown phase = -1

// words are the names of the phases in the files.
var words = []string{"REQUIREMENTS", "ARCHITECTURE", "IMPLEMENTATION", "VERIFICATION", "REFLECTION"}

func (p phase) String() string {
	if p < 0 || int(p) >= len(words) {
		return ""
	}
	return words[p]
}

// phaseNamed returns the phase with a name, in any case; unknown if there is none.
func phaseNamed(word string) phase {
	return phase(slices.Index(words, strings.ToUpper(strings.TrimSpace(word))))
}

// names are common names of each phase in other plans.
var names = [][]string{
	{"requirement", "demand", "analysis", "discovery"},
	{"architect", "design", "planning"},
	{"implement", "build", "develop", "code", "coding"},
	{"verif", "test", "qa", "review", "validat"},
	{"reflect", "retro", "learn"},
}

// phaseMeant returns dotagent's phase for a phase of a plan, by its name; the implementation if no name matches.
func phaseMeant(name string) phase {
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' }) {
		for p, begins := range names {
			if slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(word, begin) }) {
				return phase(p)
			}
		}
	}
	return implementation
}

// report returns the path of the report that proves a phase done.
func (p phase) report() string {
	return []string{
		reportsFolder + "demand.json", reportsFolder + "final_design.json", executionPath,
		reportsFolder + "verification.json", reportsFolder + "reflection.json",
	}[p]
}

// The statuses of a phase.
const (
	isPending  = "pending"
	isRunning  = "in_progress"
	isComplete = "complete"
	isFailed   = "failed"
	isVerified = "verified" // of tasks and verifications
	isSkipped  = "skipped"  // of tasks, and of phases with only skipped steps
	isPartial  = "partial"  // of phases with some skipped steps
)

// phaseStatus returns dotagent's word for a status; "" if unknown.
func phaseStatus(word string) string {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "pending", "not_started", "ready":
		return isPending
	case "in_progress", "in-progress", "running", "active", "interrupted":
		return isRunning
	case "complete", "completed", "done":
		return isComplete
	case "failed", "error", "aborted":
		return isFailed
	}
	return ""
}
