// Package creation kills pawl while it creates a run, at each call that changes the disk or the database. A person who repeats the command,
// and a server, then find a project that has no run or goes on: there is exactly one run in the end, and each step ran once.
package creation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/disk/disktest"
	"pawl/test/stories/storytest"
)

// plan writes into a ledger outside the project what ran.
const plan = "name: demo\nsteps:\n- {id: one, run: echo one >> ../ledger}\n- {id: two, run: echo two >> ../ledger}\n"

// kinds is what share of the calls is hit; see disktest.FaultPoints. With every case, every call is.
const kinds = 5

// A World is where projects are made.
type World struct {
	*testing.T
	Binary string        // pawl with faults
	DSN    func() string // of a database for runs; nil: they are in files
}

// project is a new project of a new user.
type project struct {
	*World
	dir   string
	dsn   string
	token string // of a client of its servers
}

func (w *World) project() *project {
	w.Helper()
	p := &project{World: w, dir: w.TempDir()}
	if err := os.MkdirAll(p.path("project"), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(p.path("project", "plan.yaml"), []byte(plan), 0o600); err != nil {
		w.Fatal(err)
	}
	p.must("init")
	if w.DSN != nil {
		p.dsn = w.DSN()
		p.must("store", "move", "postgres")
	}
	return p
}

func (p *project) path(names ...string) string {
	return filepath.Join(append([]string{p.dir}, names...)...)
}

func (p *project) command(more []string, args ...string) *exec.Cmd {
	cmd := exec.Command(p.Binary, args...)
	cmd.Dir = p.path("project")
	cmd.Env = append(os.Environ(), "HOME="+p.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "PAWL_STATE=", "USER=tester", "PAWL_POSTGRES="+p.dsn)
	cmd.Env = append(cmd.Env, more...)
	return cmd
}

// pawl runs pawl in the project, and returns what it prints and its exit code; -1: it was killed.
func (p *project) pawl(more []string, args ...string) (said string, code int) {
	p.Helper()
	out, err := p.command(more, args...).CombinedOutput()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		return string(out), exit.ExitCode()
	} else if err != nil {
		p.Fatal(err)
	}
	return string(out), 0
}

func (p *project) must(args ...string) string {
	p.Helper()
	said, code := p.pawl(nil, args...)
	if code != 0 {
		p.Fatalf("pawl %v: exit code %d\n%s", args, code, said)
	}
	return said
}

// faults are the variables with which a fault hits a command; of several processes, the first one that it fits.
func (p *project) faults(command, fault string) []string {
	return []string{disktest.FaultVar + "=" + fault, disktest.FaultOnly + "=" + command, disktest.FaultLog + "=" + p.path("calls"), disktest.FaultCount + "=" + p.path("count")}
}

// calls returns how many calls there were.
func (p *project) calls() int { return strings.Count(p.read("calls"), "\n") }

// noRuns is the exit code of pawl status where there is no run.
const noRuns = 7

// told requires that pawl says of the project that it has no run, or where its run stands, and finds no fault. It reports whether it has
// a run.
func (p *project) told(where string) (run bool) {
	p.Helper()
	said, code := p.pawl(nil, "status")
	if code != 0 && (code != noRuns || !strings.Contains(said, "no runs yet")) {
		p.Errorf("%s: status: exit code %d: %s", where, code, said)
	}
	if said := p.must("verify"); !strings.Contains(said, " 0 faults") {
		p.Errorf("%s: verify: %s", where, said)
	}
	if said := p.must("doctor"); !strings.Contains(said, " 0 faults") {
		p.Errorf("%s: doctor: %s", where, said)
	}
	return code == 0
}

// wantOne waits for the end of the run, and requires that it is the only one, and that each step ran once.
func (p *project) wantOne(where string) {
	p.Helper()
	if !storytest.Until(p.ended) {
		text, _ := p.pawl(nil, "status")
		p.Fatalf("%s: the run does not end: %s\n%s", where, text, p.read("serve.err"))
	}
	if ledger := p.read("ledger"); ledger != "one\ntwo\n" {
		p.Errorf("%s: ledger %q", where, ledger)
	}
	var all []struct{ Status string }
	if said := p.must("runs", "--json"); json.Unmarshal([]byte(said), &all) != nil || len(all) != 1 || all[0].Status != "completed" {
		p.Errorf("%s: runs: %s", where, said)
	}
	p.told(where)
}

// ended reports whether a run of the project has ended.
func (p *project) ended() bool {
	found, err := filepath.Glob(p.path("project", ".pawl", "runs", "*", "journal.jsonl"))
	if err != nil {
		p.Fatal(err)
	}
	for _, path := range found {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(`"type":"run.ended"`)) {
			return true
		}
	}
	return false
}

func (p *project) read(name string) string {
	data, err := os.ReadFile(p.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.Fatal(err)
	}
	return string(data)
}

// server is a running pawl serve.
type server struct {
	*project
	cmd  *exec.Cmd
	url  string
	died chan error
}

// serve starts a server, and returns it once it has looked at the project; ok is false if it has died before.
func (p *project) serve(more []string) (s *server, ok bool) {
	p.Helper()
	if p.token == "" {
		p.token = p.newToken()
	}
	s = &server{project: p, cmd: p.command(more, "serve", "--listen", "127.0.0.1:0"), died: make(chan error, 1)}
	var outs [2]*os.File
	for i, name := range []string{"serve.out", "serve.err"} {
		file, err := os.Create(p.path(name))
		if err != nil {
			p.Fatal(err)
		}
		defer file.Close()
		outs[i] = file
	}
	s.cmd.Stdout, s.cmd.Stderr = outs[0], outs[1]
	if err := s.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	go func() { s.died <- s.cmd.Wait() }()
	var ready struct {
		URL string `json:"url"`
	}
	up := storytest.Until(func() bool {
		return len(s.died) > 0 || json.Unmarshal([]byte(p.read("serve.out")), &ready) == nil && strings.Contains(p.read("serve.err"), "recovery complete")
	})
	if !up {
		p.Fatalf("the server is not ready: %s", p.read("serve.err"))
	}
	s.url = ready.URL
	return s, len(s.died) == 0
}

// end ends the server.
func (s *server) end() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have been killed
	<-s.died
}

// start asks the server to start a run, with a key; the answer's status is 0 if the server died.
func (s *server) start(key string) (status int, answer string) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+"/api/projects/"+s.id()+"/runs", bytes.NewReader([]byte(`{"plan":"plan.yaml"}`)))
	if err != nil {
		s.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + s.token, "Content-Type": "application/json", "Idempotency-Key": key} {
		request.Header.Set(name, value)
	}
	response, err := new(http.Transport).RoundTrip(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(data)
}

func (p *project) newToken() string {
	var made struct{ Secret string }
	if said := p.must("serve", "token", "create", "client", "--rights", "read,run", "--json"); json.Unmarshal([]byte(said), &made) != nil || made.Secret == "" {
		p.Fatalf("token: %s", said)
	}
	return made.Secret
}

func (p *project) id() string {
	var of struct {
		ID string `json:"id"`
	}
	data := p.read(filepath.Join("project", ".pawl", "project.json"))
	if err := json.Unmarshal([]byte(data), &of); err != nil {
		p.Fatal(err)
	}
	return of.ID
}

// engineCalls are about the calls of an engine until it has begun the first step.
const engineCalls = 15

// Run kills pawl run --background, and the engine that it starts.
func (w *World) Run() {
	w.Helper()
	p := w.project()
	if _, code := p.pawl(p.faults("run", "count"), "run", "--background", "plan.yaml"); code != 0 {
		w.Fatalf("undisturbed: exit code %d", code)
	}
	p.wantOne("undisturbed")
	calls := p.calls()
	made, cut := 0, 0
	for _, n := range append(slices.Collect(disktest.FaultPoints(0, kinds, calls-2)), calls-1, calls) {
		if w.runOnce("run", n) {
			made++
		} else {
			cut++
		}
	}
	for n := range disktest.FaultPoints(1, kinds, engineCalls) {
		if !w.runOnce("resume", n) {
			w.Errorf("the engine, call %d: there is no run", n)
		}
	}
	if made == 0 || cut < 3 {
		w.Errorf("pawl run was killed %d times before there was a run, and %d times after", cut, made)
	}
}

// runOnce kills pawl run, or its engine (who: resume), at its nth call, and reports whether there was a run then. The server resumes that;
// otherwise the person repeats the command.
func (w *World) runOnce(who string, n int) (made bool) {
	w.Helper()
	where, p := fmt.Sprintf("%s of pawl run, call %d", who, n), w.project()
	if said, code := p.pawl(p.faults(who, fmt.Sprintf("die:%d", n)), "run", "--background", "plan.yaml"); who == "run" && code != -1 {
		p.Errorf("%s: exit code %d: %s", where, code, said)
	}
	made = p.told(where)
	s, _ := p.serve(nil)
	if !made {
		p.must("run", "--background", "plan.yaml")
	}
	p.wantOne(where)
	s.end()
	return made
}

// Serve kills a server that starts a run for a client, and the pawl run that it starts. The client repeats its request.
func (w *World) Serve() {
	w.Helper()
	for kind, who := range []string{"serve", "run"} {
		p := w.project()
		s, _ := p.serve(p.faults(who, "count"))
		before := p.calls()
		if status, answer := s.start("key"); status != http.StatusCreated {
			w.Fatalf("undisturbed: %d %s", status, answer)
		}
		calls := p.calls()
		p.wantOne("undisturbed")
		s.end()
		if calls-before < 5 {
			w.Errorf("%s made %d calls", who, calls-before)
		}
		for n := range disktest.FaultPoints(kind+1, kinds, calls) {
			if n > before {
				w.serveOnce(who, n)
			}
		}
	}
}

func (w *World) serveOnce(who string, n int) {
	w.Helper()
	where, p := fmt.Sprintf("%s of a server, call %d", who, n), w.project()
	s, alive := p.serve(p.faults(who, fmt.Sprintf("die:%d", n)))
	var answers []string
	status := 0
	if !storytest.Until(func() bool {
		if status == 0 && len(s.died) > 0 || !alive {
			if s, alive = p.serve(nil); !alive {
				p.Fatalf("%s: the next server died: %s", where, p.read("serve.err"))
			}
		}
		var answer string
		status, answer = s.start("key")
		answers = append(answers, fmt.Sprint(status, " ", answer))
		return status == http.StatusCreated
	}) {
		p.Fatalf("%s: %q", where, answers)
	}
	p.wantOne(where)
	if status, answer := s.start("key"); status != http.StatusCreated || fmt.Sprint(status, " ", answer) != answers[len(answers)-1] {
		p.Errorf("%s: again: %d %s; before %q", where, status, answer, answers)
	}
	s.end()
	p.wantOne(where)
}
