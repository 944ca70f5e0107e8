package git_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/git"
)

// world is a repository whose settings, attributes and folders start programs that leave a mark.
type world struct {
	*testing.T
	root, marks string
}

func newWorld(t *testing.T) world {
	w := world{T: t, root: t.TempDir(), marks: t.TempDir()}
	w.git("init", "-q", "-b", "main")
	w.write("a.txt", "1\n", 0o644)
	w.git("add", ".")
	w.git("commit", "-q", "-m", "one")
	w.git("commit", "-q", "--allow-empty", "-m", "two")
	return w
}

// git runs git as a user does.
func (w world) git(args ...string) string {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.root, "-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w world) write(name, text string, mode os.FileMode) string {
	w.Helper()
	path := filepath.Join(w.root, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode))
	if err != nil {
		w.Fatal(err)
	}
	return path
}

// trap returns a program that leaves a mark.
func (w world) trap(name string) string {
	return w.write(".git/traps/"+name, "#!/bin/sh\ntouch '"+filepath.Join(w.marks, name)+"'\nexec cat\n", 0o755)
}

// marked returns which programs were started.
func (w world) marked() string {
	names, err := filepath.Glob(filepath.Join(w.marks, "*"))
	if err != nil {
		w.Fatal(err)
	}
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return strings.Join(names, " ")
}

// settings are those that start programs.
var settings = []string{
	"core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy", "credential.helper",
	"diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
	"gpg.program", "gpg.ssh.program", "gpg.x509.program", "pager.log", "pager.config", "alias.log", "core.alternateRefsCommand",
}

// arm makes the repository start programs wherever its settings can.
func (w world) arm() {
	for _, key := range settings {
		w.git("config", key, w.trap(key))
	}
	w.git("config", "log.showSignature", "true")
	w.git("config", "core.hooksPath", filepath.Join(w.root, ".git/traps"))
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"} {
		w.trap(hook)
	}
	w.write(".gitattributes", "* diff=evil filter=evil\n", 0o644)
	w.write("a.txt", "2\n", 0o644) // git compares it with the index
	w.git("config", "extensions.partialClone", "origin")
	w.git("config", "remote.origin.url", "ext::"+w.trap("ext"))
	w.git("config", "remote.origin.promisor", "true")
	w.git("config", "protocol.ext.allow", "always")
}

// sign makes HEAD a commit that claims a signature.
func (w world) sign() {
	tree := w.git("rev-parse", "HEAD^{tree}")
	text := "tree " + tree + "\nauthor a <a@b> 1700000000 +0000\ncommitter a <a@b> 1700000000 +0000\n" +
		"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\nsigned\n"
	path := w.write(".git/signed", text, 0o644)
	w.git("update-ref", "HEAD", w.git("hash-object", "-t", "commit", "-w", path))
}

// commands are those that pawl runs.
func (w world) commands() [][]string {
	const missing = "0123456789012345678901234567890123456789"
	return [][]string{
		{"log", "--max-count=10", "--format=%H%x09%ct%x09%s", "HEAD", "--"},
		{"ls-files", "-z"},
		{"ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD"},
		{"rev-parse", "--verify", "--quiet", "HEAD"},
		{"blame", "--no-textconv", "--porcelain", "HEAD", "--", "a.txt"},
		{"symbolic-ref", "--quiet", "HEAD"},
		{"merge-base", "--is-ancestor", "HEAD", "HEAD"},
		{"merge-base", "--is-ancestor", missing, "HEAD"},
		{"for-each-ref", "--count=1", "--contains", "HEAD"},
		{"diff-tree", "--root", "--no-commit-id", "--name-only", "--relative", "-r", "-z", "HEAD"},
		{"diff-tree", "--root", "-r", missing},
		{"diff-index", "--cached", "--quiet", "HEAD"},
		{"config", "--null", "--get-regexp", `^core\.(excludesfile|ignorecase)$`},
	}
}

// TestNothingStarts: no setting or attribute of a repository starts a program. The same commands without protection do.
func TestNothingStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sign()
	w.arm()
	for _, args := range w.commands() {
		out, err := git.Output(t.Context(), w.root, args...)
		if got := w.marked(); got != "" {
			t.Fatalf("git %q started %s", args, got)
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			t.Errorf("git %q: %v, %v: %s", args, err, exit, out)
		}
	}
	for _, args := range [][]string{{"log", "HEAD"}, {"diff"}, {"status"}} {
		cmd := exec.Command("git", append([]string{"-C", w.root}, args...)...)
		_ = cmd.Run() // it may fail because of the programs
	}
	for _, name := range []string{"gpg.program", "core.fsmonitor", "filter.evil.process"} {
		if !strings.Contains(w.marked(), name) {
			t.Errorf("the test proves nothing of %s: only %s started without protection", name, w.marked())
		}
	}
}

// TestQuestionsOnly: commands that change something, or convert the content of files, are refused.
func TestQuestionsOnly(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--work-tree=/"}, {"status"}, {"fetch", "log"}, {"diff"}, {"--no-pager", "checkout", "log"}} {
		if _, err := git.Output(t.Context(), t.TempDir(), args...); err == nil || !strings.Contains(err.Error(), "may change the repository") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestProgram: git never comes from the project or a relative folder.
func TestProgram(t *testing.T) {
	w := newWorld(t)
	real, err := git.Program(w.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".pawl/bin/git", "git", "bin/git"} {
		w.write(name, "#!/bin/sh\nexit 1\n", 0o755)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(w.root, "bin"), link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.root)
	usual := os.Getenv("PATH")
	for _, first := range []string{".", "", "bin", "./bin", filepath.Join(w.root, ".pawl/bin"), filepath.Join(w.root, "bin"), w.root, link} {
		t.Setenv("PATH", first+":"+usual)
		if path, err := git.Program(w.root); err != nil || path != real {
			t.Errorf("PATH with %q: %q, %v; want %q", first, path, err, real)
		}
		if out, err := git.Output(t.Context(), w.root, "rev-parse", "HEAD"); err != nil || len(bytes.TrimSpace(out)) != 40 {
			t.Errorf("PATH with %q: %q, %v", first, out, err)
		}
	}
	t.Setenv("PATH", w.root)
	if path, err := git.Program(w.root); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%q, %v", path, err)
	}
}

// TestOtherOwner: git refuses a repository of another user. Only root can make one.
func TestOtherOwner(t *testing.T) {
	w := newWorld(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	if _, err := git.Output(t.Context(), w.root, "rev-parse", "HEAD"); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(w.root, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 12345, 12345))
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := git.Output(t.Context(), w.root, "rev-parse", "HEAD"); err == nil {
		t.Errorf("it answered %s", out)
	}
}

// TestEnvironment: variables that name a repository, programs or settings do not reach git.
func TestEnvironment(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	for name, value := range map[string]string{
		"GIT_DIR": filepath.Join(other.root, ".git"), "GIT_WORK_TREE": other.root, "GIT_INDEX_FILE": "/dev/null",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": other.trap("count"),
		"GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='" + other.trap("parameters") + "'", "GIT_EXTERNAL_DIFF": other.trap("external"),
		"GIT_SSH_COMMAND": other.trap("ssh"), "GIT_PAGER": other.trap("pager"), "GIT_TRACE": filepath.Join(other.marks, "trace"),
	} {
		t.Setenv(name, value)
	}
	out, err := git.Output(t.Context(), w.root, "rev-parse", "--show-toplevel")
	if top := strings.TrimSpace(string(out)); err != nil || top != w.root {
		t.Errorf("%q, %v; want %s", top, err, w.root)
	}
	for _, args := range w.commands() {
		_, _ = git.Output(t.Context(), w.root, args...)
	}
	if got := other.marked(); got != "" {
		t.Errorf("started %s", got)
	}
}
