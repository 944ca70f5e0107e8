package sitebuilder

import (
	"strings"
	"unicode"

	"pawl"
)

// taskStatus is the meaning of a status word.
type taskStatus string

// The meanings. Checkpoints use only the middle three, the registry and STATUS.md all.
const (
	notStarted taskStatus = "pending"
	inProgress taskStatus = "in_progress"
	blocked    taskStatus = "blocked"
	complete   taskStatus = "complete"
	inReview   taskStatus = "review"
	failed     taskStatus = "failed"
	unknown    taskStatus = ""
)

// synonyms are status words in upper or lower case, without surrounding symbols.
var synonyms = map[string]taskStatus{
	"": notStarted, "pending": notStarted, "not_started": notStarted, "ready": notStarted, "idle": notStarted, "queued": notStarted,
	"waiting": notStarted, "ready_to_start": notStarted, "in_progress": inProgress, "active": inProgress, "running": inProgress,
	"started": inProgress, "blocked": blocked, "stalled": blocked, "waiting_for_human": blocked, "complete": complete, "completed": complete,
	"done": complete, "review": inReview, "in_review": inReview, "failed": failed, "error": failed,
}

// meaning returns the meaning of a status word, unknown for an unknown one.
func meaning(native string) taskStatus {
	text := strings.ToLower(strings.TrimFunc(native, func(r rune) bool { return !unicode.IsLetter(r) }))
	return synonyms[strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '_' || r == '-' }), "_")]
}

// item returns the item status for the status of a subtask.
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

// itemWord returns the system's status of a subtask.
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
