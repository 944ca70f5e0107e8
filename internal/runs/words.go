package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// A word is an event that lets work continue past a gate or with another plan. Whoever writes one records it in the user's state folder
// before. So a word that arrived with the files is noticed, whoever its line names as author, and one that pawl wrote just before a crash
// is not mistaken for it.

// isWord reports whether an event is a word.
func isWord(kind pawl.EventType) bool {
	switch kind {
	case pawl.GateAnswered{}.Event(), pawl.RunPlanned{}.Event(), pawl.StepReviewed{}.Event(), pawl.StepSkipped{}.Event(),
		pawl.RunMirrored{}.Event():
		return true
	}
	return false
}

// Announce calls write, which appends the events to the journal of a run. If they contain words, it records these first, and no other
// pawl marks the run meanwhile.
func Announce(p *project.Project, run pawl.RunID, events []pawl.Event, write func() error) error {
	var sums []string
	for _, e := range events {
		if isWord(e.Type) {
			sums = append(sums, wordSum(e.Type, e.Data))
		}
	}
	if len(sums) == 0 {
		return write()
	}
	return p.WithMarkLock(run, func() error {
		if err := disk.AppendLine(wordsPath(p, run), []byte(strings.Join(sums, "\n"))); err != nil {
			return fmt.Errorf("record that an answer is yours: %w", err)
		}
		return write()
	})
}

// announced returns the words recorded since the mark of a run.
func announced(p *project.Project, run pawl.RunID) ([]string, error) {
	data, err := disk.ReadFile(wordsPath(p, run), disk.ViewLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return strings.Fields(string(data)), nil
}

func wordsPath(p *project.Project, run pawl.RunID) string {
	return filepath.Join(p.Trust.Folder, "runs", string(run)+".words")
}

// wordSum identifies a word: SHA-256 of its type and its data.
func wordSum(kind pawl.EventType, data []byte) string {
	h := sha256.New()
	h.Write([]byte(kind + " "))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
