package hook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/agents/agentstest"
	"pawl/internal/hook"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// keeperLife is how long the process lives that takes checkpoints in these tests. The real one waits longer for work.
const keeperLife = 2 * time.Second

// TestMain runs the tests. The hooks of a test start this program again as the process that takes checkpoints.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == hook.KeeperVerb {
		ctx, cancel := context.WithTimeout(context.Background(), keeperLife)
		defer cancel()
		hook.Keep(ctx, os.Args[2])
		return
	}
	os.Exit(withHome(m))
}

// withHome runs the tests with a home of their own, which is also the working folder: the sources may lie in a project.
func withHome(m *testing.M) int {
	home, err := os.MkdirTemp("", "pawl-hook-")
	if err == nil {
		err = errors.Join(os.Setenv("HOME", home), os.Setenv("XDG_STATE_HOME", home), os.Chdir(home))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	return m.Run()
}

// agentNames are those of all agents.
var agentNames = []string{"claude", "codex", "gemini", "opencode", "copilot"}

// secret is the value of a variable that no file of a project may hold.
const secret = "vX93kLqPz7wM2rTs"

// yard is a project in which hooks are called.
type yard struct {
	*testing.T
	*project.Project
	env    []string
	parent int // the process that calls the hooks. Defaults to the parent of the test
}

// newYard makes a project. No checkpoints are taken in it: the test holds the lock of the process that would take them.
func newYard(t *testing.T) *yard {
	t.Helper()
	y := newYardWithKeeper(t)
	lock, err := y.LockCheckpointer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
	return y
}

func newYardWithKeeper(t *testing.T) *yard {
	t.Helper()
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &yard{T: t, Project: p, env: []string{"PATH=" + os.Getenv("PATH"), "DEPLOY_TOKEN=" + secret}}
}

// write writes a file of the project.
func (y *yard) write(name, content string) {
	y.Helper()
	if err := os.WriteFile(filepath.Join(y.Root, name), []byte(content), 0o600); err != nil {
		y.Fatal(err)
	}
}

// agent returns an agent that works in the project.
func (y *yard) agent(name, session string) *agentstest.Agent {
	y.Helper()
	a, err := agentstest.New(name, session, y.Root, io.Discard)
	if err != nil {
		y.Fatal(err)
	}
	return a
}

// call calls a hook with an example of what an agent sends, changed by set, and returns what the agent makes of the answer.
func (y *yard) call(a *agentstest.Agent, example, sub string, set map[string]any) agentstest.Answer {
	y.Helper()
	payload, err := a.Payload(example, sub, set)
	if err != nil {
		y.Fatal(err)
	}
	return y.send(a.Name, example, payload)
}

// send calls a hook with a payload. It fails the test if the agent would not accept the answer.
func (y *yard) send(agent, example string, payload []byte) agentstest.Answer {
	y.Helper()
	var out bytes.Buffer
	hook.Run(y.Context(), agent, bytes.NewReader(payload), &out, hook.Config{Environ: y.env, Version: "test", Parent: y.parent})
	event, _, _ := strings.Cut(example, " ")
	answer, err := agentstest.Read(agent, event, out.Bytes())
	if err != nil {
		y.Error(err)
	}
	return answer
}

// runs returns the ids of the project's runs.
func (y *yard) runs() []pawl.RunID {
	y.Helper()
	ids, err := journal.Runs(y.Runs())
	if err != nil {
		y.Fatal(err)
	}
	return ids
}

// events returns the events of all runs, run by run.
func (y *yard) events() []pawl.Event {
	y.Helper()
	var all []pawl.Event
	for _, run := range y.runs() {
		log, err := journal.Open(y.Runs(), run)
		if err != nil {
			y.Fatal(err)
		}
		for e, err := range log.Events(0) {
			if err != nil {
				y.Fatal(err)
			}
			all = append(all, e)
		}
		if err := log.Close(); err != nil {
			y.Fatal(err)
		}
	}
	return all
}

// after returns the types of the events beyond the first n.
func (y *yard) after(n int) []pawl.EventType {
	y.Helper()
	var types []pawl.EventType
	for _, e := range y.events()[n:] {
		types = append(types, e.Type)
	}
	return types
}

// last returns the payload of the newest event of a type.
func last[P pawl.Payload](y *yard) P {
	y.Helper()
	var none P
	for _, e := range slices.Backward(y.events()) {
		if e.Type == none.Event() {
			payload, err := e.Payload()
			if err != nil {
				y.Fatal(err)
			}
			return payload.(P)
		}
	}
	y.Fatalf("no event %s", none.Event())
	return none
}

// noted returns the hook log.
func (y *yard) noted() string {
	y.Helper()
	data, err := os.ReadFile(y.HookLog())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		y.Fatal(err)
	}
	return string(data)
}

// files returns the paths and contents of all files below a folder.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		found[path] = d.Type().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			found[path] += string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
