package pawl_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/planfile"
)

func TestKeyChanges(t *testing.T) {
	t.Parallel()
	file := func(sum string) pawl.Content { return pawl.Content{SHA256: sum} }
	base := pawl.Key{
		Definition: "d", Inputs: pawl.Outputs{"a": file("1"), "b": file("2")}, Needs: map[pawl.StepID]string{"s": "x", "t": "y"},
	}
	for name, c := range map[string]struct {
		now  pawl.Key
		want []string
	}{
		"nothing":       {pawl.Key{Definition: "d", Inputs: base.Inputs, Needs: base.Needs}, nil},
		"definition":    {pawl.Key{Definition: "e", Inputs: base.Inputs, Needs: base.Needs}, []string{"its definition in the plan changed"}},
		"input changed": {pawl.Key{Definition: "d", Inputs: pawl.Outputs{"a": file("9"), "b": file("2")}, Needs: base.Needs}, []string{"input a changed"}},
		"input gone":    {pawl.Key{Definition: "d", Inputs: pawl.Outputs{"a": file("1")}, Needs: base.Needs}, []string{"input b was removed"}},
		"need changed":  {pawl.Key{Definition: "d", Inputs: base.Inputs, Needs: map[pawl.StepID]string{"s": "z", "t": "y"}}, []string{"outputs of step s changed"}},
		"all of it": {
			pawl.Key{Definition: "e", Inputs: pawl.Outputs{"b": file("3"), "c": file("4")}, Needs: map[pawl.StepID]string{"t": "z", "u": "w"}},
			[]string{
				"its definition in the plan changed", "input a was removed", "input b changed", "input c is new", "it no longer needs step s",
				"outputs of step t changed", "it now needs step u",
			},
		},
	} {
		if diff := cmp.Diff(c.want, base.Changes(c.now)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if base.Equal(c.now) != (len(c.want) == 0) {
			t.Errorf("%s: equal %v", name, base.Equal(c.now))
		}
	}
	dim := pawl.Key{Needs: map[pawl.StepID]string{"s": pawl.UnknownOutput, "t": "y"}}
	if now := (pawl.Key{Needs: map[pawl.StepID]string{"s": "any", "t": "y"}}); dim.Changes(now) != nil || dim.NeedsDiffer(now) {
		t.Errorf("what is not known has changed: %v", dim.Changes(now))
	}
	if now := (pawl.Key{Needs: map[pawl.StepID]string{"s": "any", "t": "z"}}); len(dim.Changes(now)) != 1 || !dim.NeedsDiffer(now) {
		t.Errorf("what is known has not changed: %v", dim.Changes(now))
	}
	if !(pawl.Key{}).Equal(pawl.Key{Inputs: pawl.Outputs{}, Needs: map[pawl.StepID]string{}}) {
		t.Error("an empty key is another one after the journal")
	}
}

// TestDefinition: what a step does is in its definition; names, limits, retry, estimate, review and checks are not.
// TestCompactKey: the key of a step with more needs and inputs than a key lists fits the state.
func TestCompactKey(t *testing.T) {
	t.Parallel()
	key := pawl.Key{Definition: "d", Inputs: pawl.Outputs{}, Needs: map[pawl.StepID]string{}}
	for i := range 200 {
		key.Inputs[fmt.Sprint("in/", i)] = pawl.Content{SHA256: "1"}
		key.Needs[pawl.StepID(fmt.Sprint("s", i))] = "2"
	}
	key = key.Compact()
	if len(key.Inputs) != 1 || len(key.Needs) != 1 {
		t.Errorf("%+v", key)
	}
	data, err := json.Marshal(pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: "all", Attempt: 1, Token: "t"}, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	s := pawl.NewState()
	s.Apply(pawl.Event{Seq: 1, Time: time.Now(), Type: pawl.AttemptStarted{}.Event(), Data: data})
	if s.RejectedCount > 0 || !s.Steps["all"].Retries.Live.Key.Equal(key) {
		t.Errorf("%+v", s.RejectedEvents)
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	const head = "name: p\nenv: {A: '1'}\nsteps:\n  - "
	base := definition(t, head+"{id: s, run: make}", "")
	for _, same := range []string{
		"{id: s, run: make, name: N, goal: G, timeout: 5m, grace: 1s, stall: 2m, retry: {attempts: 3}, estimate: 1h, review: {ann: 3}, accept: {c: 'true'}, inputs: [i], undo: rm}",
		"{id: other, run: make, needs: []}",
		"{id: s, run: make, env: {A: '1'}}",
	} {
		if definition(t, head+same, "") != base {
			t.Errorf("another definition: %s", same)
		}
	}
	if kernel := "{id: s, kernel: {file: n.ipynb"; definition(t, head+kernel+"}}", "") != definition(t, head+kernel+", strict: true}}", "") {
		t.Error("strict is in the definition")
	}
	seen := map[string]string{base: "the base"}
	for _, other := range []string{
		"{id: s, run: make all}", "{id: s, run: make, env: {A: '2'}}", "{id: s, run: make, dir: sub}", "{id: s, run: make, outputs: [o]}",
		"{id: s, gate: {type: human_verify, ask: make}}", "{id: s, gate: {type: human_action, ask: make}}",
	} {
		d := definition(t, head+other, "")
		if seen[d] != "" {
			t.Errorf("%s has the definition of %s", other, seen[d])
		}
		seen[d] = other
	}
	const kernel = head + "{id: s, kernel: {file: a.ipynb"
	if definition(t, kernel+"}}", "") != definition(t, kernel+", cell_timeout: 5m}}", "") {
		t.Error("the limit of a cell is in the definition")
	}
	if d := definition(t, head+"{id: s, run: make}", "item"); seen[d] != "" {
		t.Error("an item has the definition of its step")
	}
	if d := definition(t, "name: p\nenv: {A: '1', B: '2'}\nsteps: [{id: s, run: make}]", ""); seen[d] != "" {
		t.Error("the plan's environment is outside")
	}
}

// definition returns that of the plan's one step.
func definition(t *testing.T, text, item string) string {
	t.Helper()
	p, err := planfile.Read("plan.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return pawl.DefinitionOf(p, p.Steps()[0], item)
}

func TestEnvOfOverrides(t *testing.T) {
	t.Parallel()
	v := func(text string) pawl.Variable { return pawl.Variable{Value: text} }
	p := &pawl.Plan{Env: pawl.Env{"A": v("plan"), "B": v("plan"), "C": v("plan")}, Defaults: pawl.Defaults{Env: pawl.Env{"B": v("defaults"), "C": v("defaults")}}}
	want := pawl.Env{"A": v("plan"), "B": v("defaults"), "C": v("step")}
	if diff := cmp.Diff(want, p.EnvOf(&pawl.Step{Env: pawl.Env{"C": v("step")}})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if p.Env["B"] != v("plan") || p.Defaults.Env["C"] != v("defaults") {
		t.Error("the plan was changed")
	}
}

func TestAcceptOf(t *testing.T) {
	t.Parallel()
	of := func(checks map[string]string) string { return pawl.AcceptOf(&pawl.Step{Accept: checks}) }
	one := of(map[string]string{"a": "x", "b": "y"})
	if of(nil) != "" || of(map[string]string{}) != "" || one == "" {
		t.Errorf("none gives %q, some %q", of(nil), one)
	}
	if one != of(map[string]string{"b": "y", "a": "x"}) || one == of(map[string]string{"a": "x", "b": "z"}) || one == of(map[string]string{"a": "x", "c": "y"}) {
		t.Error("the hash is not that of names and commands")
	}
}

// A definition without a shell has the hash that older versions recorded.
func TestShellInHashes(t *testing.T) {
	t.Parallel()
	p := &pawl.Plan{}
	of := func(shell pawl.Shell) string { return pawl.DefinitionOf(p, &pawl.Step{Run: "make", Shell: shell}, "") }
	if got, want := of(""), "a8c990a257c805fce36e5b0c5c87e51bdfe2565a1cc2ba18a0fe3e2607b0c3a8"; got != want {
		t.Errorf("without a shell: %s, want %s", got, want)
	}
	if of("") == of(pawl.Bash) || of(pawl.PlainSh) == of(pawl.Bash) || of(pawl.StrictSh) == of(pawl.PlainSh) {
		t.Error("the shell does not change the definition")
	}
	if gate := (&pawl.Step{Gate: &pawl.GateAction{Ask: "a"}, Shell: pawl.Bash}); pawl.DefinitionOf(p, gate, "") != pawl.DefinitionOf(p, &pawl.Step{Gate: gate.Gate}, "") {
		t.Error("the shell of a gate's checks changes the gate's definition")
	}
	checks := map[string]string{"a": "x"}
	if got, want := pawl.AcceptOf(&pawl.Step{Accept: checks}), "bac82bcae3ff0e486fd02d6dce53dc6444bcbd21f6ab5dea0a69e86e8b723b7f"; got != want {
		t.Errorf("checks without a shell: %s, want %s", got, want)
	}
	if pawl.AcceptOf(&pawl.Step{Accept: checks, Shell: pawl.Bash}) == pawl.AcceptOf(&pawl.Step{Accept: checks}) {
		t.Error("the shell does not change the hash of the checks")
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"PAWL_ITEM": "io/fs", "PAWL_ITEM_ID": "ab12", "EMPTY": "", "LOOP": "$PAWL_ITEM"}
	for path, want := range map[string]string{
		"":                       "",
		"plain/*.md":             "plain/*.md",
		"out/$PAWL_ITEM.md":      "out/io/fs.md",
		"out/${PAWL_ITEM}.md":    "out/io/fs.md",
		"$PAWL_ITEM_ID":          "ab12",
		"$PAWL_ITEM/$PAWL_ITEM":  "io/fs/io/fs",
		"${PAWL_ITEM}_ID":        "io/fs_ID",
		"$PAWL_ITEMS":            "$PAWL_ITEMS",
		"$HOME/x":                "$HOME/x",
		"${HOME}/x":              "${HOME}/x",
		"a$":                     "a$",
		"$$PAWL_ITEM":            "$io/fs",
		"${PAWL_ITEM":            "${PAWL_ITEM",
		"${}":                    "${}",
		"x${EMPTY}y":             "xy",
		"$PAWL_ITEMlower":        "io/fslower",
		"$LOOP":                  "$PAWL_ITEM",
		"ü$PAWL_ITEM_ID\u00fc":   "üab12ü",
		"${PAWL_ITEM}${UNKNOWN}": "io/fs${UNKNOWN}",
	} {
		if got := pawl.Expand(path, vars); got != want {
			t.Errorf("Expand(%q) = %q, want %q", path, got, want)
		}
	}
}
