package splice_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/textedit/splice"
)

// TestMergeAroundChangesOnlyWhatDiffers: lines that are no YAML stay, but for one that gives a key which is wanted.
func TestMergeAroundChangesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	want := splice.MapOf(splice.Pair{Key: "status", Value: splice.Word("done")}, splice.Pair{Key: "error"},
		splice.Pair{Key: "position", Value: splice.MapOf(splice.Pair{Key: "block", Value: splice.Number(2)}, splice.Pair{Key: "name", Value: splice.Text("b: c")})})
	for file, expected := range map[string]string{
		"a: b: c\nstatus: new\nposition:\n  block: 1\n  name: \"b: c\"\n":                                   "a: b: c\nstatus: done\nposition:\n  block: 2\n  name: \"b: c\"\n",
		"\uFEFFstatus: new # x\r\nby: @me\r\nposition:\r\n  block: 1\r\n  at: x: y\r\n  name: \"b: c\"\r\n": "\uFEFFstatus: done # x\r\nby: @me\r\nposition:\r\n  block: 2\r\n  at: x: y\r\n  name: \"b: c\"\r\n",
		"status: a: b\nposition:\n  block: 1\n  name: x: y\nerror: exit: 3\nz: %5\n":                        "position:\n  block: 2\n  name: \"b: c\"\nstatus: done\nz: %5\n",
		"a: `x`\nb: b: b\n\tc: d\nposition:\n  block: 2\n  name: 'b: c'\nstatus: done\n":                    "a: `x`\nb: b: b\n\tc: d\nposition:\n  block: 2\n  name: 'b: c'\nstatus: done\n",
	} {
		data := []byte(file)
		out, err := splice.MergeAround(data, splice.Whole(data), want)
		if err != nil {
			t.Errorf("%q: %v", file, err)
			continue
		}
		if diff := cmp.Diff(expected, string(out)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", file, diff)
		}
		if again, err := splice.MergeAround(out, splice.Whole(out), want); err != nil || string(again) != string(out) {
			t.Errorf("%q: a second time %q, %v", file, again, err)
		}
	}
	for _, file := range []string{"a: \"x\nstatus: new\nb: 1\n", "\x00", "- a\n- b\n"} {
		if out, err := splice.MergeAround([]byte(file), splice.Whole([]byte(file)), want); !errors.Is(err, splice.ErrKnotted) {
			t.Errorf("%q: %q, %v", file, out, err)
		}
	}
}
