package ignore

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A worktree is a real git repository in its own folder, with its own home folder.
type worktree struct {
	t    *testing.T
	top  string
	home string
}

func newWorktree(t *testing.T) worktree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := worktree{t: t, top: filepath.Join(dir, "top"), home: filepath.Join(dir, "home")}
	w.mkdir("")
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q")
	return w
}

func (w worktree) env() []string {
	return []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
}

func (w worktree) git(args ...string) string {
	w.t.Helper()
	return w.gitWith("", args...)
}

// gitWith runs git with input. An exit status of 1 is an answer.
func (w worktree) gitWith(input string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.top, w.env(), strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		w.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

func (w worktree) mkdir(name string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Join(w.top, name), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// write makes a file, and the folders to it; a name that ends in a slash is a folder.
func (w worktree) write(name, data string) {
	w.t.Helper()
	if strings.HasSuffix(name, "/") {
		w.mkdir(name)
		return
	}
	path := filepath.Join(w.top, name)
	if filepath.IsAbs(name) {
		path = name
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w worktree) load(folder string, patterns ...string) *Rules {
	w.t.Helper()
	rules, err := Load(w.t.Context(), filepath.Join(w.top, folder), Options{Env: w.env(), Patterns: patterns})
	if err != nil {
		w.t.Fatal(err)
	}
	return rules
}

// kept walks as a snapshot does and lists the files that are content, as paths below the top.
func (w worktree) kept(folder string, patterns ...string) []string {
	w.t.Helper()
	var files []string
	w.walk(folder, w.load(folder, patterns...), func(path string, isDir bool, _ Reason, out bool) {
		if !isDir && !out {
			files = append(files, path)
		}
	})
	slices.Sort(files)
	return files
}

// gitKept is what git lists.
func (w worktree) gitKept() []string {
	w.t.Helper()
	return sortedFields(w.git("ls-files", "-co", "--exclude-standard", "-z"))
}

func sortedFields(out string) []string {
	return slices.Sorted(maps.Keys(set(strings.FieldsFunc(out, func(r rune) bool { return r == 0 }))))
}

func set(names []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// walk calls visit for each entry, but for .git and what lies in ignored folders.
func (w worktree) walk(folder string, rules *Rules, visit func(path string, isDir bool, why Reason, out bool)) {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.top, folder))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, entry := range entries {
		name, isDir := entry.Name(), entry.IsDir()
		why, out := rules.Explain(name, isDir)
		if out != rules.Ignored(name, isDir) {
			w.t.Errorf("Explain says %t of %q, Ignored says %t", out, name, !out)
		}
		if name == ".git" {
			continue
		}
		path := filepath.Join(folder, name)
		visit(path, isDir, why, out)
		if isDir && !out {
			w.walk(path, rules.In(name, w.own(path, GitFile), w.own(path, PawlFile)), visit)
		}
	}
}

func (w worktree) own(folder, name string) []byte {
	w.t.Helper()
	data, err := readOwn(filepath.Join(w.top, folder, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}
