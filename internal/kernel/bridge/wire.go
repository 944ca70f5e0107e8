package bridge

import (
	"encoding/json"
	"fmt"

	"pawl/internal/kernel"
)

// Kinds of lines of bridge.py that are not messages of a kernel.
const (
	kindReady kernel.Kind = "ready"
	kindBegun kernel.Kind = "begun" // the cell's code is about to run; an interrupt reaches it
	kindEnded kernel.Kind = "ended"
)

// line is a line that bridge.py writes.
type line struct {
	kernel.Message
	Version        string        `json:"version"`        // of kindReady
	Implementation string        `json:"implementation"` // of kindReady
	Status         kernel.Status `json:"status"`         // of kindEnded
}

// maxLine is the size of the longest line, such as a display with a large picture, in bytes.
const maxLine = 256 << 20

// parse decodes a line. A cell can write anything to the pipe, so lines are checked.
func parse(data []byte) (line, error) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return line{}, err
	}
	switch l.Kind {
	case kindReady, kindBegun, kernel.KindClear:
	case kindEnded:
		if l.Status != kernel.OK && l.Status != kernel.Failed && l.Status != kernel.Interrupted {
			return line{}, fmt.Errorf("unknown status %q", l.Status)
		}
	case kernel.KindStream:
		if l.Stream != kernel.Stdout && l.Stream != kernel.Stderr {
			return line{}, fmt.Errorf("unknown stream %q", l.Stream)
		}
	case kernel.KindDisplay, kernel.KindResult, kernel.KindUpdate:
		if l.Data == nil {
			return line{}, fmt.Errorf("%s without data", l.Kind)
		}
	case kernel.KindError:
		if l.Error == nil {
			return line{}, fmt.Errorf("error without a name")
		}
	default:
		return line{}, fmt.Errorf("unknown kind %q", l.Kind)
	}
	return l, nil
}

// longestEscape is the length of what JSON writes for one character at most: two escapes of UTF-16.
const longestEscape = 12

// salvage decodes the beginning of a stream's line: the kernel was killed while it wrote the rest.
func salvage(data []byte) (line, bool) {
	for cut := 0; cut < longestEscape && cut < len(data); cut++ {
		whole := append(append([]byte{}, data[:len(data)-cut]...), `"}`...)
		if l, err := parse(whole); err == nil && l.Kind == kernel.KindStream {
			return l, true
		}
	}
	return line{}, false
}
