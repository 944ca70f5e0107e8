package page

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/test/stories/storytest"
)

// world is a user with projects, and the server of their projects.
type world struct {
	t        *testing.T
	dir      string
	env      []string
	url      string
	projects map[string]string // name of the folder → id
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := os.MkdirTemp("", "you-") // pictures show it
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: filepath.Join(home, "projects"), projects: map[string]string{}}
	w.env = append(os.Environ(), "HOME="+home, "USER=you", "PAWL_STATE=", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "LANG=C.UTF-8",
		"PATH="+filepath.Dir(storytest.Pawl(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.end()
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return w
}

// end ends all processes below the folder of the projects.
func (w *world) end() {
	if !storytest.Until(func() bool {
		left := storytest.RunningIn(w.dir)
		for _, pid := range left {
			kill(pid)
		}
		return len(left) == 0
	}) {
		w.t.Error("still running: ", storytest.RunningIn(w.dir))
	}
}

func kill(pid string) {
	n := 0
	for _, digit := range pid {
		n = 10*n + int(digit-'0')
	}
	if n > 1 {
		_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
	}
}

// write makes a file of a project.
func (w *world) write(project, name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, project, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// read returns the text of a file of a project.
func (w *world) read(project, name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, project, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) command(project, name string, args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), name, args...)
	if name == "pawl" {
		cmd = exec.CommandContext(w.t.Context(), storytest.Pawl(w.t), args...)
	}
	cmd.Dir, cmd.Env = filepath.Join(w.dir, project), w.env
	return cmd
}

// pawl runs pawl in a project, and returns what it prints. Its exit code must be the given one.
func (w *world) pawl(code int, project string, args ...string) string {
	w.t.Helper()
	cmd := w.command(project, "pawl", args...)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		w.t.Fatalf("pawl %s: %v, want exit code %d\n%s%s", strings.Join(args, " "), err, code, out, errOut.String())
	}
	return string(out)
}

// appears waits for a file of a project.
func (w *world) appears(project, name string) {
	w.t.Helper()
	if !storytest.Until(func() bool { _, err := os.Stat(filepath.Join(w.dir, project, name)); return err == nil }) {
		w.t.Fatalf("%s has no %s", project, name)
	}
}

// crash kills all processes of a project.
func (w *world) crash(project string) {
	w.t.Helper()
	dir := filepath.Join(w.dir, project)
	storytest.Until(func() bool {
		left := storytest.RunningIn(dir)
		for _, pid := range left {
			kill(pid)
		}
		return len(left) == 0
	})
}

// serve starts the server, and waits until it has looked at all projects.
func (w *world) serve() {
	w.t.Helper()
	w.url = w.start()
	if !storytest.Until(func() bool {
		answer, err := http.Get(w.url + "/readyz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}) {
		w.t.Fatal("the server is not ready")
	}
	folders, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range folders {
		data, err := os.ReadFile(filepath.Join(w.dir, f.Name(), ".pawl", "project.json"))
		if err != nil {
			continue
		}
		var p struct{ ID string }
		if err := json.Unmarshal(data, &p); err != nil {
			w.t.Fatal(err)
		}
		w.projects[f.Name()] = p.ID
	}
}

// start starts the server, and returns its address.
func (w *world) start() string {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	cmd := exec.CommandContext(ctx, storytest.Pawl(w.t), "serve")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir, cmd.Env, cmd.Stderr = w.dir, w.env, io.Discard
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was told to end
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ URL string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		w.t.Fatalf("%v: %s", err, line)
	}
	return ready.URL
}

// login returns a one-time link to the page.
func (w *world) login(args ...string) string {
	w.t.Helper()
	for word := range strings.FieldsSeq(w.pawl(0, "", append([]string{"serve", "open"}, args...)...)) {
		if strings.HasPrefix(word, w.url+"/login#") {
			return word
		}
	}
	w.t.Fatal("pawl serve open printed no link")
	return ""
}
