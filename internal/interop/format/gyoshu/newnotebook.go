package gyoshu

import (
	"crypto/sha256"
	"encoding/hex"

	"pawl/internal/textedit/jsonedit"
)

// newNotebook returns a notebook with front matter and a place for the report, as Gyoshu begins one.
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
		text = must(jsonedit.Append(text, cell, "cells"))
	}
	return must(jsonedit.Set(text, meta{"createdAt": created, "researchSessionID": session}, "metadata", "gyoshu"))
}

// must returns a text that was changed by values that are plain data, in a notebook of our own.
func must(text []byte, err error) []byte {
	if err != nil {
		panic("our own notebook is sound: " + err.Error())
	}
	return text
}
