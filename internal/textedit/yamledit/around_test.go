package yamledit_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/textedit"
	"pawl/internal/textedit/yamledit"
)

// TestMergeAroundChangesOnlyWhatDiffers: lines that are no YAML stay, but for one that gives a key which is wanted.
func TestMergeAroundChangesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	want := yamledit.MapOf(yamledit.Pair{Key: "status", Value: yamledit.Word("done")}, yamledit.Pair{Key: "error"},
		yamledit.Pair{Key: "position", Value: yamledit.MapOf(yamledit.Pair{Key: "block", Value: yamledit.Number(2)}, yamledit.Pair{Key: "name", Value: yamledit.Text("b: c")})})
	for file, expected := range map[string]string{
		"a: b: c\nstatus: new\nposition:\n  block: 1\n  name: \"b: c\"\n":                                   "a: b: c\nstatus: done\nposition:\n  block: 2\n  name: \"b: c\"\n",
		"\uFEFFstatus: new # x\r\nby: @me\r\nposition:\r\n  block: 1\r\n  at: x: y\r\n  name: \"b: c\"\r\n": "\uFEFFstatus: done # x\r\nby: @me\r\nposition:\r\n  block: 2\r\n  at: x: y\r\n  name: \"b: c\"\r\n",
		"status: a: b\nposition:\n  block: 1\n  name: x: y\nerror: exit: 3\nz: %5\n":                        "position:\n  block: 2\n  name: \"b: c\"\nstatus: done\nz: %5\n",
		"a: `x`\nb: b: b\n\tc: d\nposition:\n  block: 2\n  name: 'b: c'\nstatus: done\n":                    "a: `x`\nb: b: b\n\tc: d\nposition:\n  block: 2\n  name: 'b: c'\nstatus: done\n",
	} {
		data := []byte(file)
		out, err := yamledit.MergeAround(data, textedit.Whole(data), want)
		if err != nil {
			t.Errorf("%q: %v", file, err)
			continue
		}
		if diff := cmp.Diff(expected, string(out)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", file, diff)
		}
		if again, err := yamledit.MergeAround(out, textedit.Whole(out), want); err != nil || string(again) != string(out) {
			t.Errorf("%q: a second time %q, %v", file, again, err)
		}
	}
	for _, file := range []string{"a: \"x\nstatus: new\nb: 1\n", "\x00", "- a\n- b\n"} {
		if out, err := yamledit.MergeAround([]byte(file), textedit.Whole([]byte(file)), want); !errors.Is(err, yamledit.ErrKnotted) {
			t.Errorf("%q: %q, %v", file, out, err)
		}
	}
}
