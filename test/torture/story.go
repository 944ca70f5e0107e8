package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/supervise"
	"pawl/test/torture/observed"
)

//go:embed random.yaml systematic.yaml campaign.yaml servers.yaml step.sh
var plans embed.FS

// story is one project, worked on until its plan is done. Its folder holds the project, what is outside of it (the
// ledger), and the state folder of the user.
type story struct {
	*torture
	dir     string
	folder  string          // the project's name in dir. Defaults to project.
	point   string          // the fault that it suffers, for messages
	wrapper func() []string // what every command is run under; nil: nothing
	boot    string          // the boot of the system in which all commands believe; "" for the real one
	killed  map[string]bool // tokens of the attempts that we hit; nil: any may have been
	failing bool            // the engine's calls fail, and its syncs among them
}

// newStory makes the folders of a story that follows a plan.
func (t *torture) newStory(name, plan string) (*story, error) {
	s := &story{torture: t, dir: filepath.Join(t.dir, name), folder: "project", killed: map[string]bool{}}
	if err := s.furnish(plan); err != nil {
		return nil, err
	}
	return s, s.init()
}

// init makes the folder a project.
func (s *story) init() error {
	if said, code := s.pawl("init"); code != 0 {
		return s.wrong("init: exit code %d: %s", code, said)
	}
	return nil
}

// furnish makes the folders with the plan and what its steps use.
func (s *story) furnish(plan string) error {
	for _, folder := range []string{s.project("out", "pages"), s.outside()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	for from, to := range map[string]string{plan + ".yaml": "plan.yaml", "step.sh": "step.sh"} {
		data, err := plans.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.project(to), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// pawlFolder is pawl's own part of a project.
const pawlFolder = ".pawl"

func (s *story) project(names ...string) string {
	return filepath.Join(append([]string{s.dir, cmp.Or(s.folder, "project")}, names...)...)
}

func (s *story) outside(names ...string) string {
	return filepath.Join(append([]string{s.dir, "outside"}, names...)...)
}

// wrong is a violation in this story.
func (s *story) wrong(format string, args ...any) error {
	return &violation{story: s.dir, point: s.point, what: fmt.Sprintf(format, args...)}
}

// storyVar marks every process of a story.
const storyVar = "TORTURE_STORY"

// environment is what the processes of the story get, and nothing else of ours.
func (s *story) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "XDG_STATE_HOME=" + filepath.Join(s.dir, "state"),
		"TORTURE_OUTSIDE=" + s.outside(), storyVar + "=" + s.dir,
	}
}

// patience is how long one command may take. None comes near it.
const patience = time.Minute

// command is a call of a binary in the project, with more in its environment.
func (s *story) command(ctx context.Context, binary string, more []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	if s.boot != "" {
		binary, more = s.faulty, append(slices.Clone(more), faultBoot+s.boot)
	}
	line := append([]string{binary}, args...)
	if s.wrapper != nil {
		line = slices.Concat(s.wrapper(), line)
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = s.project()
	cmd.Env = append(s.environment(), more...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 20 * time.Second // that a process which survives holds the pipe; on a busy machine, reading takes seconds
	return cmd, &said
}

// pawl runs a pawl command to its end, undisturbed.
func (s *story) pawl(args ...string) (said string, code int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd, out := s.command(ctx, s.torture.pawl, nil, args...)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return err.Error(), -1
	}
	if ctx.Err() != nil {
		return out.String() + "\n[still running after " + patience.String() + "]", -1
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// faulted runs a command of the binary with faults, however that ends.
func (s *story) faulted(more []string, args ...string) error {
	limit, full := patience, slices.ContainsFunc(more, staysFull)
	if full {
		limit = untilFull
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd, out := s.command(ctx, s.faulty, more, args...)
	if full {
		cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, patience
	}
	begin := time.Now()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return err
	}
	if time.Since(begin) >= patience {
		return s.wrong("%v: still running after %s:\n%s", args, patience, out)
	}
	return nil
}

// untilFull is after how long a command on a disk that stays full is asked to end: it waits for space, and obeys.
const untilFull = 5 * time.Second

// staysFull reports whether a variable makes the disk full from some call on.
func staysFull(variable string) bool {
	return strings.HasPrefix(variable, faultVar+"ENOSPC:") && strings.HasSuffix(variable, "-")
}

// status is what `pawl status --json` must say at least.
type status struct {
	Run    pawl.RunID     `json:"run"`
	Status pawl.RunStatus `json:"status"`
	Steps  []struct {
		ID     pawl.StepID     `json:"id"`
		Status pawl.StepStatus `json:"status"`
		Items  struct {
			Done int `json:"done"`
		} `json:"items"`
	} `json:"steps"`
	Gates []struct {
		ID      pawl.GateID  `json:"id"`
		Step    pawl.StepID  `json:"step"`
		Purpose pawl.Purpose `json:"purpose"`
	} `json:"gates"`
}

// Exit codes of pawl that a story may see.
const (
	codeAtGate  = 3
	codeNothing = 7
)

// status asks where the run stands; nil where there is none.
func (s *story) status() (*status, error) {
	said, code := s.pawl("status", "--json")
	if code == codeNothing {
		return nil, nil
	}
	var st status
	if err := json.Unmarshal([]byte(said), &st); code != 0 || err != nil {
		return nil, s.wrong("status: exit code %d, %v: %s", code, err, said)
	}
	return &st, nil
}

// dying is how long the system may take to free the engine's lock after a kill: what the engine was just forking holds
// a copy of it until its exec.
const dying = 5 * time.Second

// next returns the command that carries the story on; none when the run is completed.
func (s *story) next() ([]string, error) {
	st, err := s.status()
	for end := time.Now().Add(dying); err == nil && st != nil && st.Status == pawl.StatusActive && time.Now().Before(end); {
		st, err = s.status()
	}
	if err != nil {
		return nil, err
	}
	if st == nil {
		return []string{"run", "plan.yaml"}, nil
	}
	switch st.Status {
	case pawl.StatusCompleted:
		return nil, nil
	case pawl.StatusWaiting:
		if err := s.approve(st); err != nil {
			return nil, err
		}
	case pawl.StatusInterrupted:
	default:
		return nil, s.wrong("nobody works on the run, and its status is %q", st.Status)
	}
	s.tally.resumes.Add(1)
	return []string{"resume"}, nil
}

// approve does a person's part: a gate whose checks fail stops for one also in autopilot, and so does work that was lost
// too often. Checks fail only when we hit them.
func (s *story) approve(st *status) error {
	h, err := s.history()
	if err != nil {
		return err
	}
	for _, gate := range st.Gates {
		if gate.Purpose != pawl.ForRepeat && !s.hit(h, string(gate.Step)) {
			continue // the engine died before it could answer: the next one does
		}
		if said, code := s.pawl("approve", "--yes", string(gate.ID)); code != 0 {
			return s.wrong("approve: exit code %d: %s", code, said)
		}
	}
	return nil
}

// hit reports whether an attempt at some work may have been hit.
func (s *story) hit(h *history, work string) bool {
	if s.killed == nil {
		return true
	}
	for token, of := range h.started {
		if of == work && s.killed[token] {
			return true
		}
	}
	return false
}

// finish carries the run on, undisturbed, to its end. That takes one command, but for a person's part.
func (s *story) finish() error {
	for range 20 {
		if err := s.verify(); err != nil {
			return err
		}
		args, err := s.next()
		if err != nil || args == nil {
			return err
		}
		if said, code := s.pawl(args...); code != 0 && code != codeAtGate {
			return s.wrong("%v: exit code %d:\n%s", args, code, said)
		}
	}
	return s.wrong("the run does not come to its end")
}

// verify has pawl check everything. Interrupted appends are what a crash leaves; anything else is a violation.
func (s *story) verify() error {
	said, code := s.pawl("verify", "--json")
	var findings []pawl.Finding
	if err := json.Unmarshal([]byte(said), &findings); code != 0 || err != nil {
		return s.wrong("verify: exit code %d, %v: %s", code, err, said)
	}
	for _, f := range findings {
		if f.Level != pawl.OK && !strings.Contains(f.What, "interrupted") {
			return s.wrong("verify: %s: %s: %s %s", f.Level, f.Where, f.What, f.Evidence)
		}
	}
	return nil
}

// outputs returns every file of the project, except pawl's own, with its content.
func (s *story) outputs() (map[string]string, error) { return observed.Files(s.project(), pawlFolder) }

// remove forgets a story in which all was well.
func (s *story) remove() error { return os.RemoveAll(s.dir) }

// role is what a process of a story does.
type role string

const (
	engine     role = "engine"
	supervisor role = "supervisor"
	child      role = "child"
)

// proc is a live process of a story.
type proc struct {
	pid   int
	role  role
	token string // of the attempt; none for an engine
	args  []string
}

// processes returns the live processes of the story, in order of their numbers.
func (s *story) processes() []proc {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []proc
	for _, entry := range entries {
		var pid int
		if _, err := fmt.Sscan(entry.Name(), &pid); err != nil {
			continue
		}
		env := variables(filepath.Join("/proc", entry.Name(), "environ"))
		if env[storyVar] != s.dir { // another's, or gone
			continue
		}
		if p := identify(pid, env); p.args[0] != "strace" {
			found = append(found, p)
		}
	}
	return found
}

// identify says what a process of a story does, by its arguments and its environment.
func identify(pid int, env map[string]string) proc {
	args := strings.Split(strings.TrimRight(readProc(pid, "cmdline"), "\x00"), "\x00")
	p := proc{pid: pid, role: engine, args: args}
	switch {
	case len(args) > 2 && args[1] == supervise.Verb:
		p.role = supervisor
		dir := args[len(args)-1]
		if args[2] == supervise.SlotFlag {
			dir = supervise.AttemptOf(dir, pid)
		}
		var job pawl.Job
		if data, err := os.ReadFile(filepath.Join(dir, pawl.JobFile)); err == nil && json.Unmarshal(data, &job) == nil {
			p.token = string(job.Token)
		}
	case env["PAWL_TOKEN"] != "":
		p.role, p.token = child, env["PAWL_TOKEN"]
	}
	return p
}

func readProc(pid int, name string) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return ""
	}
	return string(data)
}

func variables(path string) map[string]string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	env := map[string]string{}
	for v := range strings.SplitSeq(string(data), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// kill kills a process of the story, remembers the attempt that it hit, and returns 1, or 0 where it was gone already.
// It is stopped first: one that was being forked is itself by then.
func (s *story) kill(p proc) (killed int) {
	if syscall.Kill(p.pid, syscall.SIGSTOP) != nil {
		return 0 // it was faster
	}
	itself := identify(p.pid, variables(fmt.Sprintf("/proc/%d/environ", p.pid)))
	if syscall.Kill(p.pid, syscall.SIGKILL) != nil {
		return 0
	}
	s.tally.kills.Add(1)
	s.tally.suffered("kill " + string(itself.role))
	if s.killed != nil {
		s.killed[itself.token] = true
	}
	return 1
}

// killAll kills every process that the story has at this moment.
func (s *story) killAll() {
	for _, p := range s.processes() {
		s.kill(p)
	}
}

// goneWithin is how long the last processes of a finished run may take to leave the process table.
const goneWithin = 3 * time.Second

// alone checks that no process and no control group of the story is left. Both may take a moment; and where two stories
// go on from one recording, the other may have begun an attempt with the same token.
func (s *story) alone(tokens []string) error {
	for end := time.Now().Add(goneWithin); ; time.Sleep(5 * time.Millisecond) {
		left, groups := s.processes(), observed.ControlGroups(tokens)
		switch late := time.Now().After(end); {
		case len(left)+len(groups) == 0:
			return nil
		case late && len(left) > 0:
			s.tally.left.Add(int64(len(left)))
			return s.wrong("processes left: %v", left)
		case late:
			return s.wrong("control groups left: %v", groups)
		}
	}
}
