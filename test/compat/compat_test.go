//go:build linux

// Package compat continues runs that older versions of pawl began. testdata has one folder for each version: projects as a
// SIGKILL of all of pawl's processes left them, and what that version's commands printed as JSON there.
package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// sentences are the JSON fields whose values are text for people, or depend on the clock. Their words may change between
// versions. All other fields, with their types, order and values, may not.
var sentences = []string{
	"what", "hint", "why", "reasons", "evidence", "title", "lines", "doubt", "text", // text for people
	"checked_at", // the time of the call
}

// blank replaces the values of the fields in sentences, at any depth.
func blank(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = blank(v[key])
		}
		for _, key := range sentences {
			if _, ok := v[key]; ok {
				v[key] = "*"
			}
		}
		correct(v)
	case []any:
		for i := range v {
			v[i] = blank(v[i])
		}
	}
	return v
}

// correct removes from an object what this version says on purpose otherwise: why and resume --dry-run say what resume does with a step
// ("do", "items"; a gate does not run), and resume --dry-run how many attempts would run at a time ("parallel"). status also lists what a
// step needs, and the sentences that it prints.
func correct(v map[string]any) {
	delete(v, "parallel")
	remove := func(marks string, keys ...string) {
		if _, is := v[marks]; is {
			for _, key := range keys {
				delete(v, key)
			}
		}
	}
	remove("attempts", "needs", "unreviewed", "unsettled", "note", "not_ready")             // of a step
	remove("progress_percent", "standing", "next", "params_line", "unsettled", "not_ready") // of a run
	if _, why := v["runs"]; why {
		delete(v, "do")
		delete(v, "items")
		if v["step"] == "check" {
			delete(v, "runs")
		}
	}
}

func normalised(t *testing.T, data []byte) any {
	t.Helper()
	var all []any // pawl log prints one value a line
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var v any
		switch err := dec.Decode(&v); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%v: %s", err, data)
		}
		all = append(all, blank(v))
	}
}

// project is a project that an older version of pawl left.
type project struct {
	*testing.T
	work, dir, pawl string
}

func unpack(t *testing.T, version, name string) *project {
	t.Helper()
	p := &project{T: t, work: t.TempDir(), pawl: storytest.Pawl(t)}
	p.dir = filepath.Join(p.work, name)
	archive := filepath.Join("testdata", version, name+".tar.gz")
	if out, err := exec.Command("tar", "-xzf", archive, "-C", p.work).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", archive, err, out)
	}
	if err := os.Mkdir(filepath.Join(p.work, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs pawl in the project and returns its standard output. Any exit code but code is an error.
func (p *project) run(code int, args ...string) string {
	p.Helper()
	cmd := exec.Command(p.pawl, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(p.work, "home"), "USER=tester", "TZ=UTC", "FAKE_AGENT="+filepath.Join(p.work, "fake"), "XDG_STATE_HOME=", "XDG_CONFIG_HOME=",
		"PATH="+storytest.Agents()+":"+filepath.Dir(p.pawl)+":"+os.Getenv("PATH"))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, _ := cmd.Output() // the exit code says it
	if got := cmd.ProcessState.ExitCode(); got != code {
		p.Fatalf("pawl %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, complaints.String())
	}
	return string(out)
}

// scriptAgents sets what each start of a fake agent does; see headlesstest.
func (p *project) scriptAgents(line string) {
	p.Helper()
	if err := os.MkdirAll(filepath.Join(p.work, "fake"), 0o700); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.work, "fake", "script"), []byte(line+"\n"), 0o600); err != nil {
		p.Fatal(err)
	}
}

// sameJSON compares what reading commands print with what the older version printed.
func (p *project) sameJSON(version string) {
	p.Helper()
	folder := filepath.Join("testdata", version, filepath.Base(p.dir))
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) < 10 {
		p.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	for _, file := range files {
		old, err := os.ReadFile(file)
		if err != nil {
			p.Fatal(err)
		}
		command := strings.TrimSuffix(filepath.Base(file), ".json")
		args := []string{command, "--json"}
		if command == "resume" {
			args = append(args, "--dry-run")
		}
		now := strings.ReplaceAll(p.run(0, args...), filepath.Dir(p.dir), "$WORK")
		if diff := cmp.Diff(normalised(p.T, old), normalised(p.T, []byte(now))); diff != "" {
			p.Errorf("pawl %s (-%s +now):\n%s", strings.Join(args, " "), version, diff)
		}
	}
}

func (p *project) want(text, part string) {
	p.Helper()
	if !strings.Contains(text, part) {
		p.Errorf("no %q in:\n%s", part, text)
	}
}

// register adds the project to the user's list of projects, as the older version did.
func (p *project) register() {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, ".pawl", "project.json"))
	var who struct{ ID string }
	if err = errors.Join(err, json.Unmarshal(data, &who)); err != nil {
		p.Fatal(err)
	}
	list := filepath.Join(p.work, "home", ".local", "state", "pawl", "projects")
	entry := fmt.Sprintf(`{"id": %q, "path": %q}`, who.ID, p.dir)
	if err := errors.Join(os.MkdirAll(list, 0o700), os.WriteFile(filepath.Join(list, who.ID+".json"), []byte(entry), 0o600)); err != nil {
		p.Fatal(err)
	}
}

// trust trusts the project, which this version refuses before: the older one kept no record of that. Then it moves the project, as
// when the older version printed its JSON.
func (p *project) trust() {
	p.Helper()
	p.run(5, "resume")
	p.run(0, "trust", "--yes")
	moved := filepath.Join(p.work, "moved", filepath.Base(p.dir))
	if err := errors.Join(os.Mkdir(filepath.Dir(moved), 0o700), os.Rename(p.dir, moved)); err != nil {
		p.Fatal(err)
	}
	p.dir = moved
}

// TestRunContinues continues a run that was killed in the second of three items.
func TestRunContinues(t *testing.T) {
	t.Parallel()
	p := unpack(t, "b00d6f3", "project")
	p.register()
	p.trust()
	p.sameJSON("b00d6f3")
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil { // the item that was killed waits for it
		t.Fatal(err)
	}
	p.run(3, "resume")
	var status struct{ Steps []struct{ ID, Status string } }
	if err := json.Unmarshal([]byte(p.run(0, "status", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"done", "done", "done", "done", "waiting"} {
		if got := status.Steps[i]; got.Status != want {
			t.Errorf("step %s is %s, want %s", got.ID, got.Status, want)
		}
	}
	p.run(0, "answer", "check", "yes")
	p.run(0, "resume")
	p.want(p.run(0, "status"), "completed")
	p.want(p.run(0, "verify"), " 0 faults")
	for _, item := range []string{"Ada", "Bo", "Cy"} {
		if text, err := os.ReadFile(filepath.Join(p.dir, "out", item+".txt")); string(text) != "Hello, "+item+"!\n" {
			t.Errorf("%s: %q, %v", item, text, err)
		}
	}
}

// TestPlainShell continues a run from before sh -e was the default. Its steps still run with plain sh, which pawl says once.
func TestPlainShell(t *testing.T) {
	t.Parallel()
	p := unpack(t, "b00d6f3", "project")
	p.register()
	p.trust()
	plan := filepath.Join(p.dir, "plan.yaml")
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	ignores := strings.Replace(string(text), "run: cat out", "accept: {sent: 'false; true'}\n    run: false; cat out", 1)
	err = errors.Join(os.WriteFile(plan, []byte(ignores), 0o600), os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600))
	if err != nil || ignores == string(text) {
		t.Fatalf("plan not changed: %v", err)
	}
	out := p.run(3, "resume", "--yes")
	const note = "its scripts without a shell run with plain sh"
	if strings.Count(out, note) != 1 {
		t.Errorf("%q is not printed once:\n%s", note, out)
	}
	p.want(p.run(0, "status"), "Keep the letters?")
	if _, err := os.Stat(filepath.Join(p.dir, "sent.txt")); err != nil {
		t.Errorf("the step stopped at a failed command: %v", err)
	}
	p.run(0, "fork", "write", "--yes")
	if err := os.Remove(filepath.Join(p.dir, "sent.txt")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	p.want(p.run(3, "resume", "--yes"), note)
	if _, err := os.Stat(filepath.Join(p.dir, "sent.txt")); err != nil {
		t.Errorf("in the fork, the step stopped at a failed command: %v", err)
	}
}

// TestImportContinues continues an import of dotagent, with a mirror, that was killed while an agent worked.
func TestImportContinues(t *testing.T) {
	t.Parallel()
	p := unpack(t, "b00d6f3", "import")
	p.register()
	p.trust()
	p.sameJSON("b00d6f3")
	p.scriptAgents("run sh do.sh; finish I did it.")
	p.run(0, "resume")
	p.want(p.run(0, "status"), "completed")
	p.want(p.run(0, "verify"), " 0 faults")
	p.run(0, "verify", "--as", "dotagent")
	if left, err := filepath.Glob(filepath.Join(p.dir, "memory", "state", ".archive", "wf-shop_*", "execution.json")); len(left) != 1 {
		t.Errorf("archived workflows: %v, %v", left, err)
	}
}

// TestUnknownRun trusts a project that is not in the user's list of projects. Its run needs an adoption.
func TestUnknownRun(t *testing.T) {
	t.Parallel()
	p := unpack(t, "b00d6f3", "import")
	p.trust()
	p.scriptAgents("run sh do.sh; finish I did it.")
	p.run(5, "resume")
	p.want(p.run(0, "adopt", "--yes"), "adopted run ")
	p.run(0, "resume")
	p.want(p.run(0, "status"), "completed")
}
