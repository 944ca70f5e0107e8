package operations_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/operations"
	"pawl/test/cases"
)

// start is where an agent works: in a folder of the project, in a linked worktree or another repository inside or outside of it,
// or in a plain folder outside.
type start struct{ name, dir string }

// starts are relative to the project's root. Each has a folder sub.
var starts = []start{
	{"the root", "."}, {"a subfolder", "db"}, {"two levels below", "db/sub"}, {"a worktree inside", "trees/wt"}, {"a worktree outside", "../wt"},
	{"below a worktree outside", "../wt/sub"}, {"outside", "../out"}, {"above", ".."},
}

// placed makes the folders of a start in a temporary folder.
func placed(t *testing.T, s start) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, filepath.Join(top, "work", "project")}
	for name, content := range map[string]string{"a": "one\n", "b": "two\n", "log": "first\n"} {
		w.put(filepath.Join(s.dir, name), content)
		w.put(filepath.Join(s.dir, "sub", name), content)
	}
	for _, top := range []string{".", "trees/wt", "../wt"} {
		w.put(filepath.Join(top, ".git/HEAD"), "ref: refs/heads/main\n")
	}
	return w
}

// meantIn returns the operation of a call that an agent in a folder is about to make.
func (w *world) meantIn(dir, tool string, in any) *pawl.OperationState {
	w.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		w.Fatal(err)
	}
	o := operations.Intent(operations.Call{
		Tool: tool, Input: data, Dir: dir, Root: w.root, Read: os.ReadFile, Redact: func(s string) string { return s },
		There: func(path string) bool { _, err := os.Lstat(path); return err == nil },
		Real: func(path string) string {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				return real
			}
			return path
		},
	})
	if o.Clock, err = disk.FileSystemClock(filepath.Join(w.T.TempDir(), "clock")); err != nil {
		w.Fatal(err)
	}
	return &pawl.OperationState{Operation: o, Began: time.Now()}
}

// shell runs a script in a folder as an agent's tool does.
func (w *world) shell(dir, script string) {
	w.Helper()
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.Dir = dir
	if _, err := cmd.Output(); err != nil && cmd.ProcessState == nil {
		w.Fatalf("%s: %v", script, err)
	}
}

// workdir is how a tool call names the folder in which its command runs.
type workdir struct {
	name  string
	tool  string
	key   string
	value func(session string) string // of the key, for an agent in this folder
	runs  func(session string) string // where the command runs
}

var workdirs = []workdir{
	{name: "none", tool: "Bash", runs: same},
	{name: "empty", tool: "run_shell_command", key: "dir_path", value: always(""), runs: same},
	{name: "relative", tool: "exec_command", key: "workdir", value: always("sub"), runs: below("sub")},
	{name: "relative with a slash", tool: "run_shell_command", key: "dir_path", value: always("./sub/"), runs: below("sub")},
	{name: "up", tool: "Bash", key: "workdir", value: always("sub/../sub"), runs: below("sub")},
	{name: "absolute", tool: "bash", key: "workdir", value: below("sub"), runs: below("sub")},
	{name: "the session's, absolute", tool: "run_shell_command", key: "directory", value: same, runs: same},
}

func same(session string) string { return session }

func always(value string) func(string) string { return func(string) string { return value } }

func below(name string) func(string) string {
	return func(session string) string { return filepath.Join(session, name) }
}

// placedScript is a script with the verdicts expected before its first part, between its parts, and after its last.
type placedScript struct {
	parts            []string // HERE is the absolute folder in which it runs
	gate             string   // between the parts
	before, mid, all []pawl.OperationVerdict
}

var placedScripts = []placedScript{
	{[]string{"touch x"}, " && ", one(notDone), nil, one(done)},
	{[]string{"echo row >> log", "touch y"}, " && ", one(notDone), one(partly), one(done)},
	{[]string{"echo row >> HERE/log", "rm HERE/a"}, " && ", one(notDone), one(partly), one(done)},
	{[]string{"mkdir new", "cp a new/a", "mv b new/b"}, " && ", one(notDone), one(partly), one(done)},
	{[]string{"mkdir new", "cd new", "touch x"}, " && ", one(notDone), one(partly), one(done)},
	{[]string{"mkdir new", "cd new", "touch x"}, "; ", []pawl.OperationVerdict{notDone, unknown}, one(partly), []pawl.OperationVerdict{partly, done}},
	{[]string{"cd ..", "touch x", "rm -f gone"}, " && ", one(notDone), nil, one(done)},
	{[]string{"echo row >> ../log", "touch ../new"}, " && ", one(notDone), one(partly), one(done)},
	{[]string{"(cd .. && echo one > from-subshell)", "echo two > here"}, "; ", []pawl.OperationVerdict{notDone, unknown}, []pawl.OperationVerdict{partly, unknown}, []pawl.OperationVerdict{partly, unknown}},
	{[]string{"cd missing", "touch x"}, "; ", []pawl.OperationVerdict{notDone, unknown}, []pawl.OperationVerdict{notDone, unknown}, []pawl.OperationVerdict{partly, done, unknown}},
	{[]string{"cd /", "cd -", "touch x"}, " && ", one(unknown), one(unknown), []pawl.OperationVerdict{partly, unknown}},
	{[]string{"pushd ..", "touch x", "popd", "touch x"}, " && ", []pawl.OperationVerdict{notDone, unknown}, []pawl.OperationVerdict{notDone, unknown, partly}, []pawl.OperationVerdict{partly, done, unknown}},
	{[]string{"for i in 1 2; do echo $i > n$i; done"}, "", []pawl.OperationVerdict{notDone, unknown}, nil, []pawl.OperationVerdict{partly, unknown}},
	{[]string{"for d in . ..; do cd $d", "echo x > x", "done"}, "; ", []pawl.OperationVerdict{unknown}, nil, []pawl.OperationVerdict{partly, unknown}},
	{[]string{"tar cf t.tar a b"}, "", []pawl.OperationVerdict{notDone, unknown}, nil, []pawl.OperationVerdict{partly, unknown}},
	{[]string{"tar cf a.tar a", "mkdir to", "tar xf a.tar -C to"}, " && ", []pawl.OperationVerdict{notDone, unknown}, []pawl.OperationVerdict{partly, unknown}, []pawl.OperationVerdict{partly, done}},
}

// TestPlaces carries scripts out for real, up to each of their parts, for an agent in each folder and with each spelling of the
// tool's own. In no combination is the verdict wrong.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for i, s := range starts {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for j, script := range placedScripts {
				for _, d := range cases.Some(workdirs, i+j, 2) {
					for n := range len(script.parts) + 1 {
						script.try(t, s, d, n)
					}
				}
			}
		})
	}
}

func (s placedScript) try(t *testing.T, where start, d workdir, n int) {
	t.Helper()
	if n > 0 && n < len(s.parts) && s.mid == nil {
		return
	}
	w := placed(t, where)
	session := filepath.Join(w.root, where.dir)
	runs := d.runs(session)
	spelled := func(parts []string) string { return strings.ReplaceAll(strings.Join(parts, s.gate), "HERE", runs) }
	in := map[string]any{"command": spelled(s.parts)}
	if d.key != "" {
		in[d.key] = d.value(session)
	}
	o := w.meantIn(session, d.tool, in)
	if n > 0 {
		w.shell(runs, spelled(s.parts[:n]))
	}
	want := s.mid
	switch n {
	case 0:
		want = s.before
	case len(s.parts):
		want = s.all
	}
	if got, evidence := w.judge(o); !slices.Contains(want, got) {
		t.Errorf("%s, workdir %s, %q: after %d parts: %s (%s), want %v; dir %q", where.name, d.name, o.Summary, n, got, evidence, want, o.Dir)
	}
	if got, err := filepath.EvalSymlinks(operations.Dir(o.Operation, w.root)); err != nil || got != runs {
		t.Errorf("%s, workdir %s: recorded %q, which is %q: %v", where.name, d.name, o.Dir, got, err)
	}
}

// TestFilesOfPlaces: a tool that changes files names them as it likes.
func TestFilesOfPlaces(t *testing.T) {
	t.Parallel()
	for _, s := range starts {
		for _, name := range []string{"new", "./sub/new", "../new", "HERE/new", "HERE/../new"} {
			for tool, key := range map[string]string{"Write": "file_path", "write": "filePath", "write_file": "file_path", "create": "path"} {
				w := placed(t, s)
				session := filepath.Join(w.root, s.dir)
				name := strings.ReplaceAll(name, "HERE", session)
				o := w.meantIn(session, tool, map[string]any{key: name, "content": "hello\n"})
				w.expect(o, "in "+s.name+", before", notDone)
				w.shell(session, "echo hello > "+name)
				w.expect(o, "in "+s.name+", after", done)
			}
		}
		w := placed(t, s)
		session := filepath.Join(w.root, s.dir)
		o := w.meantIn(session, "apply_patch", map[string]any{"workdir": "sub", "input": "*** Begin Patch\n*** Update File: a\n-one\n+uno\n*** Add File: x\n+x\n*** End Patch"})
		w.expect(o, "in "+s.name+", before", notDone)
		w.shell(session, "echo uno > sub/a")
		w.expect(o, "in "+s.name+", between", partly)
		w.shell(session, "echo x > sub/x")
		w.expect(o, "in "+s.name+", after", done)
	}
}

// TestLinkedFolder: an agent may name the project by a symbolic link, and a link below the project may lead out of it.
func TestLinkedFolder(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"touch x", "echo row >> log", "touch LINK/x", "for i in 1; do echo $i > n$i; done"} {
		w := placed(t, start{dir: "db"})
		link := filepath.Join(filepath.Dir(w.root), "link")
		if err := os.Symlink(w.root, link); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(link, "db")
		o := w.meantIn(dir, "Bash", map[string]any{"command": strings.ReplaceAll(command, "LINK", dir)})
		if o.Dir != "db" {
			t.Errorf("recorded as %q", o.Dir)
		}
		w.expect(o, "before", notDone)
		w.shell(dir, strings.ReplaceAll(command, "LINK", dir))
		w.expect(o, "after", done, partly)
	}
	for _, command := range []string{"for i in 1 2; do echo $i > outside/n$i; done", "cd outside && tar cf t.tar a", "tar cf outside/t.tar a", "for i in 1; do cp a ~/x; done"} {
		w := placed(t, start{dir: "../out"})
		if err := os.Symlink("../out", filepath.Join(w.root, "outside")); err != nil {
			t.Fatal(err)
		}
		o := w.meantIn(w.root, "Bash", map[string]any{"command": command})
		w.shell(w.root, strings.ReplaceAll(command, "~", filepath.Join(w.root, "../out")))
		w.expect(o, "after", unknown)
	}
}

// TestRepositories: HEAD is that of the repository in which the call was to run. Of another one, nothing is known.
func TestRepositories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, command    string
		before, after   pawl.OperationVerdict
		inAnother, gone bool
	}{
		{dir: ".", command: "git commit -qm x", before: notDone, after: done},
		{dir: "db", command: "git commit -qm x", before: notDone, after: done},
		{dir: "db", command: "cd .. && git add -A && git commit -qm x", before: notDone, after: done},
		{dir: "trees/wt", command: "git -c user.name=x commit -qm x", before: notDone, after: done},
		{dir: "../wt", command: "git commit -qm x", before: notDone, after: done},
		{dir: "../wt", command: "git -C sub commit -qm x", before: notDone, after: done},
		{dir: ".", command: "cd trees/wt && git commit -qm x", before: unknown, inAnother: true},
		{dir: ".", command: "git -C ../wt commit -qm x", before: unknown, inAnother: true},
		{dir: "../wt", command: "cd ../project && git commit -qm \"$(date)\"", before: unknown, inAnother: true},
		{dir: ".", command: "git --git-dir trees/wt/.git commit -qm x", before: unknown, inAnother: true},
		{dir: "trees/wt", command: "git commit -qm x", before: unknown, gone: true},
	} {
		w := placed(t, start{dir: c.dir})
		session := filepath.Join(w.root, c.dir)
		o := w.meantIn(session, "Bash", map[string]any{"command": c.command})
		o.Head = "aaa"
		if c.gone {
			if err := os.RemoveAll(session); err != nil {
				t.Fatal(err)
			}
			o.Clock = time.Now().Add(time.Hour) // what is changed now is no evidence
		}
		judge := func(head string) operations.Judgement {
			found := w.found(o)
			found.Head, found.Index, found.Refs = head, time.Unix(1, 0), time.Unix(1, 0)
			return operations.Judge(o, found)
		}
		if got := judge("aaa"); got.Verdict != c.before {
			t.Errorf("in %s, %q: before: %+v, want %s", c.dir, c.command, got, c.before)
		}
		if got := judge("bbb"); !c.inAnother && !c.gone && got.Verdict != c.after || (c.inAnother || c.gone) && got.Verdict == done {
			t.Errorf("in %s, %q: after: %+v, want %s", c.dir, c.command, got, c.after)
		}
	}
}

// TestWords: an argument list is not split again.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"touch", "a b"}, {"touch", "it's"}, {"touch", "$HOME"}, {"bash", "-lc", "touch 'x y'"}} {
		w := placed(t, start{dir: "."})
		o := w.meantIn(w.root, "shell", map[string]any{"command": words})
		w.expect(o, "before", notDone)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = w.root
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		w.expect(o, "after", done)
	}
}

// TestFolders: the folders in which the commands of a call may run.
func TestFolders(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]struct {
		dirs []string
		all  bool
	}{
		"make all":                 {[]string{"/p/web"}, true},
		"cd ../db && npm run dev":  {[]string{"/p/web", "/p/db"}, true},
		"cd /srv && ./serve":       {[]string{"/p/web", "/srv"}, true},
		"cd $HOME && ./serve":      {[]string{"/p/web"}, false},
		"(cd docs; serve); make":   {[]string{"/p/web", "/p/web/docs"}, true},
		"npm run dev [redacted:x]": {[]string{"/p/web"}, false},
	} {
		dirs, all := operations.Folders(pawl.Operation{Summary: command, Dir: "web"}, "/p")
		if !slices.Equal(dirs, want.dirs) || all != want.all {
			t.Errorf("%s: %q %v, want %q %v", command, dirs, all, want.dirs, want.all)
		}
	}
}
