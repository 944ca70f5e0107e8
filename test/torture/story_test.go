package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/planfile"
)

// tools are the programs that steps start, by the words with which their scripts do it.
var tools = map[string]string{"put ": "mv", "$(seq ": "seq", "$(cat ": "cat", "$(sha256sum ": "sha256sum"}

// A kill may hit any process of a step. A step that goes on without one of its tools, has its effect and ends with 0 is
// done for pawl, without the file that was to be moved: then the story is wrong, not pawl.
func TestStepHasNoEffectWithoutItsTools(t *testing.T) {
	hit := map[string]bool{}
	for _, name := range []string{"random", "systematic"} {
		data, err := plans.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planfile.Read(name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range plan.Steps() {
			for word, tool := range tools {
				if strings.Contains(step.Run, word) {
					hit[tool] = true
					stepWithout(t, name, tool, step)
				}
			}
		}
	}
	if len(hit) != len(tools) {
		t.Errorf("of the tools only %v are used", hit)
	}
}

// stepWithout carries a step out twice: with a tool that is killed at once, and then with all of them.
func stepWithout(t *testing.T, plan, tool string, step *pawl.Step) {
	dir := t.TempDir()
	s := &story{torture: &torture{}, dir: dir, folder: "project"}
	if err := s.furnish(plan); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(dir, tool)
	for path, content := range map[string]string{
		killed: "#!/bin/sh\nkill -KILL $$\n", s.outside("flaky"): "it has failed once\n", s.project("out", "pages", "page01.md"): "",
		s.project("out", "list.txt"): "", s.project("out", "index.md"): "", s.project("out", "flaky.txt"): "",
	} {
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := s.carryOut(step); err == nil {
		t.Errorf("%s: %s ends well without its %s: %s", plan, step.ID, tool, said)
	}
	if effects, err := s.ledger(); err != nil || len(effects) > 0 {
		t.Errorf("%s: %s has its effect without its %s: %v, %v", plan, step.ID, tool, effects, err)
	}
	if err := os.Remove(killed); err != nil {
		t.Fatal(err)
	}
	said, err := s.carryOut(step)
	if effects, lost := s.ledger(); err != nil || lost != nil || len(effects) != 1 {
		t.Errorf("%s: %s with its %s: %v: %s; effects %v, %v", plan, step.ID, tool, err, said, effects, lost)
	}
}

// carryOut runs the command of a step, as pawl would, with the programs in the story's folder before all others.
func (s *story) carryOut(step *pawl.Step) (said string, err error) {
	cmd := exec.Command("/bin/sh", "-c", step.Run)
	cmd.Dir = s.project(step.Dir)
	cmd.Env = []string{
		"PATH=" + s.dir + ":" + os.Getenv("PATH"), "TORTURE_OUTSIDE=" + s.outside(),
		"PAWL_STEP=" + string(step.ID), "PAWL_ITEM=page01", "PAWL_ATTEMPT=1", "PAWL_TOKEN=t", "PAWL_ATTEMPT_DIR=" + s.dir,
		"PAWL_RESULT=" + filepath.Join(s.dir, "result"),
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
