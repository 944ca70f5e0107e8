// Package storytest runs stories: testscript files that use the real program, real processes and real signals.
//
// A package of stories has a folder testdata with one story per file, and a test file that calls Main and Run. Main also
// plays the fake agents: the test binary is linked under their names. After each story, none of its processes may still
// run. Tests that need the program without stories call Pawl or Build.
package storytest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pawl/internal/agents/agentstest"
	"pawl/internal/agents/headless/headlesstest"
)

var update = flag.Bool("update", false, "rewrite the expected outputs of stories and documents")

// Update reports whether the tests run with -update: they rewrite the expected outputs instead of comparing them.
func Update() bool { return *update }

// FakeAgent is the name under which the test binary is a coding agent without a model: fake-agent AGENT SESSION SCRIPT.
const FakeAgent = "fake-agent"

// programs is the folder on the PATH of stories. Main creates and removes it.
var programs string

// Agents returns the folder with the agents that headlesstest plays.
func Agents() string { return filepath.Join(programs, "agents") }

// Main runs the tests of a package, or plays a fake agent if the test binary was started under the name of one. It
// returns the exit code.
func Main(m *testing.M) int {
	if headlesstest.Plays(os.Args[0]) {
		return headlesstest.Main(os.Args)
	}
	if filepath.Base(os.Args[0]) == FakeAgent {
		return playAgent(os.Args[1:])
	}
	flag.Parse()
	if err := errors.Join(setParallel(), recordCoverage(), makePrograms()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	return m.Run()
}

// storiesPerCore is how many stories of a package run at a time on each core, unless -parallel says otherwise. Stories
// mostly wait for processes.
const storiesPerCore = 2

func setParallel() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(storiesPerCore*runtime.GOMAXPROCS(0)))
}

// recordCoverage makes all processes that inherit the environment write their coverage data into the folder of coverVar.
func recordCoverage() error {
	if dir := os.Getenv(coverVar); dir != "" {
		return os.Setenv("GOCOVERDIR", dir)
	}
	return nil
}

// makePrograms makes the folder of programs, without pawl itself.
func makePrograms() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if programs, err = os.MkdirTemp("", "pawl-stories-"); err != nil {
		return err
	}
	if err := os.Chmod(programs, 0o755); err != nil { // some tests run pawl as another user
		return err
	}
	if err := os.Symlink(self, filepath.Join(programs, FakeAgent)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(programs, "mortal"), []byte(mortal), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(Agents(), 0o700); err != nil {
		return err
	}
	return headlesstest.Install(Agents(), self)
}

// playAgent does what fake-agent was started for.
func playAgent(args []string) int {
	if len(args) > 1 && args[0] == CallWithout {
		return callClean(strings.Split(args[1], ","), args[2:])
	}
	if len(args) == 3 && args[0] == Webhook {
		return serveWebhook(args[1], args[2])
	}
	if err := agentstest.Main(context.Background(), args, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fake-agent:", err)
		return 1
	}
	return 0
}

// CallWithout makes the fake agent start a program without some of the agent's own variables.
const CallWithout = "-call-without"

func callClean(names, args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "fake-agent:", err)
		return 1
	}
	return 0
}

// mortal runs a program as a user to whom file permissions apply: root too, without the right to override them.
const mortal = `#!/bin/sh
[ "$(id -u)" = 0 ] || exec "$@"
exec setpriv --bounding-set=-dac_override,-dac_read_search "$@"
`

// Run runs the stories in testdata, several at a time.
func Run(t *testing.T) { RunWith(t, func(*testscript.Env) error { return nil }, nil) }

// RunWith is Run with more to set up for each story, and more commands.
func RunWith(t *testing.T, more func(*testscript.Env) error, extra map[string]func(*testscript.TestScript, bool, []string)) {
	pawl := Pawl(t)
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"start":   start,
		"finish":  finish,
		"waitfor": waitFor,
		"signal":  sendSignal,
		"alive":   checkAlive,
		"capture": capture,
		"code":    exitCode,
		"json":    checkJSON,
		"reseal":  reseal,
	}
	maps.Copy(commands, terminalCommands)
	maps.Copy(commands, extra)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		Setup:               func(env *testscript.Env) error { return errors.Join(setUp(env, filepath.Dir(pawl)), more(env)) },
		Cmds:                commands,
		Condition:           condition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
	})
}

// setUp gives a story its environment and a home.
func setUp(env *testscript.Env, programs string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, "home")
	for name, value := range map[string]string{
		"PATH":   programs + string(os.PathListSeparator) + env.Getenv("PATH"),
		"AGENTS": Agents(), "EXAMPLES": filepath.Join(root, "examples"), "FAKE_AGENT": filepath.Join(env.WorkDir, "fake"),
		"HOME": home, "USER": "tester", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "TZ": "UTC",
		"PAWL_STATE": env.WorkDir + "-state", // beside the story's folder, which is a project
	} {
		env.Setenv(name, value)
	}
	if dir := os.Getenv(coverVar); dir != "" {
		env.Setenv("GOCOVERDIR", dir)
	}
	env.Values[storyKey{}] = &story{env: env, programs: programs, started: map[string]*program{}}
	env.Defer(func() { leftBehind(env) })
	return os.MkdirAll(home, 0o755)
}
