package dotagent_test

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
)

// TestAPersonIsAskedAfterThreeTries: a task that dotagent would give up is not tried again before somebody says so.
func TestAPersonIsAskedAfterThreeTries(t *testing.T) {
	t.Parallel()
	for task, asks := range map[string]bool{
		`{"id":"a","status":"running","attempts":2}`:      true, // and that one was the third
		`{"id":"a","status":"running","attempts":1}`:      false,
		`{"id":"a","status":"failed","attempts":3}`:       true,
		`{"id":"a","status":"failed","attempts_made":4}`:  true,
		`{"id":"a","status":"pending","attempts":3}`:      true,
		`{"id":"a","status":"pending","attempts":2}`:      false,
		`{"id":"a","status":"pre_complete","attempts":3}`: true, // it left nothing
		`{"id":"a","status":"skipped","attempts":3}`:      false,
		`{"id":"a","status":"probably complete"}`:         false,
	} {
		files := format.Files{{Path: "memory/state/execution.json", Data: []byte(`{"tasks":[` + task + `]}`)}}
		r, found := dotagent.Format().Read(files, format.Env{Now: now})
		if got := len(r.Gates) == 1 && r.Gates[0].Step == "a" && strings.Contains(r.Gates[0].Ask, "the most that dotagent allows"); got != asks {
			t.Errorf("%s: %+v", task, r.Gates)
		}
		if finds(found, "not known") {
			t.Errorf("%s: %v", task, found)
		}
	}
}

// TestEveryTryIsCounted: also one of a task that does not say when it was started before.
func TestEveryTryIsCounted(t *testing.T) {
	t.Parallel()
	s := imported(t, "scenario1_orphan")
	f := s.disk.Find("memory/state/execution.json")
	f.Data = []byte(`{"tasks":[{"id":"task-002","status":"failed","attempts":4}]}`)
	s.start("task-002", 1)
	for range 2 {
		s.write(pawl.StatusActive)
		if got := s.get("memory/state/execution.json"); !strings.Contains(got, `"attempts":5`) {
			t.Error(got)
		}
	}
}
