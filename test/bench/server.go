package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/server"
)

// mostResident is how much memory a server may take that knows a thousand runs, in MiB.
const mostResident = 100

const serverPlan = "version: 1\nname: idle\nsteps:\n  - {id: one, run: 'true'}\n  - {id: two, gate: {type: human_verify, ask: Is it right?}}\n"

// server is the row server: how long `pawl serve` takes from its start until it has looked at all projects, compared with a read of the files
// that it needs; and the memory that it takes then.
func (b *bench) server() (lines []line, err error) {
	others := os.Getenv("PAWL_STATE") // the hooks of other rows have recorded this process there as an agent, which may not serve
	if err := os.Setenv("PAWL_STATE", filepath.Join(b.dir, "state-of-servers")); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Setenv("PAWL_STATE", others)) }()
	idle, waiting := b.full(10_000, 300), b.full(1000, 100)
	recovery, err := b.serverRecovery(idle)
	if err != nil {
		return nil, err
	}
	memory, err := b.serverMemory(waiting)
	return []line{recovery, memory}, err
}

// serverRecovery measures the recovery of so many projects with one completed run each.
func (b *bench) serverRecovery(n int) (line, error) {
	projects, err := b.servedProjects("idle", n, pawl.RunEnded{Status: pawl.StatusCompleted})
	if err != nil {
		return line{}, err
	}
	m, err := inTurns(b.full(5, 3), 1,
		func() (time.Duration, error) { took, _, err := b.serve(n); return took, err },
		timed(func() error { return readRuns(projects) }))
	l := m.line(fmt.Sprintf("start of `pawl serve` until %d projects with a completed run are looked at", n), "read of their journals, states and plans", goal{ratio: 3})
	return l, errors.Join(err, b.forget("idle"))
}

// serverMemory measures the memory of a server that knows so many runs, each of which waits for a person.
func (b *bench) serverMemory(n int) (line, error) {
	gate := pawl.GateOpened{Gate: pawl.GateAction{Type: pawl.HumanVerify, Ask: "Is it right?"}.Gate("two", "", time.Now())}
	if _, err := b.servedProjects("waiting", n, gate); err != nil {
		return line{}, err
	}
	_, resident, err := b.serve(n)
	l := line{
		work: fmt.Sprintf("resident memory of `pawl serve` with %d runs that wait for a person", n), yardstick: "–", ratio: "–",
		measured: fmt.Sprintf("%d MiB", resident), goal: fmt.Sprintf("≤ %d MiB", mostResident), met: yesOrNo(resident <= mostResident),
	}
	return l, errors.Join(err, b.forget("waiting"))
}

// servedProjects makes projects with one run each. Step one of the run is done, and then last has happened.
func (b *bench) servedProjects(name string, n int, last pawl.Payload) ([]*project.Project, error) {
	if err := os.Mkdir(filepath.Join(b.dir, name), 0o700); err != nil {
		return nil, err
	}
	plan, err := planfile.Read("plan.yaml", []byte(serverPlan))
	if err != nil {
		return nil, err
	}
	var projects []*project.Project
	for i := range n {
		p, err := b.project(filepath.Join(name, strconv.Itoa(i)))
		if err == nil {
			err = b.servedRun(p, plan, last)
		}
		if err != nil {
			return nil, err
		}
		if notices := p.Register("", time.Now()); len(notices) > 0 {
			return nil, errors.New(notices[0])
		}
		projects = append(projects, p)
	}
	return projects, nil
}

func (b *bench) servedRun(p *project.Project, plan *pawl.Plan, last pawl.Payload) error {
	id, err := runs.Create(b, p, runs.CreateOptions{Kind: pawl.PlanRun, Plan: plan, Data: []byte(serverPlan)})
	if err != nil {
		return err
	}
	log, err := journal.Open(p.Runs(), id)
	if err != nil {
		return err
	}
	ref := pawl.AttemptRef{Step: "one", Attempt: 1, Token: "t"}
	var events []pawl.Event
	for _, payload := range []pawl.Payload{
		pawl.EngineStarted{Epoch: 1}, pawl.AttemptStarted{AttemptRef: ref}, pawl.StepDone{Step: ref.Step, Attempt: 1, Token: ref.Token}, last, pawl.EngineStopped{},
	} {
		e, err := event(payload)
		if err != nil {
			return errors.Join(err, log.Close())
		}
		events = append(events, e)
	}
	_, err = log.Append(b, 1, events...)
	state, stateErr := log.State(b)
	if err = errors.Join(err, stateErr); err == nil {
		err = errors.Join(log.SaveState(state), runs.Mark(p, id))
	}
	return errors.Join(err, log.Close())
}

// forget removes projects, and the user's records of them.
func (b *bench) forget(name string) error {
	return errors.Join(os.RemoveAll(filepath.Join(b.dir, name)), os.RemoveAll(os.Getenv("PAWL_STATE")))
}

// readRuns reads the files of runs that tell how they stand.
func readRuns(projects []*project.Project) error {
	for _, p := range projects {
		err := filepath.WalkDir(p.Runs(), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				_, err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// serve starts a server and ends it when it has looked at all projects, of which there are n. It returns how long that took, and the
// memory that the server had then, in MiB.
func (b *bench) serve(n int) (took time.Duration, resident int, err error) {
	began := time.Now()
	cmd := exec.Command(b.pawl, "serve")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	said := &strings.Builder{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
		if found := fmt.Sprintf("found %d projects", n); err == nil && !strings.Contains(strings.ReplaceAll(said.String(), ",", ""), found) {
			err = fmt.Errorf("the server has not %s: %.1000s", found, said)
		}
	}()
	first, err := bufio.NewReader(out).ReadBytes('\n')
	var ready server.Ready
	if err = errors.Join(err, json.Unmarshal(first, &ready)); err != nil {
		return 0, 0, fmt.Errorf("pawl serve printed %q: %w: %s", first, err, said)
	}
	for ok := false; !ok; {
		if ok, err = answers(ready.URL + "/readyz"); err != nil {
			return 0, 0, err
		}
	}
	took = time.Since(began)
	resident, err = residentOf(cmd.Process.Pid)
	return took, resident, err
}

// answers reports whether a server answers with status 200.
func answers(url string) (bool, error) {
	r, err := http.Get(url)
	if err != nil {
		return false, err
	}
	time.Sleep(time.Millisecond) // its work is measured, not its answers
	return r.StatusCode == http.StatusOK, r.Body.Close()
}

// residentOf returns the resident memory of a process in MiB.
func residentOf(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(data)) {
		if size, ok := strings.CutPrefix(text, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(size)[0])
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no resident memory", pid)
}
