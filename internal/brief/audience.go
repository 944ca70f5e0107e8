package brief

import "fmt"

// Audience is who reads a brief.
type Audience string

// The audiences.
const (
	Claude   Audience = "claude"
	Codex    Audience = "codex"
	Gemini   Audience = "gemini"
	OpenCode Audience = "opencode"
	Copilot  Audience = "copilot"
	Kernel   Audience = "kernel" // whoever works in a notebook: comments of a cell
	Human    Audience = "human"
)

// Audiences lists them all.
var Audiences = []Audience{Claude, Codex, Gemini, OpenCode, Copilot, Kernel, Human}

// ParseAudience returns s as an Audience, or why it is none.
func ParseAudience(s string) (Audience, error) {
	for _, a := range Audiences {
		if string(a) == s {
			return a, nil
		}
	}
	return "", fmt.Errorf("no agent %q: use one of %v", s, Audiences)
}

// limits are how much each audience takes in, in bytes: what is usual, and what is the most.
//
// Claude Code shows 2 KB of what is longer than 10,000 characters. Codex cuts what is longer than 2,500 tokens in the
// middle; paths and ids make three bytes a token. Gemini took 100 KB without a cut. OpenCode sends it with each request,
// and Copilot's limit is not known, so they get no more than Claude. Bytes are never fewer than characters, however an
// agent counts these.
var limits = map[Audience]struct{ usual, most int }{
	Claude:   {9000, 9900},
	Codex:    {7500, 9900},
	Gemini:   {9000, 100_000},
	OpenCode: {9000, 9900},
	Copilot:  {9000, 9900},
	Kernel:   {9000, 100_000},
	Human:    {9000, 1 << 20},
}

// budget returns how many bytes a brief may have.
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
