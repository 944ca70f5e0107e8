package sitebuilder

import (
	"strings"
	"unicode"

	"pawl"
)

// taskStatus is what a status means.
type taskStatus string

// What statuses mean. Checkpoints know the middle three of them, the registry and STATUS.md all.
const (
	notStarted taskStatus = "pending"
	inProgress taskStatus = "in_progress"
	blocked    taskStatus = "blocked"
	complete   taskStatus = "complete"
	inReview   taskStatus = "review"
	failed     taskStatus = "failed"
	unknown    taskStatus = ""
)

// synonyms are the words that are used, in any case, with or without signs and stars around them.
var synonyms = map[string]taskStatus{
	"": notStarted, "pending": notStarted, "not_started": notStarted, "ready": notStarted, "idle": notStarted, "queued": notStarted,
	"waiting": notStarted, "ready_to_start": notStarted, "in_progress": inProgress, "active": inProgress, "running": inProgress,
	"started": inProgress, "blocked": blocked, "stalled": blocked, "waiting_for_human": blocked, "complete": complete, "completed": complete,
	"done": complete, "review": inReview, "in_review": inReview, "failed": failed, "error": failed,
}

// meaning returns what a status means: unknown for words that nobody knows.
func meaning(native string) taskStatus {
	text := strings.ToLower(strings.TrimFunc(native, func(r rune) bool { return !unicode.IsLetter(r) }))
	return synonyms[strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '_' || r == '-' }), "_")]
}

// item returns what the status of a subtask means.
func (w taskStatus) item() pawl.ItemStatus {
	switch w {
	case complete:
		return pawl.ItemIsDone
	case inProgress, inReview:
		return pawl.ItemRunning
	case failed, blocked:
		return pawl.ItemFailed
	}
	return pawl.ItemPending
}

// itemWord returns the status of a subtask as the system calls it.
func itemWord(s pawl.ItemStatus) taskStatus {
	switch s {
	case pawl.ItemIsDone:
		return complete
	case pawl.ItemRunning:
		return inProgress
	case pawl.ItemFailed:
		return failed
	}
	return notStarted
}
