package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// transcript is what a user would have seen on the terminal.
type transcript struct {
	place place
	pawl  string
	text  strings.Builder
}

// typed adds a command line.
func (t *transcript) typed(line ...string) {
	t.text.WriteString("$ ")
	for i, word := range line {
		if i > 0 {
			t.text.WriteString(" ")
		}
		if strings.ContainsAny(word, " *;|<>$'\"") {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		t.text.WriteString(word)
	}
	t.text.WriteString("\n")
}

// escapes matches escape sequences.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r`)

// shown adds output, with the paths of this machine replaced.
func (t *transcript) shown(output string) {
	output = escapes.ReplaceAllString(output, "")
	output = strings.NewReplacer(t.place.project(), "~/project", t.place.home(), "~", t.place.dir, "~/else",
		filepath.Dir(t.pawl)+"/", "/usr/local/bin/").Replace(output)
	if output = strings.TrimRight(output, "\n"); output != "" {
		t.text.WriteString(output + "\n")
	}
}

// note adds text that no terminal showed, under a heading.
func (t *transcript) note(heading, text string) {
	t.text.WriteString("\n--- " + heading + " ---\n")
	t.shown(text)
	t.text.WriteString("--- end ---\n\n")
}

// write stores the transcript.
func (t *transcript) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(t.text.String()), 0o644)
}
