package gyoshu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/test/stories/storytest"
)

// stages is a plan with a stage in a kernel, one in a shell and one of an agent. LOAD and FIT stand for code.
const stages = `name: tides
steps:
  - id: S01_load_data
    timeout: 10s
    grace: 0s
    kernel:
      driver: python
      code: |
        import json, time
        LOAD
        json.dump([3, 1, 2], open('levels.json', 'w'))
    outputs: [levels.json]
  - id: S02_fit_model
    timeout: LIMIT
    grace: 0s
    run: |
      FIT
      echo '{"highest": 3}' > model.json
    outputs: [model.json]
  - id: S03_write_report
    agent: {use: claude, prompt: Write the report.}
    outputs: [report.md]
`

// planned writes the plan with the code of two stages, and their limit.
func (r *research) planned(load, fit, limit string) {
	r.Helper()
	r.write("plan.yaml", strings.NewReplacer("LOAD", load, "FIT", fit, "LIMIT", limit).Replace(stages))
}

// notFound checks that Gyoshu's own code finds nothing to resume from.
func (r *research) notFound() {
	r.Helper()
	if resume := r.checkpoints(map[string]any{"action": "resume"}); resume.Found == nil || *resume.Found {
		r.Errorf("resume: %+v", resume)
	}
}

// hasStatus checks that Gyoshu's own code reads the status of the research.
func (r *research) hasStatus(status string) {
	r.Helper()
	if text := r.call("research_manager", map[string]any{"action": "list"}); !strings.Contains(text, `"tides"`) || !strings.Contains(text, `"`+status+`"`) {
		r.Errorf("not %s: %s", status, text)
	}
}

// TestGyoshuReadsStates: Gyoshu's own code reads what pawl writes when the first stage is cut off, when a stage runs past its limit, when a
// person stops one, of stages in a shell and of an agent, and after checkpoints were pruned.
func TestGyoshuReadsStates(t *testing.T) {
	t.Parallel()
	r := newResearch(t)
	fake := t.TempDir()
	if err := os.WriteFile(filepath.Join(fake, "script"), []byte("run echo report > report.md; finish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "PATH="+storytest.Agents()+string(os.PathListSeparator)+os.Getenv("PATH"), "FAKE_AGENT="+fake)

	r.planned("time.sleep(1000)", ":", "10m")
	r.pawl(4, "run", "--mirror", "gyoshu", "plan.yaml")
	r.notFound()
	r.hasStatus("active")

	r.planned("pass", "touch begun; sleep 1000", "10m")
	r.pawl(0, "retry", "S01_load_data")
	engine := exec.Command(storytest.Pawl(t), "resume", "--yes")
	engine.Dir, engine.Env = r.dir, r.env
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; {
		if _, err := os.Stat(filepath.Join(r.dir, "begun")); err == nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the stage does not begin")
		}
	}
	r.pawl(0, "stop")
	_ = engine.Wait() // its exit code says that it was stopped
	if code := engine.ProcessState.ExitCode(); code != 3 {
		t.Errorf("the stopped engine exited with %d", code)
	}
	r.reads("S02_", "S01_load_data saved", "S02_fit_model interrupted", "S01_load_data saved")

	r.planned("pass", "sleep 1000", "3s")
	r.pawl(4, "resume", "--yes")
	r.reads("S02_", "S01_load_data saved", "S02_fit_model interrupted", "S01_load_data saved", "S02_fit_model interrupted", "S01_load_data saved")

	r.planned("pass", ":", "3s")
	r.pawl(0, "retry", "S02_fit_model")
	r.pawl(0, "resume", "--yes")
	r.reads("S04_", "S03_write_report saved", "S02_fit_model saved", "S01_load_data saved", "S02_fit_model interrupted", "S01_load_data saved", "S02_fit_model interrupted", "S01_load_data saved")
	r.hasStatus("completed")

	r.pawl(0, "prune", "--as", "gyoshu", "--keep", "1")
	r.reads("S04_", "S03_write_report saved")
	r.hasStatus("completed")
}

// TestGyoshuReadsCells: Gyoshu's own code finds the cells that python_repl has captured, and their outputs.
func TestGyoshuReadsCells(t *testing.T) {
	t.Parallel()
	r := newResearch(t)
	t.Cleanup(func() { r.pawl(0, "kernel", "stop", "--session", "gyoshu.ses_1") })
	pawl := func(code string) {
		t.Helper()
		r.callOf(exec.Command(storytest.Pawl(t), "mcp"), "python_repl", map[string]any{
			"action": "execute", "researchSessionID": "ses_1", "code": code, "autoCapture": true, "reportTitle": "tides"})
	}
	pawl("levels = [3, 1, 2]\nprint('the highest of', len(levels))")
	pawl("sorted(levels)")
	for _, text := range []string{"levels = [3, 1, 2]", "the highest of 3", "[1, 2, 3]"} {
		if found := r.call("notebook_search", map[string]any{"query": text}); !strings.Contains(found, `"tides`) {
			t.Errorf("%s is not found: %s", text, found)
		}
	}
}
