package brief

import (
	"fmt"
	"strings"
)

// Audience is who reads a brief.
type Audience string

// The audiences.
const (
	Claude   Audience = "claude"
	Codex    Audience = "codex"
	Gemini   Audience = "gemini"
	OpenCode Audience = "opencode"
	Copilot  Audience = "copilot"
	Kernel   Audience = "kernel" // a notebook: the brief is comments in a cell
	Human    Audience = "human"
)

// Audiences lists them all.
var Audiences = []Audience{Claude, Codex, Gemini, OpenCode, Copilot, Kernel, Human}

// ParseAudience returns s as an Audience, or an error that lists the valid ones.
func ParseAudience(s string) (Audience, error) {
	for _, a := range Audiences {
		if string(a) == s {
			return a, nil
		}
	}
	names := make([]string, len(Audiences))
	for i, a := range Audiences {
		names[i] = string(a)
	}
	last := len(names) - 1
	return "", fmt.Errorf("unknown reader %q; use %s or %s", s, strings.Join(names[:last], ", "), names[last])
}

// limits are the usual and the maximum size of a brief for each audience, in bytes.
//
// Claude Code shows only 2 KB of a text longer than 10,000 characters. Codex truncates the middle of a text longer than
// 2,500 tokens; paths and ids take about three bytes a token. Gemini accepted 100 KB. OpenCode sends the brief with each
// request, and Copilot's limit is unknown, so they get no more than Claude. A text never has fewer bytes than characters,
// however an agent counts them.
var limits = map[Audience]struct{ usual, most int }{
	Claude:   {9000, 9900},
	Codex:    {7500, 9900},
	Gemini:   {9000, 100_000},
	OpenCode: {9000, 9900},
	Copilot:  {9000, 9900},
	Kernel:   {9000, 100_000},
	Human:    {9000, 1 << 20},
}

// budget returns the maximum size of a brief in bytes.
func (a Audience) budget(asked int) int {
	if a == "" {
		a = Human
	}
	l := limits[a]
	if asked <= 0 {
		return l.usual
	}
	return max(MinBudget, min(asked, l.most))
}
