package grid_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/grid"
)

// TestABlockIsDoneByItsSummary: a block meets its criteria when a SUMMARY says that it is complete, what that claims is there, and
// it has no content against the criteria of the plan.
func TestABlockIsDoneByItsSummary(t *testing.T) {
	t.Parallel()
	const summary = "its SUMMARY says that it is complete"
	plan := []string{".grid/STATE.md", interrupted, ".grid/plans/c-block-02.md",
		"---\nid: \"02\"\nsuccess_criteria: [It loads]\nmust_haves: {artifacts: [{path: b.txt}]}\n---\n## Success Criteria\n- [ ] It is blue\n- It loads\n"}
	env := format.Env{Now: now, HasCommit: func(hash string) bool { return hash == "abc1234" }, Exists: func(path string) bool { return path == "a.txt" }}
	read, _ := grid.Format().Read(folder(plan...), env)
	var names []string
	for name, met := range formattest.Step(t, read, "02").Criteria {
		names = append(names, name)
		if met {
			t.Errorf("%s is met before the block began", name)
		}
	}
	if slices.Sort(names); strings.Join(names, "; ") != "It is blue; It loads; b.txt is there; "+summary {
		t.Errorf("criteria: %q", names)
	}
	for _, tt := range []struct {
		text, criterion string
		met             bool
		why             string
	}{
		{"", summary, false, "there is no .grid/phases/02-block/02-SUMMARY.md"},
		{"status: complete", summary, true, "says that the block is complete"},
		{"status: partial", summary, false, `says status "partial"`},
		{"artifacts_created: [{path: a.txt}]\ncommits: [abc1234]", summary, true, "says that the block is complete"},
		{"artifacts_created: [{path: gone.txt}]", summary, false, "names files that do not exist: gone.txt"},
		{"commits: [\"fff1234\"]", summary, false, "commits that it claims do not exist: fff1234"},
		{"status: complete", "b.txt is there", false, "b.txt does not exist"},
		{"status: complete", "It loads", true, "attested"},
		{"status: complete\n---\n## Success Criteria\n- [ ] It loads", "It loads", false, "says that it is not met"},
		{"status: complete\n---\n## Success Criteria\n- [x] It loads", "It loads", true, "attested"},
		{"", "It loads", false, "no SUMMARY attests it"},
		{"status: complete", "", false, "b.txt does not exist"},
		{"status: complete", "It is green", false, "no such criterion"},
	} {
		files := folder(plan...)
		if tt.text != "" {
			files = append(files, folder(".grid/02-SUMMARY.md", "---\nblock: \"02\"\n"+tt.text+"\n---\n")...)
		}
		if met, why := grid.Format().CheckCriterion(files, env, "02", tt.criterion); met != tt.met || !strings.Contains(why, tt.why) {
			t.Errorf("%q, %q: %v, %s", tt.text, tt.criterion, met, why)
		}
	}

	// After a rerun the SUMMARY from before does not count.
	files := folder(append(plan, ".grid/02-SUMMARY.md", "---\nblock: \"02\"\n---\n")...)
	files[len(files)-1].Changed = now.Add(-time.Minute)
	env.Redone = now.Add(-time.Hour)
	if met, why := grid.Format().CheckCriterion(files, env, "02", summary); !met {
		t.Error(why)
	}
	env.Redone = now
	if met, _ := grid.Format().CheckCriterion(files, env, "02", summary); met {
		t.Error("an old SUMMARY counts")
	}
}

// TestACheckpointAsks: only a checkpoint that is new, about the block, for a person and without an answer is a question.
func TestACheckpointAsks(t *testing.T) {
	t.Parallel()
	env := format.Env{Now: now, Asked: now.Add(-time.Hour)}
	for text, want := range map[string]pawl.GateType{
		"type: human_verify\nblock: 02\nawaiting: Look":                          pawl.HumanVerify,
		"type: decision\nblock: 02\nawaiting: Which?":                            pawl.DecisionFor,
		"type: human_action\nblock: 02\nawaiting: Log in":                        pawl.HumanAction,
		"type: human_verify\nblock: 01\nawaiting: Look":                          "",
		"type: human_verify\nblock: 02\nawaiting: Look\nuser_response: approved": "",
		"type: session_death\nblock: 02":                                         "",
		"type: failure\nblock: 02\nerror: x":                                     "",
	} {
		files := folder(".grid/STATE.md", interrupted, ".grid/CHECKPOINT.md", "---\n"+text+"\n---\n")
		files[1].Changed = now
		var got pawl.GateType
		if g := grid.Format().Asks(files, env, "02"); g != nil {
			got = g.Type
		}
		if got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
		files[1].Changed = now.Add(-2 * time.Hour)
		if g := grid.Format().Asks(files, env, "02"); g != nil {
			t.Errorf("%q is old, and asks %q", text, g.Ask)
		}
	}
}
