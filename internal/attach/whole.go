package attach

import (
	"bytes"
	"encoding/json"

	"pawl/internal/lazyregexp"
)

// marker is in every file that pawl wrote as a whole.
const marker = "Written by `pawl attach"

// whole is a file that pawl wrote as a whole.
type whole struct {
	content []byte
	command string // the command that the file is, as users type it; empty if it is none
	system  string // the system that the command is for; empty: any
}

func (w whole) add([]byte) ([]byte, error) { return w.content, nil }

func (w whole) remove(text, _ []byte) ([]byte, error) {
	if w.ours(text) {
		return nil, nil
	}
	return text, nil
}

func (w whole) inspect(text []byte) (presence, error) {
	seen := presence{complete: bytes.Equal(text, w.content), any: w.ours(text)}
	if found := started.FindSubmatch(text); found != nil {
		var program string
		if err := json.Unmarshal(found[1], &program); err == nil {
			seen.programs = []string{program}
		}
	}
	return seen, nil
}

// started matches the program that a plugin starts.
var started = lazyregexp.New(`(?m)^const pawl = (".*")\r?$`)

func (w whole) ours(text []byte) bool { return bytes.Contains(text, []byte(marker)) }
