package main

import (
	"slices"
	"testing"

	"pawl"
	"pawl/test/torture/scripted"
)

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
