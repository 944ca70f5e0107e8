package kills

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/test/stories/storytest"
)

// agentPlan has an agent add a line to a ledger outside the project, once.
const agentPlan = `name: demo
steps:
  - id: write
    agent: {use: %s, prompt: Write.}
    accept: {once: test "$(cat ../ledger)" = written}
    retry: {attempts: 2, backoff: 10ms}
`

// agentScript writes a file unless a previous attempt has written it.
const agentScript = "say I begin; cost 0.5 7; run grep -q written ../ledger || echo written >> ../ledger; finish Written."

// TestAgentDiesAnywhere kills the runner of an agent's step at the calls that change the disk. The next attempt resumes the agent's
// session if its id is known. So there is only one session, unless the agent chose the id and the runner died before recording it.
func TestAgentDiesAnywhere(t *testing.T) {
	t.Parallel()
	binary := storytest.Build(t, "faults")
	for kind, agent := range []string{"claude", "codex"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			last, lost := 0, 0
			for n := range disktest.FaultPoints(kind, 2, math.MaxInt) {
				s := &agentStory{T: t, dir: t.TempDir(), binary: binary}
				calls := s.path("calls")
				s.write("project/plan.yaml", fmt.Sprintf(agentPlan, agent))
				s.write("fake/script", agentScript)
				s.write("ledger", "")
				said := s.pawl([]string{disktest.FaultVar + fmt.Sprintf("=die:%d", n), disktest.FaultOnly + "=agent-step", disktest.FaultCount + "=" + calls}, "run", "plan.yaml")
				if info, err := os.Stat(calls); err != nil || info.Size() < int64(n) {
					break
				}
				last = n
				if !strings.Contains(said, "attempt 1 failed: ended by SIGKILL, not by pawl") {
					t.Errorf("%s, call %d: not killed:\n%s", agent, n, said)
				}
				most := 1
				if agent == "codex" && !s.recorded() {
					most = 2
				}
				s.audit(fmt.Sprintf("%s, call %d", agent, n), most)
				lost += most - 1
			}
			if last < 7 || lost > last/3 {
				t.Errorf("%s: the last call that was hit is %d; %d sessions were not recorded", agent, last, lost)
			}
		})
	}
}

// agentStory is a project with an agent.
type agentStory struct {
	*testing.T
	dir, binary string
}

func (s *agentStory) path(name string) string { return filepath.Join(s.dir, name) }

func (s *agentStory) write(name, text string) {
	s.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *agentStory) read(name string) string {
	data, _ := os.ReadFile(s.path(name)) // what is not there says nothing
	return string(data)
}

// recorded reports whether the first attempt recorded its session.
func (s *agentStory) recorded() bool {
	files, err := filepath.Glob(s.path("project/.pawl/runs/*/steps/write/1/" + pawl.EventsFile))
	if err != nil || len(files) > 1 {
		s.Fatal(files, err)
	}
	if len(files) == 0 {
		return false
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		s.Fatal(err)
	}
	return bytes.Contains(data, []byte(`"conversation"`))
}

// pawl runs a command that must succeed.
func (s *agentStory) pawl(fault []string, args ...string) string {
	s.Helper()
	cmd := exec.Command(s.binary, args...)
	cmd.Dir = s.path("project")
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "USER=tester", "FAKE_AGENT="+s.path("fake"),
		"PATH="+storytest.Agents()+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, fault...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("pawl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

var startedSession = regexp.MustCompile(`"session":"([^"]*)","resume":(true|false)`)

// audit: the work was done once, in so many sessions at most, and the journal knows each that was asked for.
func (s *agentStory) audit(where string, most int) {
	s.Helper()
	if ledger := s.read("ledger"); ledger != "written\n" {
		s.Errorf("%s: the ledger is %q", where, ledger)
	}
	log := s.pawl(nil, "log", "--json")
	sessions, _ := os.ReadDir(s.path("fake/sessions"))
	if len(sessions) > most {
		s.Errorf("%s: %d sessions\n%s", where, len(sessions), log)
	}
	for _, start := range startedSession.FindAllStringSubmatch(s.read("fake/starts.jsonl"), -1) {
		if start[1] != "" && !strings.Contains(log, `"id":"`+start[1]+`"`) {
			s.Errorf("%s: the journal does not know session %s", where, start[1])
		}
	}
	if said := s.pawl(nil, "verify"); !strings.Contains(said, " 0 faults") {
		s.Errorf("%s: verify: %s", where, said)
	}
}
