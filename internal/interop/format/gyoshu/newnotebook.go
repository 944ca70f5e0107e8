package gyoshu

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"pawl/internal/textedit/jsonedit"
)

// newNotebook returns a new notebook with front matter and a section for the report, as Gyoshu creates it.
func newNotebook(title, goal, session string, run RunEntry) []byte {
	sum := sha256.Sum256([]byte(title + "\x00" + session))
	id := hex.EncodeToString(sum[:4])
	created := instantOf(run.Started)
	type meta map[string]any
	front := struct {
		Type     string   `json:"cell_type"`
		ID       string   `json:"id"`
		Source   []string `json:"source"`
		Metadata meta     `json:"metadata"`
	}{"raw", "frontmatter-" + id, newFrontMatter(title, goal, run), meta{"gyoshu": meta{"type": "frontmatter"}}}
	report := struct {
		Type     string   `json:"cell_type"`
		ID       string   `json:"id"`
		Metadata meta     `json:"metadata"`
		Source   []string `json:"source"`
	}{"markdown", "report-" + id, meta{"tags": []string{"gyoshu-report"}, "gyoshu": meta{"type": "report", "version": 1, "lastUpdated": created}},
		[]string{"# Research Report\n", "\n", "*Report will be updated as research progresses.*\n"}}
	text := []byte(emptyNotebook)
	for _, cell := range []any{front, report} {
		text = mustEdit(jsonedit.Append(text, cell, "cells"))
	}
	return withSession(text, session, run.Started)
}

// NewNotebook returns the notebook that Gyoshu's python_repl creates: without cells, of a session.
func NewNotebook(session string, now time.Time) []byte {
	return withSession([]byte(emptyNotebook), session, now)
}

// withSession returns a new notebook that names its session.
func withSession(text []byte, session string, created time.Time) []byte {
	return mustEdit(jsonedit.Set(text, map[string]string{"createdAt": instantOf(created), "researchSessionID": session}, "metadata", "gyoshu"))
}

// mustEdit returns text, and panics on an error: editing a notebook that pawl just created cannot fail.
func mustEdit(text []byte, err error) []byte {
	if err != nil {
		panic("our own notebook is sound: " + err.Error())
	}
	return text
}
