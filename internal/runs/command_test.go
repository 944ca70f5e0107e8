package runs_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/planfile"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
)

// Each argument comes back from the plan as it was given, byte for byte.
func TestCommandArgs(t *testing.T) {
	t.Parallel()
	back := func(t interface{ Fatalf(string, ...any) }, args []string) {
		plan, err := planfile.Read("command", runs.CommandPlan(args).Data)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		got, ok := shellwords.Split(plan.Steps()[0].Run)
		if !ok || !slices.Equal(got, args) {
			t.Fatalf("%q: %q, %v", args, got, ok)
		}
	}
	back(t, []string{"printf", "", "a b", "$HOME", "it's", "''", "\xff\xfe", "\x7f", "\u0085\ufeff", "a\nb\t", "`x`", `\`, "\x01", "<>&\u2028"})
	rapid.Check(t, func(r *rapid.T) {
		args := rapid.SliceOfN(rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) }), 0, 4).Draw(r, "args")
		back(r, append([]string{"command"}, args...))
	})
	for _, script := range []string{"", "echo a", "'a", "'a'  'b'", "'a'b", "$'\\xzz'", "'a' ", "$'\\x4"} {
		if args, ok := shellwords.Split(script); ok {
			t.Errorf("%q: %q", script, args)
		}
	}
}
