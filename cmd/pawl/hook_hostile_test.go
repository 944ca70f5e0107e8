//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/internal/agents/agentstest"
)

// agentNames are those of all agents.
var agentNames = []string{"claude", "codex", "gemini", "opencode", "copilot"}

// yard is a project in which hooks are called, by somebody whom permissions hold back, also where the tests run as root.
type yard struct {
	*testing.T
	dir, root, bin, home string
}

// nobody is a user without rights.
const nobody = 65534

func newYard(t *testing.T) *yard {
	t.Helper()
	dir := t.TempDir()
	y := &yard{T: t, dir: dir, root: filepath.Join(dir, "work"), bin: filepath.Join(dir, "pawl"), home: filepath.Join(dir, "home")}
	data, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(y.bin, data, 0o755)
	}
	for _, sub := range []string{y.root, y.home, filepath.Join(y.root, "src")} {
		err = errors.Join(err, os.MkdirAll(sub, 0o755))
	}
	err = errors.Join(err, os.WriteFile(y.path("src", "main.go"), []byte("package main\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endKeepers(y.dir) })
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
	if os.Geteuid() != 0 {
		return
	}
	for p := y.dir; len(p) > len(os.TempDir()); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			y.Fatal(err)
		}
	}
	err := filepath.WalkDir(y.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err != nil {
		y.Fatal(err)
	}
}

// command returns a call of pawl by that user.
func (y *yard) command(args ...string) *exec.Cmd {
	cmd := exec.Command(y.bin, args...)
	cmd.Dir = y.root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + y.home, "USER=tester"}
	if os.Geteuid() == 0 {
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
	return answer
}

// everything has each agent send one of everything, some at a time.
func (y *yard) everything(change func(*exec.Cmd)) {
	y.Helper()
	var all sync.WaitGroup
	for _, name := range agentNames {
		all.Go(func() {
			for _, s := range y.payloads(name, "s-"+name) {
				event, _, _ := strings.Cut(s.Name, " ")
				y.hook(name, event, s.Payload, change)
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

// journals returns the paths of all journals.
func (y *yard) journals() []string {
	paths, _ := filepath.Glob(y.path(".pawl", "runs", "*", "journal.jsonl")) // the pattern is right
	return paths
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
			if folders&0o500 != 0o500 { // else the walk ends here
				defer os.Chmod(path, folders)
				return err
			}
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
}


// TestHostilePlaces: whatever is wrong with a project, hooks end well and in time, answer what their agents take, leave all
// files alone, and say in the log what it was, where one can be written. When it is mended, they work on.
func TestHostilePlaces(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]spoil{
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
			y.chmod(0, 0)
			return func() {
				if err := os.Chmod(y.path(".pawl"), 0o700); err != nil {
					y.Fatal(err)
				}
			}
		}},
		"journal read-only": {do: func(y *yard) func() {
			if err := os.Chmod(y.journals()[0], 0o400); err != nil {
				y.Fatal(err)
			}
			return func() {
				if err := os.Chmod(y.journals()[0], 0o600); err != nil {
					y.Fatal(err)
				}
			}
		}, log: "it can only be read.*permission denied"},
		"journal locked": {do: func(y *yard) func() { return y.lock(y.journals()[0]) }, log: "it took longer than"},
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
		}, lost: true},
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
			if err := errors.Join(err, os.RemoveAll(y.path(".pawl", "runs")), os.RemoveAll(y.home)); err != nil {
				y.Fatal(err)
			}
			y.write("{", ".pawl", "project.json")
			return func() { y.write(string(good), ".pawl", "project.json") }
		}, log: "project.json"},
		"project.json gone, and its lock taken": {do: func(y *yard) func() {
			if err := os.Remove(y.path(".pawl", "project.json")); err != nil {
				y.Fatal(err)
			}
			return y.lock(y.path(".pawl", "edit.lock"))
		}},
		"settings broken": {do: func(y *yard) func() {
			y.write("snapshots: {quota: much}\nno: [", ".pawl", "config.yaml")
			return func() {
				if err := os.Remove(y.path(".pawl", "config.yaml")); err != nil {
					y.Fatal(err)
				}
			}
		}, log: "config.yaml"},
		"snapshots a file": {do: func(y *yard) func() {
			endKeepers(y.dir)
			if err := os.RemoveAll(y.path(".pawl", "snapshots")); err != nil {
				y.Fatal(err)
			}
			y.write("not a folder", ".pawl", "snapshots")
			return func() {
				if err := os.Remove(y.path(".pawl", "snapshots")); err != nil {
					y.Fatal(err)
				}
			}
		}},
		"no home":        {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) { c.Env = []string{"PATH=" + os.Getenv("PATH")} }},
		"no environment": {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) { c.Env = []string{} }},
		"home a project": {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) { c.Env = append(c.Env, "HOME="+c.Dir) }},
		"folder gone": {do: func(*yard) func() { return func() {} }, change: func(c *exec.Cmd) {
			gone, err := os.MkdirTemp(c.Dir, ".gone-") // of the shell that calls us
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.everything(nil)
			if said := y.log(); said != "" {
				t.Fatalf("without need:\n%s", said)
			}
			before := y.files()
			undo := s.do(y)
			y.everything(s.change)
			if said := y.log(); s.log != "" && !regexp.MustCompile(s.log).MatchString(said) {
				t.Errorf("the log says\n%s", said)
			}
			undo()
			if after := y.files(); name != "home a project" && after != before {
				t.Error("files were changed that are not pawl's")
			}
			if s.lost || t.Failed() {
				return
			}
			y.works()
		})
	}
}

// works checks that hooks do what they are for.
func (y *yard) works() {
	y.Helper()
	session := fmt.Sprint("works-", time.Now().UnixNano())
	for _, s := range y.payloads("claude", session) {
		event, _, _ := strings.Cut(s.Name, " ")
		y.hook("claude", event, s.Payload, nil)
	}
	if said := y.pawl("log", "--json"); !strings.Contains(said, session) {
		y.Errorf("it was not journaled:\n%s", said)
	}
	if said := y.pawl("verify"); !strings.Contains(said, " 0 faults") {
		y.Error(said)
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
