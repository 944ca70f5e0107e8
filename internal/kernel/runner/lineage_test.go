package runner

import (
	"fmt"
	"slices"
	"testing"

	"pawl/internal/kernel"
)

// TestOrigins: cells continue from the state that includes most of them, in the live kernel if that has it; a checkpoint counts only if
// later cells do not use what it lost.
func TestOrigins(t *testing.T) {
	t.Parallel()
	cells := []Link{{Key: "a", Code: "g = (i for i in x)"}, {Key: "b", Code: "y = 1"}, {Key: "c", Code: "print(next(g))"}, {Key: "d", Code: "y"}}
	for _, c := range []struct {
		name        string
		live        Key
		checkpoints []Checkpoint
		want        string
	}{
		{"nothing", "", nil, "new"},
		{"a new kernel", Root, nil, "live -1"},
		{"the live kernel", "b", nil, "live 1, new"},
		{"a live kernel that stands elsewhere", "z", nil, "new"},
		{"a dead kernel", "", []Checkpoint{{ID: "2", At: "b"}, {ID: "1", At: "a"}}, "2 at 1, 1 at 0, new"},
		{"the live kernel is ahead", "c", []Checkpoint{{ID: "2", At: "b"}}, "live 2, 2 at 1, new"},
		{"a checkpoint is ahead", "a", []Checkpoint{{ID: "2", At: "b"}}, "2 at 1, live 0, new"},
		{"both", "b", []Checkpoint{{ID: "2", At: "b"}}, "live 1, 2 at 1, new"},
		{"a variable is lost that is used", "", []Checkpoint{{ID: "2", At: "b", Lost: []string{"g"}}}, "new (checkpoint 2 does not have the variable g)"},
		{"a variable is lost that is used no more", "", []Checkpoint{{ID: "3", At: "c", Lost: []string{"g"}}, {ID: "2", At: "b", Lost: []string{"g"}}},
			"3 at 2, new (checkpoint 2 does not have the variable g)"},
		{"another notebook", "", []Checkpoint{{ID: "9", At: "z"}}, "new"},
	} {
		got := ""
		list := origins(cells, c.live, c.checkpoints)
		for i, o := range list {
			if i > 0 {
				got += ", "
			}
			switch {
			case o.live:
				got += fmt.Sprint("live ", o.index)
			case o.checkpoint != "":
				got += fmt.Sprint(o.checkpoint, " at ", o.index)
			default:
				got += "new"
			}
		}
		if s := list[0].skipped; len(s) > 0 {
			got += fmt.Sprintf(" (%s)", s[0])
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestLineage: the log has the way from a new kernel to a state, and says so if it has not.
func TestLineage(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for i, key := range []Key{"a", "b", "c"} {
		after := Root
		if i > 0 {
			after = []Key{"a", "b"}[i-1]
		}
		b := &Begin{Cell: kernel.CellID(fmt.Sprint("c", i)), Key: key, After: after, Code: string(key), Step: "s"}
		h.add(int64(i), Record{Begin: b})
		end := &End{Cell: b.Cell, Key: key}
		end.Status = "ok"
		h.add(int64(i), Record{End: end})
	}
	links, ok := h.lineage("c")
	keys := []Key{}
	for _, l := range links {
		keys = append(keys, l.Key)
	}
	if !ok || !slices.Equal(keys, []Key{"a", "b", "c"}) || h.last["s"] != "c" {
		t.Errorf("%v %v %v", keys, ok, h.last)
	}
	if _, ok := h.lineage("z"); ok {
		t.Error("a state that nobody reached has a lineage")
	}
}
