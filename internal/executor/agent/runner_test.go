//go:build linux

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/agents/headless/headlesstest"
	"pawl/internal/brief"
)

// The test binary is also the runner, and the agents.
func TestMain(m *testing.M) {
	if headlesstest.Plays(os.Args[0]) {
		os.Exit(headlesstest.Main(os.Args))
	}
	if len(os.Args) == 2 && os.Args[1] == Verb {
		os.Exit(runner())
	}
	os.Exit(m.Run())
}

func runner() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := Runner{Out: os.Stdout, Err: os.Stderr, Brief: func(context.Context, pawl.AgentName) (brief.Brief, error) {
		if os.Getenv("NO_BRIEF") != "" {
			return brief.Brief{}, errors.New("the journal is damaged")
		}
		return brief.Brief{Text: "# Brief"}, nil
	}}
	status, err := r.Run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 130
	}
	fmt.Println("status", status)
	return 0
}

// stage is an attempt's folder, with a fake agent.
type stage struct {
	*testing.T
	dir string
	env []string
}

func newStage(t *testing.T, script string, action pawl.AgentAction) *stage {
	t.Parallel()
	s := &stage{T: t, dir: t.TempDir()}
	self, err := os.Executable()
	s.must(err)
	s.must(os.Mkdir(s.path("agents"), 0o700))
	s.must(headlesstest.Install(s.path("agents"), self))
	s.must(os.WriteFile(s.path("script"), []byte(script), 0o600))
	job := pawl.Job{AttemptRef: pawl.AttemptRef{Step: "write", Attempt: 1}, Agent: &action, Dir: s.dir, Timeout: pawl.Duration(time.Hour)}
	data, err := json.Marshal(job)
	s.must(err)
	s.must(os.WriteFile(s.path(pawl.JobFile), data, 0o600))
	s.env = append(os.Environ(), "PATH="+s.path("agents")+":"+os.Getenv("PATH"), "FAKE_AGENT="+s.dir, "PAWL_ATTEMPT_DIR="+s.dir,
		"PAWL_EVENTS="+s.path(pawl.EventsFile), "PAWL_RESULT="+s.path(pawl.ResultFile), "PAWL_STEP=write", "GORACE=atexit_sleep_ms=0")
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// start starts the runner.
func (s *stage) start(more ...string) (*exec.Cmd, *bytes.Buffer) {
	self, err := os.Executable()
	s.must(err)
	cmd := exec.Command(self, Verb)
	cmd.Env, cmd.Dir = append(s.env, more...), s.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	s.must(cmd.Start())
	return cmd, &out
}

func (s *stage) result() pawl.Result {
	s.Helper()
	data, err := os.ReadFile(s.path(pawl.ResultFile))
	s.must(err)
	r, err := pawl.ParseResult(data)
	s.must(err)
	return r
}

func (s *stage) starts() []headlesstest.Start {
	data, err := os.ReadFile(s.path("starts.jsonl"))
	s.must(err)
	var all []headlesstest.Start
	for line := range strings.Lines(string(data)) {
		var one headlesstest.Start
		s.must(json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}

// until waits until something is so.
func (s *stage) until(what string, so func() bool) {
	s.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatal("waited in vain for " + what)
		}
	}
}

// A runner that is interrupted, as by its supervisor, ends with its agent, and claims nothing.
func TestInterrupted(t *testing.T) {
	s := newStage(t, "cost 1 5; run true; hang", pawl.AgentAction{Use: pawl.GeminiCLI, Prompt: "Write."})
	cmd, out := s.start()
	s.until("the agent", func() bool { _, err := os.Stat(s.path("hangs")); return err == nil })
	pid, err := os.ReadFile(s.path("hangs"))
	s.must(err)
	agent, err := strconv.Atoi(string(pid))
	s.must(err)
	s.must(syscall.Kill(agent, syscall.SIGINT)) // the supervisor signals everyone
	s.must(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(s.path(pawl.ResultFile)); err == nil {
		t.Error("it says how it ended")
	}
}

// stubborn leaves a process behind, in a new session, that ignores SIGTERM.
const stubborn = `setsid sh -c 'trap "" TERM; echo $$ > pid; while :; do sleep 0.1; done' >/dev/null 2>&1 &
until test -s pid; do sleep 0.01; done
`

// Between two turns nothing is left of what the first one started, however it resists.
func TestLeftovers(t *testing.T) {
	s := newStage(t, "run sh stubborn.sh; full\nrun kill -0 $(cat pid) 2>/dev/null && touch lives; finish",
		pawl.AgentAction{Use: pawl.ClaudeCode, Prompt: "Write."})
	s.must(os.WriteFile(s.path("stubborn.sh"), []byte(stubborn), 0o600))
	cmd, out := s.start()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(s.path("lives")); err == nil || s.result().Status != pawl.ResultDone {
		t.Errorf("what the first turn started lives in the second: %v, %s", err, out)
	}
	if starts := s.starts(); starts[0].Briefed || !starts[1].Briefed {
		t.Errorf("whether the prompt has the brief: %v, %v", starts[0].Briefed, starts[1].Briefed)
	}
}

// If there is no brief, a fresh session's prompt says so. If the disk is full, the agent keeps working.
func TestWithout(t *testing.T) {
	s := newStage(t, "full\nfinish Done.", pawl.AgentAction{Use: pawl.ClaudeCode, Prompt: "Write."})
	cmd, out := s.start("NO_BRIEF=1", "PAWL_EVENTS="+s.path("none/events.jsonl"))
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "none/events.jsonl: no such file or directory") {
		t.Fatalf("%v: %s", err, out)
	}
	starts := s.starts()
	if r := s.result(); r.Status != pawl.ResultDone || r.Summary != "Done." || len(starts) != 2 {
		t.Errorf("%+v, %d starts", r, len(starts))
	}
	if prompt := starts[1].Prompt; !strings.Contains(prompt, "The brief is not available: the journal is damaged") || starts[1].Briefed {
		t.Errorf("told %s", prompt)
	}
}

// Prompts of any length and with anything in them arrive.
func TestPrompt(t *testing.T) {
	for _, name := range pawl.AgentNames[:5] {
		t.Run(string(name), func(t *testing.T) {
			prompt := "-- \"'`$HOME\n/help @file " + strings.Repeat("ä", 300<<10)
			s := newStage(t, "finish", pawl.AgentAction{Use: name, Prompt: prompt})
			cmd, out := s.start()
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := s.starts()[0].Prompt; !strings.HasPrefix(got, prompt) {
				t.Errorf("%d bytes arrived", len(got))
			}
		})
	}
}
