package main

import (
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/test/torture/scripted"
)

// TestHooks: a dialect starts its hooks with a shell, which does not have their arguments yet.
func TestHooks(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{"/bin/pawl-hook|hook|gemini": true, "sh|-c|exec '/bin/pawl-hook' hook gemini": true, "sh|-c|echo hook > x": false} {
		if (proc{args: strings.Split(args, "|")}).isHook() != want {
			t.Errorf("%q: %t", args, !want)
		}
	}
}

// TestVerdictsOnAskedCalls: a call that was not permitted cannot be told from one that ran where no file shows its effects.
func TestVerdictsOnAskedCalls(t *testing.T) {
	t.Parallel()
	const refused, unknown, notDone = pawl.OperationRefused, pawl.OperationUnknown, pawl.OperationNotDone
	for name, c := range map[string]struct {
		of    known
		truth scripted.Truth
		want  []pawl.OperationVerdict
	}{
		"a file, refused":      {known{refused: true, asked: yes}, scripted.Nothing, []pawl.OperationVerdict{refused}},
		"a file, not begun":    {known{asked: yes}, scripted.Nothing, []pawl.OperationVerdict{notDone, refused}},
		"elsewhere, refused":   {known{Call: &scripted.Call{Far: true}, refused: true, asked: yes}, scripted.Nothing, []pawl.OperationVerdict{unknown, refused}},
		"without trace":        {known{refused: true, asked: yes}, scripted.Traceless, []pawl.OperationVerdict{unknown, refused}},
		"without trace, begun": {known{begun: true, asked: yes}, scripted.Traceless, []pawl.OperationVerdict{unknown}},
	} {
		if c.of.Call == nil {
			c.of.Call = &scripted.Call{}
		}
		if got := c.of.verdicts(c.truth, false); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
