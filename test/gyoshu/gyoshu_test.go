// Package gyoshu has Gyoshu's public implementation read what pawl writes for kernel stages: its own MCP server lists, validates and resumes
// the checkpoints. `make test-gyoshu` fetches and builds the server.
package gyoshu

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/interop/format/gyoshu"
	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// server returns the program of the MCP server.
func server(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(cmp.Or(os.Getenv("PAWL_GYOSHU"), filepath.Join("..", "..", "bin", "_gyoshu")))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "src", "mcp", "build", "index.cjs")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err, "; make test-gyoshu builds it")
	}
	return path
}

// research is a project with a run that is mirrored.
type research struct {
	*testing.T
	dir string
	env []string
}

// newResearch returns a research in a new project.
func newResearch(t *testing.T) *research {
	t.Helper()
	r := &research{T: t, dir: t.TempDir(), env: append(os.Environ(), "HOME="+t.TempDir(), "GYOSHU_RUNTIME_DIR="+t.TempDir())}
	r.env = append(r.env, "GYOSHU_PROJECT_ROOT="+r.dir)
	r.pawl(0, "init")
	return r
}

// write writes a file of the project.
func (r *research) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

// call calls a tool of Gyoshu's server in the project.
func (r *research) call(tool string, args map[string]any) string {
	r.Helper()
	return r.callOf(exec.Command("node", server(r.T)), tool, args)
}

// callOf calls a tool of an MCP server in the project.
func (r *research) callOf(command *exec.Cmd, tool string, args map[string]any) string {
	r.Helper()
	command.Dir, command.Env = r.dir, r.env
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(r.Context(), &sdk.CommandTransport{Command: command}, nil)
	if err != nil {
		r.Fatal(err)
	}
	defer session.Close()
	answer, err := session.CallTool(r.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		r.Fatal(err)
	}
	text := answer.Content[0].(*sdk.TextContent).Text
	if answer.IsError {
		r.Fatalf("%s %v: %s", tool, args, text)
	}
	return text
}

// checkpoints calls checkpoint_manager.
func (r *research) checkpoints(args map[string]any) (result gyoshu.Result) {
	r.Helper()
	args["reportTitle"] = "tides"
	text := r.call("checkpoint_manager", args)
	if err := json.Unmarshal([]byte(text), &result); err != nil || !result.Success {
		r.Fatalf("%v: %s, %v", args, text, err)
	}
	return result
}

// pawl runs pawl in the project.
func (r *research) pawl(code int, args ...string) string {
	r.Helper()
	command := exec.Command(storytest.Pawl(r), args...)
	command.Dir, command.Env = r.dir, r.env
	out, err := command.CombinedOutput()
	if command.ProcessState == nil || command.ProcessState.ExitCode() != code {
		r.Fatalf("pawl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// reads checks that Gyoshu's own code lists these stages, newest first, finds each checkpoint valid, and resumes behind the last one.
func (r *research) reads(next string, stages ...string) gyoshu.Result {
	r.Helper()
	var listed []string
	for _, c := range r.checkpoints(map[string]any{"action": "list"}).Checkpoints {
		listed = append(listed, c.Stage+" "+string(c.Status))
		valid := r.checkpoints(map[string]any{"action": "validate", "runId": c.Run, "checkpointId": c.Checkpoint})
		if valid.Valid == nil || !*valid.Valid || len(valid.Issues) > 0 {
			r.Errorf("%s: %+v", c.Checkpoint, valid)
		}
	}
	if strings.Join(listed, "\n") != strings.Join(stages, "\n") {
		r.Errorf("checkpoints %q, want %q", listed, stages)
	}
	resume := r.checkpoints(map[string]any{"action": "resume"})
	if resume.Found == nil || !*resume.Found || resume.Next != next {
		r.Errorf("resume: %+v, want %s", resume, next)
	}
	return resume
}

const plan = `name: tides
steps:
  - id: S01_load_data
    kernel:
      driver: python
      code: |
        import json, random
        random.seed(7)
        levels = [3, 1, 2]
        json.dump(levels, open('levels.json', 'w'))
    outputs: [levels.json]
  - id: S02_fit_model
    kernel:
      driver: python
      code: |
        print('[STAGE:end:id=S02_fit_model:status=success]')
        highest = max(levels)
        json.dump({'highest': highest}, open('model.json', 'w'))
    outputs: [model.json]
  - id: S03_write_report
    kernel:
      driver: python
      code: |
        print('the highest of', len(levels))
        print(highest / divisor)
`

// TestGyoshuReads: at each moment of a run of kernel stages, Gyoshu's own code loads every checkpoint, and would continue at the right
// stage: after a stage that failed, after the death of a kernel, and at the end. The cell that it generates loads the artifacts.
func TestGyoshuReads(t *testing.T) {
	t.Parallel()
	r := newResearch(t)
	write := r.write
	write("plan.yaml", plan)
	r.pawl(4, "run", "--mirror", "gyoshu", "plan.yaml")
	resume := r.reads("S03_", "S02_fit_model saved", "S03_write_report interrupted", "S02_fit_model saved", "S01_load_data saved")
	r.rehydrates(resume)

	write("plan.yaml", strings.Replace(plan, "highest / divisor", "__import__('os').kill(__import__('os').getpid(), 9)", 1))
	r.pawl(0, "retry", "S03_write_report")
	r.pawl(4, "resume", "--yes")
	r.rehydrates(r.reads("S03_", "S02_fit_model saved", "S03_write_report interrupted", "S02_fit_model saved", "S03_write_report interrupted", "S02_fit_model saved", "S01_load_data saved"))

	write("plan.yaml", strings.Replace(plan, "highest / divisor", "highest / 2", 1))
	r.pawl(0, "retry", "S03_write_report")
	r.pawl(0, "resume", "--yes")
	listed := r.checkpoints(map[string]any{"action": "list"}).Checkpoints
	if len(listed) == 0 || listed[0].Stage != "S03_write_report" || listed[0].Status != gyoshu.Saved {
		t.Errorf("at the end: %+v", listed)
	}
	if text := r.call("research_manager", map[string]any{"action": "list"}); !strings.Contains(text, `"tides"`) || !strings.Contains(text, `"completed"`) {
		t.Errorf("research_manager: %s", text)
	}
}

// rehydrates checks that the cell which Gyoshu generated loads the artifacts of all finished stages.
func (r *research) rehydrates(resume gyoshu.Result) {
	r.Helper()
	command := exec.Command("python3", "-c", strings.Join(resume.Rehydration, "\n")+"\nprint(levels, model)\n")
	command.Dir = r.dir
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "]\n[3, 1, 2] {'highest': 3}\n") || !strings.HasPrefix(string(out), "[REHYDRATED:from=") {
		r.Errorf("%q: %s, %v", resume.Rehydration, out, err)
	}
}
