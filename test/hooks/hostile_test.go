//go:build linux

// Package hooks calls hooks in hostile places and with hostile payloads, by users whom file permissions hold back.
package hooks

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pawl/internal/agents/agentstest"
	"pawl/test/cases"
	"pawl/test/stories/storytest"
)

// agentNames are those of all agents.
var agentNames = []string{"claude", "codex", "gemini", "opencode", "copilot"}

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// yard is a project in which hooks are called, by somebody whom permissions hold back, also where the tests run as root.
type yard struct {
	*testing.T
	dir, root, home string
	asSelf          bool        // whoever runs the tests calls the hooks
	refused         atomic.Bool // a hook told the user that the project is not trusted
}

// nobody is a user without rights.
const nobody = 65534

func newYard(t *testing.T) *yard {
	t.Helper()
	return newYardOf(t, false)
}

func newYardOf(t *testing.T, asSelf bool) *yard {
	t.Helper()
	dir := t.TempDir()
	y := &yard{T: t, dir: dir, root: filepath.Join(dir, "work"), home: filepath.Join(dir, "home"), asSelf: asSelf}
	var err error
	for _, sub := range []string{y.root, y.home, filepath.Join(y.root, "src")} {
		err = errors.Join(err, os.MkdirAll(sub, 0o755))
	}
	err = errors.Join(err, os.WriteFile(y.path("src", "main.go"), []byte("package main\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { storytest.EndKeepers(y.dir) })
	y.own()
	y.pawl("init")
	return y
}

func (y *yard) path(names ...string) string {
	return filepath.Join(append([]string{y.root}, names...)...)
}

// own gives everything to the user without rights.
func (y *yard) own() {
	y.Helper()
	if os.Geteuid() != 0 || y.asSelf {
		return
	}
	for p := y.dir; len(p) > len(os.TempDir()); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			y.Fatal(err)
		}
	}
	err := filepath.WalkDir(y.dir, func(path string, _ fs.DirEntry, err error) error {
		err = errors.Join(err, os.Lchown(path, nobody, nobody))
		if errors.Is(err, fs.ErrNotExist) { // the process that takes checkpoints has just removed it
			return nil
		}
		return err
	})
	if err != nil {
		y.Fatal(err)
	}
}

// command returns a call of pawl by that user.
func (y *yard) command(args ...string) *exec.Cmd {
	cmd := exec.Command(storytest.Pawl(y.T), args...)
	cmd.Dir = y.root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + y.home, "USER=tester"}
	if os.Geteuid() == 0 && !y.asSelf {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

func (y *yard) pawl(args ...string) string {
	y.Helper()
	out, err := y.command(args...).CombinedOutput()
	if err != nil {
		y.Fatalf("pawl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// payloads returns what an agent sends in a session, one of each sort.
func (y *yard) payloads(name, session string) []agentstest.Shape {
	y.Helper()
	a, err := agentstest.New(name, session, y.root, io.Discard)
	if err != nil {
		y.Fatal(err)
	}
	shapes, err := agentstest.Shapes(name)
	if err != nil {
		y.Fatal(err)
	}
	for i := range shapes {
		if shapes[i].Payload, err = a.Payload(shapes[i].Name, "", nil); err != nil {
			y.Fatal(err)
		}
	}
	return shapes
}

// mostPatience is how long an agent waits for a hook: the shortest of what any of them does.
const mostPatience = 10 * time.Second

// hook calls a hook and checks what every agent demands of it.
func (y *yard) hook(name, event string, payload []byte, change func(*exec.Cmd)) agentstest.Answer {
	y.Helper()
	var out, stderr bytes.Buffer
	cmd := y.command("hook", name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(payload), &out, &stderr
	if change != nil {
		change(cmd)
	}
	begun := time.Now()
	err := cmd.Run()
	if took := time.Since(begun); err != nil || stderr.Len() > 0 || took > mostPatience {
		y.Errorf("%s: %s: %v after %s: %s", name, event, err, took, stderr.Bytes())
	}
	answer, err := agentstest.Read(name, event, out.Bytes())
	if err != nil {
		y.Error(err)
	}
	if strings.Contains(answer.Message, "not trusted") {
		y.refused.Store(true)
	}
	return answer
}

// everything has agents send one payload of each kind: all agents at a time, and each agent one payload after the other, or all.
func (y *yard) everything(agents []string, change func(*exec.Cmd), atOnce bool) {
	y.Helper()
	var all sync.WaitGroup
	for _, name := range agents {
		all.Go(func() {
			for _, s := range y.payloads(name, "s-"+name) {
				call := func() {
					event, _, _ := strings.Cut(s.Name, " ")
					y.hook(name, event, s.Payload, change)
				}
				if atOnce {
					all.Go(call)
				} else {
					call()
				}
			}
		})
	}
	all.Wait()
}

// files returns a digest of everything that is not pawl's.
func (y *yard) files() string {
	y.Helper()
	h := sha256.New()
	err := filepath.WalkDir(y.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".pawl" {
			return errors.Join(err, map[bool]error{true: fs.SkipDir}[d != nil && d.IsDir()])
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, path, info.Mode(), info.Size(), info.ModTime())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			h.Write(data)
			return err
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.SkipDir) {
		y.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// log returns the hooks' log.
func (y *yard) log() string {
	if info, err := os.Lstat(y.path(".pawl", "hook.log")); err == nil && !info.Mode().IsRegular() {
		return ""
	}
	data, err := os.ReadFile(y.path(".pawl", "hook.log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		y.Fatal(err)
	}
	return string(data)
}

// journals returns the paths of all journals that are files.
func (y *yard) journals() []string {
	paths, err := filepath.Glob(y.path(".pawl", "runs", "*", "journal.jsonl"))
	if err != nil {
		y.Fatal(err)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.Mode().IsRegular()
	})
}

func (y *yard) write(content string, names ...string) {
	y.Helper()
	if err := os.WriteFile(y.path(names...), []byte(content), 0o644); err != nil {
		y.Fatal(err)
	}
	y.own()
}

// chmod sets the mode of .pawl and of all in it.
func (y *yard) chmod(folders, files fs.FileMode) {
	y.Helper()
	err := filepath.WalkDir(y.path(".pawl"), func(path string, d fs.DirEntry, err error) error {
		mode := files
		if d != nil && d.IsDir() {
			mode = folders
		}
		return errors.Join(err, os.Chmod(path, mode))
	})
	if err != nil {
		y.Fatal(err)
	}
}

// spoil is something that goes wrong around hooks.
type spoil struct {
	do     func(*yard) (undo func())
	change func(*exec.Cmd) // of each call; nil: none
	log    string          // what the log says then; empty: nothing
	lost   bool            // the project is not whole afterwards
	slow   bool            // every call takes as long as it may
	alien  bool            // nothing shows that the user trusts the project, so hooks tell the user that they do not record
}

// TestHostilePlaces: whatever is wrong with a project, hooks end well and in time, answer what their agents take, leave all
// files alone, and say in the log what it was, where one can be written. When it is mended, they work on.
func TestHostilePlaces(t *testing.T) {
	t.Parallel()
	spoils := map[string]spoil{
		"nothing": {do: func(*yard) func() { return func() {} }},
		"read-only": {do: func(y *yard) func() {
			y.chmod(0o500, 0o400)
			return func() { y.chmod(0o700, 0o600) }
		}},
		"read-only but for the log": {do: func(y *yard) func() {
			y.write("", ".pawl", "hook.log")
			y.chmod(0o500, 0o400)
			if err := os.Chmod(y.path(".pawl", "hook.log"), 0o600); err != nil {
				y.Fatal(err)
			}
			return func() { y.chmod(0o700, 0o600) }
		}, log: "permission denied"},
		"unreadable": {do: func(y *yard) func() {
			if err := os.Chmod(y.path(".pawl"), 0); err != nil {
				y.Fatal(err)
			}
			return func() {
				if err := os.Chmod(y.path(".pawl"), 0o700); err != nil {
					y.Fatal(err)
				}
			}
		}, alien: true},
		"journal read-only": {do: func(y *yard) func() {
			if err := os.Chmod(y.journals()[0], 0o400); err != nil {
				y.Fatal(err)
			}
			return func() {
				if err := os.Chmod(y.journals()[0], 0o600); err != nil {
					y.Fatal(err)
				}
			}
		}, log: "the journal is read-only.*permission denied"},
		"journal locked":                   {do: func(y *yard) func() { return y.lock(y.journals()[0]) }, log: "timed out after", slow: true},
		"journal damaged at its beginning": {do: func(y *yard) func() { return y.damage(20) }, log: "damaged", lost: true},
		"journal damaged at its end":       {do: func(y *yard) func() { return y.damage(-20) }, log: "", lost: true},
		"journal torn": {do: func(y *yard) func() {
			f, err := os.OpenFile(y.journals()[0], os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(`{"seq":9999,"batch":9999,"ti`)
			}
			if err := errors.Join(err, f.Close()); err != nil {
				y.Fatal(err)
			}
			return func() {}
		}},
		"journal gone": {do: func(y *yard) func() {
			if err := os.Remove(y.journals()[0]); err != nil {
				y.Fatal(err)
			}
			return func() {}
		}, lost: true},
		"journal a pipe": {do: func(y *yard) func() {
			path := y.journals()[0]
			if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
				y.Fatal(err)
			}
			y.own()
			return func() {}
		}, lost: true, slow: true},
		"runs gone": {do: func(y *yard) func() {
			if err := os.RemoveAll(y.path(".pawl", "runs")); err != nil {
				y.Fatal(err)
			}
			return func() {}
		}},
		"runs a file": {do: func(y *yard) func() {
			if err := os.RemoveAll(y.path(".pawl", "runs")); err != nil {
				y.Fatal(err)
			}
			y.write("not a folder", ".pawl", "runs")
			return func() {
				if err := os.Remove(y.path(".pawl", "runs")); err != nil {
					y.Fatal(err)
				}
			}
		}, log: "not a directory"},
		"sessions a file": {do: func(y *yard) func() {
			if err := os.RemoveAll(y.path(".pawl", "sessions")); err != nil {
				y.Fatal(err)
			}
			y.write("not a folder", ".pawl", "sessions")
			return func() {
				if err := os.Remove(y.path(".pawl", "sessions")); err != nil {
					y.Fatal(err)
				}
			}
		}, log: "not a directory"},
		"log a pipe": {do: func(y *yard) func() {
			path := y.path(".pawl", "hook.log")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				y.Fatal(err)
			}
			y.own()
			undo := y.damage(20)
			return func() {
				undo()
				if err := os.Remove(path); err != nil {
					y.Fatal(err)
				}
			}
		}, lost: true},
		"project.json damaged": {do: func(y *yard) func() { y.write("{", ".pawl", "project.json"); return func() {} }},
		"project.json damaged, and nobody knows who it is": {do: func(y *yard) func() {
			good, err := os.ReadFile(y.path(".pawl", "project.json"))
			if err := errors.Join(err, os.Rename(y.home, y.home+".gone"), os.Mkdir(y.home, 0o755)); err != nil {
				y.Fatal(err)
			}
			y.write("{", ".pawl", "project.json")
			return func() {
				y.write(string(good), ".pawl", "project.json")
				if err := errors.Join(os.RemoveAll(y.home), os.Rename(y.home+".gone", y.home)); err != nil {
					y.Fatal(err)
				}
			}
		}, alien: true},
		"project.json gone, and its lock taken": {do: func(y *yard) func() {
			if err := os.Remove(y.path(".pawl", "project.json")); err != nil {
				y.Fatal(err)
			}
			return y.lock(y.path(".pawl", "edit.lock"))
		}, slow: true},
		"settings broken": {do: func(y *yard) func() {
			y.write("snapshots: {quota: much}\nno: [", ".pawl", "config.yaml")
			return func() {
				if err := os.Remove(y.path(".pawl", "config.yaml")); err != nil {
					y.Fatal(err)
				}
			}
		}, log: "config.yaml"},
		"snapshots a file": {do: func(y *yard) func() {
			storytest.EndKeepers(y.dir)
			if err := os.RemoveAll(y.path(".pawl", "snapshots")); err != nil {
				y.Fatal(err)
			}
			y.write("not a folder", ".pawl", "snapshots")
			return func() {
				if err := os.Remove(y.path(".pawl", "snapshots")); err != nil {
					y.Fatal(err)
				}
			}
		}, lost: true},
		"no home":        {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) { c.Env = []string{"PATH=" + os.Getenv("PATH")} }, alien: true},
		"no environment": {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) { c.Env = []string{} }, alien: true},
		"home a project": {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) { c.Env = append(c.Env, "HOME="+c.Dir) }},
		"folder gone": {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) {
			gone, err := os.MkdirTemp(filepath.Dir(c.Dir), ".gone-") // of the shell that calls us
			if err == nil {
				err = os.Chmod(gone, 0o755)
			}
			if err != nil {
				panic(err)
			}
			c.Path, c.Args, c.Dir = "/bin/sh", append([]string{"sh", "-c", `rmdir "$PWD" && exec "$0" "$@"`}, c.Args...), gone
			if os.Geteuid() == 0 {
				if err := os.Chown(gone, nobody, nobody); err != nil {
					panic(err)
				}
			}
		}},
		"few files": {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) {
			c.Args = append([]string{"sh", "-c", `ulimit -f 0; exec "$0" "$@"`, c.Path}, c.Args[1:]...)
			c.Path = "/bin/sh"
		}, log: ""},
	}
	for i, name := range slices.Sorted(maps.Keys(spoils)) {
		s := spoils[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.everything(agentNames[:1], nil, false)
			if said := y.log(); said != "" {
				t.Fatalf("without need:\n%s", said)
			}
			before := y.files()
			undo := s.do(y)
			y.everything(append(agentNames[:1:1], cases.Some(agentNames[1:], i, 1)...), s.change, s.slow)
			if said := y.log(); s.log != "" && !regexp.MustCompile(s.log).MatchString(said) {
				t.Errorf("the log says\n%s", said)
			}
			if y.refused.Load() != s.alien {
				t.Errorf("told the user that the project is not trusted: %v", !s.alien)
			}
			undo()
			if after := y.files(); name != "home a project" && after != before {
				t.Error("files were changed that are not pawl's")
			}
			if !t.Failed() {
				y.works(!s.lost)
			}
		})
	}
}

// works checks that hooks do what they are for, in a new session.
func (y *yard) works(whole bool) {
	y.Helper()
	session := fmt.Sprint("works-", time.Now().UnixNano())
	for _, s := range y.payloads("claude", session) {
		event, _, _ := strings.Cut(s.Name, " ")
		y.hook("claude", event, s.Payload, nil)
	}
	if !slices.ContainsFunc(y.journals(), func(path string) bool {
		data, err := os.ReadFile(path)
		return err == nil && bytes.Contains(data, []byte(session))
	}) {
		y.Errorf("it was not journaled; the log says:\n%s", y.log())
	}
	if whole && !strings.Contains(y.pawl("verify"), " 0 faults") {
		y.Error("it is not whole")
	}
}

// lock holds a lock for ever, until undone.
func (y *yard) lock(path string) (undo func()) {
	y.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		y.Fatal(err)
	}
	return func() {
		if err := file.Close(); err != nil {
			y.Fatal(err)
		}
	}
}

// damage changes a byte of the journal.
func (y *yard) damage(at int) (undo func()) {
	y.Helper()
	path := y.journals()[0]
	data, err := os.ReadFile(path)
	if err != nil {
		y.Fatal(err)
	}
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		y.Fatal(err)
	}
	return func() {}
}

// TestHostilePayloads: whatever comes on standard input, or does not, and wherever standard output leads, hooks end well and in
// time, answer what their agents take, and journal what can be used.
func TestHostilePayloads(t *testing.T) {
	t.Parallel()
	before := func(command string) []byte {
		a, err := agentstest.New("claude", "s", "", io.Discard) // where it works, the process tells
		if err != nil {
			t.Fatal(err)
		}
		payload, err := a.Payload("PreToolUse", "", map[string]any{"tool_input": map[string]any{"command": command}, "tool_use_id": command[:min(len(command), 9)]})
		if err != nil {
			t.Fatal(err)
		}
		return payload
	}
	small := before("echo small")
	for name, c := range map[string]struct {
		payload []byte
		change  func(*exec.Cmd)
		kept    string // what is journaled of it; empty: nothing
		log     string
	}{
		"4 MB":                {payload: before("echo " + strings.Repeat("ten ", 4<<18)), kept: "echo ten ten"},
		"4 MB in one word":    {payload: before("echo eleven" + strings.Repeat("n", 4<<20)), kept: "echo elevennn"},
		"20 MB":               {payload: before("echo " + strings.Repeat("twenty ", 3<<20)), log: "payload is larger than 16777216 bytes"},
		"broken":              {payload: small[:len(small)-9], log: "read the payload: unexpected EOF"},
		"nothing":             {payload: nil, log: "read the payload: EOF"},
		"spaces":              {payload: []byte(" \n\n"), log: "read the payload: EOF"},
		"another's":           {payload: []byte("\x00\xff\xfe<xml>"), log: "read the payload: invalid character"},
		"a list":              {payload: []byte("[1,2]"), log: "cannot unmarshal array"},
		"deep":                {payload: []byte(strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)), log: "exceeded max depth"},
		"odd names":           {payload: before("echo odd \x00\u2028\n\t\x1b[31m ../../etc"), kept: "echo odd"},
		"a session of a path": {payload: bytes.ReplaceAll(before("echo path"), []byte(`"session_id":"s"`), []byte(`"session_id":"../../../../tmp/x"`)), kept: "echo path"},
		"a long session":      {payload: bytes.ReplaceAll(before("echo long"), []byte(`"session_id":"s"`), []byte(`"session_id":"`+strings.Repeat("s", 1<<20)+`"`)), log: "PreToolUse"},
		"a long call":         {payload: bytes.ReplaceAll(before("echo call"), []byte(`"tool_use_id":"echo call"`), []byte(`"tool_use_id":"`+strings.Repeat("c", 1<<20)+`"`)), log: "PreToolUse"},
		"never ends": {payload: nil, log: "timed out after 5s", change: func(c *exec.Cmd) {
			r, _ := neverEnds(t)
			c.Stdin = r
		}},
		"never ends, but all is said": {payload: nil, kept: "echo said", change: func(c *exec.Cmd) {
			r, w := neverEnds(t)
			if _, err := w.Write(before("echo said")); err != nil {
				t.Error(err)
			}
			c.Stdin = r
		}},
		"no input": {payload: nil, log: "read the payload:", change: func(c *exec.Cmd) {
			c.Args = append([]string{"sh", "-c", `exec "$0" "$@" <&-`, c.Path}, c.Args[1:]...)
			c.Path = "/bin/sh"
		}},
		"no output": {payload: small, kept: "echo small", change: func(c *exec.Cmd) {
			c.Args = append([]string{"sh", "-c", `exec "$0" "$@" >&-`, c.Path}, c.Args[1:]...)
			c.Path = "/bin/sh"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.hook("claude", "PreToolUse", c.payload, c.change)
			var journal string
			for _, path := range y.journals() {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				journal += string(data)
			}
			if !strings.Contains(journal, c.kept) || c.kept == "" && strings.Contains(journal, "operation.begun") {
				t.Errorf("journaled:\n%.2000s\nlog:\n%s", journal, y.log())
			}
			if said := y.log(); !strings.Contains(said, c.log) || (c.log == "") != (said == "") {
				t.Errorf("the log says\n%.1000s", said)
			}
			y.works(true)
		})
	}
}

// TestLongPayload sends more than a hook accepts. The hook reads all of it, because a closed pipe would kill some agents.
func TestLongPayload(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	cmd := y.command("hook", "gemini")
	var out bytes.Buffer
	cmd.Stdout = &out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"hook_event_name":"PreToolUse","prompt":"`+strings.Repeat("x", 17<<20)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil || out.String() != "{}\n" {
		t.Errorf("printed %q: %v", &out, err)
	}
	if said := y.log(); !strings.Contains(said, "payload is larger than") {
		t.Errorf("the log says\n%s", said)
	}
}

// neverEnds returns a pipe that stays open.
func neverEnds(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// TestBrokenPipe: an agent that does not wait for what it started a hook for kills nobody, and loses nothing.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for _, s := range y.payloads("gemini", "s") {
		r, w := neverEnds(t)
		cmd := y.command("hook", "gemini")
		cmd.Stdin, cmd.Stdout = bytes.NewReader(s.Payload), w
		if err := errors.Join(r.Close(), cmd.Run()); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if said := y.log(); !strings.Contains(said, "broken pipe") {
		t.Errorf("the log says\n%s", said)
	}
	y.works(true)
}
