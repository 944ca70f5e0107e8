package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stage is a fresh project, a home and what is outside of both, for one tool and one scenario.
type stage struct {
	ctx     context.Context
	dir     string
	self    string // this program
	tool    tool
	environ []string
	last    string // the id of the newest session
	alive   []*exec.Cmd
	inputs  []*os.File
}

func (s *stage) project() string { return filepath.Join(s.dir, "project") }
func (s *stage) home() string    { return filepath.Join(s.dir, "home") }
func (s *stage) half() string    { return filepath.Join(s.dir, "outside", "half") }

// halfway is a program for the commands of scenarios. It marks the middle of a command and never ends.
const halfway = "#!/bin/sh\n: > \"$RESUMEBENCH_HALF\"\nsleep 600\n"

// newStage makes the folders and a git repository with one commit, and runs the tool's setup.
func newStage(ctx context.Context, dir, self string, t tool, sc scenario) (*stage, error) {
	s := &stage{ctx: ctx, dir: dir, self: self, tool: t}
	bin := filepath.Join(dir, "bin")
	for _, folder := range []string{s.project(), s.home(), filepath.Dir(s.half()), bin, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "halfway"), []byte(halfway), 0o700); err != nil {
		return nil, err
	}
	s.environ = []string{
		"PATH=" + strings.Join([]string{bin, t.path, os.Getenv("PATH")}, string(os.PathListSeparator)),
		"HOME=" + s.home(), "TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
		"RESUMEBENCH=" + self, "RESUMEBENCH_HALF=" + s.half(), "RESUMEBENCH_PROJECT=" + s.project(),
	}
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, "RESUMEBENCH_") { // variables for the commands of tools
			s.environ = append(s.environ, variable)
		}
	}
	if err := s.furnish(sc.Files); err != nil {
		return nil, err
	}
	_, err := s.tool.run(s, "setup")
	return s, err
}

// furnish writes the files of the project, and commits them.
func (s *stage) furnish(files map[string]string) error {
	all := map[string]string{"README.md": "# A project\n"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(s.project(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return s.shell("git init --quiet --initial-branch main && git add . && git commit --quiet --message begin")
}

// shell runs a command of a person in the project.
func (s *stage) shell(command string) error {
	cmd := exec.CommandContext(s.ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = s.project(), s.environ
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return nil
}

// play runs an agent's session until its end, its death or, if it stays, the end of its script.
func (s *stage) play(n int, one session) error {
	if one.Outside != "" {
		if err := s.shell(one.Outside); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(s.half()); err != nil {
		return err
	}
	if !one.Resumes {
		s.last = newID()
	}
	ready := filepath.Join(s.dir, "outside", fmt.Sprintf("ready-%d", n))
	data, err := json.Marshal(script{Session: one, ID: s.last, Project: s.project(), Home: s.home(), Half: s.half(), Ready: ready, Environ: s.environ})
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, "outside", fmt.Sprintf("script-%d.json", n))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	return s.agent(path, ready, one)
}

// agent runs the process of an agent.
func (s *stage) agent(path, ready string, one session) error {
	cmd := exec.CommandContext(s.ctx, s.self, agentVerb, path)
	cmd.Dir, cmd.Env = filepath.Join(s.project(), one.Folder), s.environ
	var complaint bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &complaint, time.Second
	if one.End == stays {
		in, out, err := os.Pipe()
		if err != nil {
			return err
		}
		defer in.Close()
		cmd.Stdin, cmd.Stderr = in, nil
		s.alive, s.inputs = append(s.alive, cmd), append(s.inputs, out)
		if err := cmd.Start(); err != nil {
			return err
		}
		return awaitFile(s.ctx, ready)
	}
	err := cmd.Run()
	if killed(err) != deadly(one) {
		return fmt.Errorf("the agent of %s: %w: %s", path, errors.Join(errors.New("it did not end as its script says"), err), complaint.String())
	}
	return nil
}

// killed reports whether a process ended by SIGKILL.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// deadly reports whether an agent dies in its session.
func deadly(s session) bool { return s.End == dies || anyDies(s.Does) }

func anyDies(all []event) bool {
	for _, e := range all {
		if e.Dies != "" || anyDies(e.Parallel) || e.Agent != nil && anyDies(e.Agent.Does) {
			return true
		}
	}
	return false
}

// text returns the text for a new session, and how long it took: the context from the hooks of its start and of its first prompt, and the
// output of the tool's command.
func (s *stage) text() (string, time.Duration, error) {
	h, err := readHooks(s.project(), s.home(), s.environ)
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	id := newID()
	base := map[string]any{"session_id": id, "transcript_path": transcriptPath(s.home(), s.project(), id), "cwd": s.project(), "permission_mode": "default"}
	var texts []string
	for _, more := range []map[string]any{
		{"hook_event_name": "SessionStart", "source": "startup", "model": "scripted"},
		{"hook_event_name": "UserPromptSubmit", "prompt": firstPrompt},
	} {
		for key, value := range base {
			more[key] = value
		}
		added, err := h.run(s.ctx, more)
		if err != nil {
			return "", 0, err
		}
		texts = append(texts, added)
	}
	printed, err := s.tool.run(s, "text")
	return strings.TrimSpace(strings.Join(append(texts, printed), "\n")), time.Since(began), err
}

// firstPrompt is the prompt of the new session.
const firstPrompt = "Where were we?"

// close ends leftover processes of agents, and removes the folders.
func (s *stage) close() error {
	for i, cmd := range s.alive {
		_ = s.inputs[i].Close()
		_ = cmd.Wait()
	}
	groups, err := os.ReadFile(filepath.Join(filepath.Dir(s.half()), "groups"))
	if err == nil {
		for line := range strings.FieldsSeq(string(groups)) {
			if pid, err := strconv.Atoi(line); err == nil {
				_ = syscall.Kill(-pid, syscall.SIGKILL)
			}
		}
	}
	return s.remove()
}

// remove removes the folders. Background processes of a tool may write into them meanwhile.
func (s *stage) remove() error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	err := os.RemoveAll(s.dir)
	for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); err = os.RemoveAll(s.dir) {
		<-tick.C
	}
	return err
}
