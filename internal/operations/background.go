package operations

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"pawl"
)

// Background reports whether a tool call asks to run something in the background, so that its outcome says nothing about the end
// of what it started: by the tool's own option, or by the shell command. It does not know of a tool that returns before its
// command ends without being asked to, as exec_command of Codex does after yield_time_ms.
func Background(tool string, data json.RawMessage) bool {
	in, t := readInput(data), toolOf(tool)
	if t.kind == pawl.OperationReads || t.kind == pawl.OperationFiles {
		return false
	}
	mode, _ := in.text("mode")
	asked := slices.ContainsFunc([]string{"runinbackground", "isbackground", "background", "detach"}, in.truth) ||
		slices.Contains([]string{"async", "detached", "background"}, mode) || strings.EqualFold(tool, "monitor")
	command := ""
	if t.kind == pawl.OperationCommand {
		command, _ = in.text(commandKeys...)
	}
	return asked || len(command) <= maxScript && inBackground(command, maxNesting)
}

// maxNesting limits the shells within shells whose commands are analyzed.
const maxNesting = 3

// inBackground reports whether a shell command leaves something running when it ends.
func inBackground(text string, nesting int) bool {
	s := readScript(text)
	return s.background || slices.ContainsFunc(s.commands, func(c command) bool {
		return c.detaches() || nesting > 0 && inBackground(c.script(), nesting-1)
	})
}

// detaches reports whether a command runs another in a session of its own without waiting for it.
func (c command) detaches() bool {
	words := c.words
	for len(words) > 1 && words[0] == "nohup" {
		words = words[1:]
	}
	waits := func(word string) bool { return word == "-w" || word == "--wait" }
	return len(words) > 1 && path.Base(words[0]) == "setsid" && !slices.ContainsFunc(words, waits)
}

// script returns the script that a command gives to another shell; empty: none.
func (c command) script() string {
	words := unwrapped(c.words)
	if len(words) < 3 || !strings.HasSuffix(path.Base(words[0]), "sh") {
		return ""
	}
	for i, word := range words[1 : len(words)-1] {
		if strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c") {
			return words[i+2]
		}
	}
	return ""
}
