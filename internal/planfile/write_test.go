package planfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/planfile"
)

// TestWrite: what is written is read as the same plan, also steps that need nothing.
func TestWrite(t *testing.T) {
	t.Parallel()
	plan := &pawl.Plan{Version: 1, Name: "p", Mode: pawl.Guided, Phases: []pawl.Phase{{Name: "one", Steps: []pawl.Step{
		{ID: "a", Run: "echo 'x: y' # z\n\ttab\n"}, {ID: "b", Run: "true", Needs: []pawl.StepID{}},
		{ID: "c", Agent: &pawl.AgentAction{Use: "claude", Prompt: "- do: it\n\n  twice\n"}, Needs: []pawl.StepID{"a"}},
	}}}}
	data, err := planfile.Write(plan)
	if err != nil {
		t.Fatal(err)
	}
	got, err := planfile.Read("p", data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	again, err := planfile.Write(got)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := planfile.Read("p", again)
	if err != nil || cmp.Diff(got, twice) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(got, twice))
	}
	if needs := got.Step("b").Needs; needs == nil || len(needs) > 0 || got.Step("a").Run != plan.Step("a").Run || got.Step("c").Agent.Prompt != plan.Step("c").Agent.Prompt {
		t.Errorf("%s", data)
	}
	if _, err := planfile.Write(&pawl.Plan{Name: "p", Phases: []pawl.Phase{{Name: "x", Steps: []pawl.Step{{ID: "../a", Run: "x"}}}}}); err == nil || !strings.Contains(err.Error(), "../a") {
		t.Errorf("%v: want what is wrong with it", err)
	}
}
