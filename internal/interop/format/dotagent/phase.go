package dotagent

import (
	"slices"
	"strings"
)

// phase is one of the five phases of a workflow, by its place.
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

// words are the names of the phases, as the files have them.
var words = []string{"REQUIREMENTS", "ARCHITECTURE", "IMPLEMENTATION", "VERIFICATION", "REFLECTION"}

func (p phase) String() string {
	if p < 0 || int(p) >= len(words) {
		return ""
	}
	return words[p]
}

// phaseNamed returns the phase that a file means, in whatever letters; unknown where it means none.
func phaseNamed(word string) phase {
	return phase(slices.Index(words, strings.ToUpper(strings.TrimSpace(word))))
}

// names are what other plans call a phase of each kind.
var names = [][]string{
	{"requirement", "demand", "analysis", "discovery"},
	{"architect", "design", "planning"},
	{"implement", "build", "develop", "code", "coding"},
	{"verif", "test", "qa", "review", "validat"},
	{"reflect", "retro", "learn"},
}

// phaseMeant returns the phase that a phase of a plan is in dotagent's words: by its name, else the implementation.
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

// report returns where the report of a phase lies that stands for its being done.
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
	isVerified = "verified" // of tasks, and of what was verified
	isSkipped  = "skipped"  // of tasks, and of phases of which nothing was done
	isPartial  = "partial"  // of phases of which something was skipped
)

// phaseStatus returns dotagent's word for a status, "" for one that it does not know.
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
