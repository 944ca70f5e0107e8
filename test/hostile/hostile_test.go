//go:build linux

// Package hostile runs the programs in projects that an attacker has made, and in trusted projects that an attacker has changed.
// pawl must execute nothing of them, write nothing outside, send no key, and tell agents nothing from them.
package hostile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

const (
	marker = "PLANTED" // is in every text of the attacker's
	key    = "sk-ant-api03-notARealKey-0123456789abcdefghijklmnopqrstuvwxyz"
	limit  = time.Minute // for each command: a longer one hangs

	// told is all that an agent's user sees in an untrusted project.
	told = "pawl: not recording here, this folder's .pawl is not trusted"
)

// world is a user's machine with a hostile project.
type world struct {
	*testing.T
	dir  string // holds all that follows
	root string // the project
	env  []string
	as   *syscall.Credential // who runs the commands; nil for the user of the tests
}

// newWorld makes a machine without a project.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, dir: dir, root: filepath.Join(dir, "work")}
	w.env = []string{
		"PATH=" + filepath.Dir(storytest.Pawl(t)) + ":" + os.Getenv("PATH"), "HOME=" + w.path("home"), "PAWL_STATE=" + w.path("state"),
		"USER=victim", "TZ=UTC", "ANTHROPIC_API_KEY=" + key, "OPENAI_API_KEY=" + key, "HTTP_PROXY=" + listener(), "HTTPS_PROXY=" + listener(),
		"CANARY=" + w.path("executed"),
	}
	for _, name := range []string{"home/.bashrc", "victim/file", "victim/folder/file", "victim/.claude/settings.json"} {
		w.write(w.path(name), "{\"of\": \"the victim\"}\n")
	}
	t.Cleanup(func() { killIn(w.dir) })
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// path returns a path on the machine, in one of the folders work, home, state and victim.
func (w *world) path(names ...string) string {
	return filepath.Join(append([]string{w.dir}, names...)...)
}

// pawlDir returns a path in the project's .pawl.
func (w *world) pawlDir(names ...string) string {
	return filepath.Join(append([]string{w.root, ".pawl"}, names...)...)
}

func (w *world) write(path, text string) {
	w.Helper()
	w.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)))
}

func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(path)
	w.must(err)
	return string(data)
}

// sh runs a command of the attacker's, or a preparation, in the project's folder.
func (w *world) sh(script string) string {
	w.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.root
	cmd.Env = append(slices.Clone(w.env), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "W="+w.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// result is what a command did.
type result struct {
	what        string
	code        int
	out, errOut string
}

// run runs a program in the project's folder, with an input. It is an error if that takes too long.
func (w *world) run(input, program string, args ...string) result {
	w.Helper()
	return w.runIn(w.root, input, program, args...)
}

func (w *world) runIn(dir, input, program string, args ...string) result {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 4*limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, w.env, strings.NewReader(input)
	cmd.WaitDelay = limit
	if w.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.as}
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	begun := time.Now()
	err := cmd.Run()
	r := result{strings.Join(append([]string{filepath.Base(program)}, args...), " "), cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		w.Errorf("%s: %v", r.what, err)
	}
	if took := time.Since(begun); took > limit {
		w.Errorf("%s took %s\n%s%s", r.what, took, clip(r.out), clip(r.errOut))
	}
	return r
}

func (w *world) pawl(args ...string) result {
	w.Helper()
	return w.run("", storytest.Pawl(w.T), args...)
}

// succeed runs pawl, which must succeed, and returns what it printed.
func (w *world) succeed(args ...string) string {
	w.Helper()
	r := w.pawl(args...)
	if r.code != 0 {
		w.Fatalf("%s: exit code %d\n%s%s", r.what, r.code, r.out, r.errOut)
	}
	return r.out
}

// refused requires exit code 5, and a hint that begins with words.
func (w *world) refused(r result, hint string) {
	w.Helper()
	if r.code != 5 || hint != "" && !strings.Contains(r.errOut, "\npawl: hint: "+hint) {
		w.Errorf("%s: exit code %d, want 5 with the hint %q\n%s%s", r.what, r.code, hint, clip(r.out), clip(r.errOut))
	}
	if r.out != "" {
		w.Errorf("%s printed %q", r.what, clip(r.out))
	}
}

// quoted requires that a reading command marks all that it prints.
func (w *world) quoted(r result) {
	w.Helper()
	for line := range strings.Lines(strings.TrimSuffix(r.out, "\n\npawl trust\n")) {
		if !strings.HasPrefix(line, "> ") {
			w.Errorf("%s printed the unquoted line %q", r.what, clip(line))
			break
		}
	}
	if !strings.Contains(r.errOut, "is not trusted") {
		w.Errorf("%s does not say that the project is not trusted: %s", r.what, clip(r.errOut))
	}
	w.clean(r)
}

// clean requires that nothing printed controls the terminal.
func (w *world) clean(r result) {
	w.Helper()
	if strings.ContainsAny(r.out+r.errOut, "\x1b\x07\r\u009b\u202e") {
		w.Errorf("%s printed control characters: %q", r.what, clip(r.out+r.errOut))
	}
}

func clip(text string) string {
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	return text
}

// killIn kills the processes whose working folder is dir or below.
func killIn(dir string) {
	for _, pid := range storytest.RunningIn(dir) {
		var n int
		if _, err := fmt.Sscan(pid, &n); err == nil {
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// tree returns a line for each file below folders: its mode, owner and content, and with times also when it changed.
func (w *world) tree(times bool, folders ...string) map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			all[path] = describe(path, info, times)
			return nil
		})
		w.must(err)
	}
	return all
}

func describe(path string, info fs.FileInfo, times bool) string {
	text := info.Mode().String()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		text += fmt.Sprint(" ", st.Uid)
	}
	if times {
		text += " " + info.ModTime().String()
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path) // it is a link
		text += " -> " + target
	case info.Mode().IsRegular() && info.Size() < 1<<20:
		data, _ := os.ReadFile(path) // the tests may read everything
		text += fmt.Sprintf(" %x", sha256.Sum256(data))
	case info.Mode().IsRegular():
		text += fmt.Sprint(" ", info.Size())
	}
	return text
}

// same requires that two trees are equal.
func (w *world) same(what string, before, after map[string]string) {
	w.Helper()
	for path, old := range before {
		if now, ok := after[path]; !ok || now != old {
			w.Errorf("%s: %s was %s, is %q", what, path, old, now)
		}
	}
	for path, now := range after {
		if _, ok := before[path]; !ok {
			w.Errorf("%s: %s is new: %s", what, path, now)
		}
	}
}

// unharmed runs do and requires that nothing of the attacker's was executed, that nobody got a key, and that nothing changed in home
// and victim. With whole, nothing may change in the project and in the state folder either, but for hook.log there.
func (w *world) unharmed(whole bool, do func()) {
	w.Helper()
	storytest.EndKeepers(w.dir) // those of earlier hooks remember that the views are as they were
	folders := []string{w.path("home"), w.path("victim")}
	if whole {
		folders = append(folders, w.root)
	}
	before, state := w.tree(whole, folders...), w.tree(false, w.path("state"))
	do()
	w.same("after the commands", before, w.tree(whole, folders...))
	if whole {
		after := w.tree(false, w.path("state"))
		w.onlyLog(state, after)
		w.same("the state folder", state, after)
	}
	if _, err := os.Lstat(w.path("executed")); err == nil {
		w.Errorf("executed: %s", w.read(w.path("executed")))
	}
	if n := requests.Load(); n > 0 {
		w.Errorf("%d requests were sent", n)
	}
}

// onlyLog requires that the log of hooks in the state folder holds nothing but the fixed line, or that .pawl is a link, and removes
// it from a tree.
func (w *world) onlyLog(before, tree map[string]string) {
	w.Helper()
	path := w.path("state", "hook.log")
	if _, ok := tree[path]; !ok {
		return
	}
	for line := range strings.Lines(w.read(path)) {
		if !strings.HasSuffix(line, " "+told+"\n") && !strings.HasSuffix(line, " this folder's .pawl is a symbolic link, which pawl does not follow\n") {
			w.Errorf("hook.log: %q", line)
		}
	}
	delete(tree, path)
	delete(before, path)
	if _, ok := before[w.path("state")]; !ok {
		delete(tree, w.path("state"))
	}
}

// requests counts what arrives at the listener.
var requests atomic.Int64

var address atomic.Pointer[string]

// listener returns the URL of a server that must get no request.
func listener() string {
	if url := address.Load(); url != nil {
		return *url
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	url := "http://" + l.Addr().String()
	if !address.CompareAndSwap(nil, &url) {
		l.Close()
		return *address.Load()
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusTeapot)
	}))
	return url
}
