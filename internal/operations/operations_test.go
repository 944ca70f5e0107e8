package operations_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/operations"
)

// world is a folder in which tool calls really run.
type world struct {
	*testing.T
	root string
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{t, t.TempDir()}
	for name, content := range files {
		w.put(name, content)
	}
	return w
}

func (w *world) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.root, name)
}

func (w *world) put(name, content string) {
	w.Helper()
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) sh(script string) {
	w.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = w.root
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// mean returns the operation of a call that is about to be made.
func (w *world) mean(tool string, in any) *pawl.OperationState {
	w.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		w.Fatal(err)
	}
	o := operations.Intent(operations.Call{
		Tool: tool, Input: data, Dir: w.root, Root: w.root, Read: os.ReadFile, Redact: func(s string) string { return s },
		There: func(path string) bool { _, err := os.Lstat(path); return err == nil },
	})
	var failed error
	if o.Clock, failed = disk.FileSystemClock(filepath.Join(w.T.TempDir(), "clock")); failed != nil {
		w.Fatal(failed)
	}
	return &pawl.OperationState{Operation: o, Began: time.Now()}
}

// judge finds out what is so, as the engine does.
func (w *world) judge(o *pawl.OperationState) (pawl.OperationVerdict, string) {
	w.Helper()
	return w.judgeBeside(o)
}

// found is the expected result.
func (w *world) found(o *pawl.OperationState) operations.World {
	w.Helper()
	found := operations.World{Root: w.root, Look: w.look}
	busy := map[string]bool{}
	err := filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		if l := w.look(path); err == nil && !l.Changed.Before(o.Clock) {
			rel, _ := filepath.Rel(w.root, path)
			found.Changed = append(found.Changed, operations.Change{Path: rel, What: "changed", At: l.Changed, Folder: d.IsDir()})
			busy[filepath.Dir(rel)] = rel != "."
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	for i := range found.Changed {
		found.Changed[i].Busy = found.Changed[i].Folder && busy[found.Changed[i].Path]
	}
	return found
}

func (w *world) look(name string) operations.Look {
	path := w.path(name)
	info, err := os.Lstat(path)
	if err != nil {
		if path == "/" {
			return operations.Look{}
		}
		return operations.Look{Changed: w.look(filepath.Dir(path)).Changed}
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		w.Fatal(err)
	}
	return operations.Look{
		There: true, Folder: info.IsDir(), Changed: time.Unix(st.Ctim.Unix()),
		Content: func() (string, error) {
			data, err := os.ReadFile(path)
			sum := sha256.Sum256(data)
			return hex.EncodeToString(sum[:]), err
		},
		Tail: func(n int) ([]byte, error) {
			data, err := os.ReadFile(path)
			return data[max(0, len(data)-n):], err
		},
		Empty: func() bool {
			entries, err := os.ReadDir(path)
			return err == nil && len(entries) == 0
		},
	}
}

func (w *world) expect(o *pawl.OperationState, when string, want ...pawl.OperationVerdict) {
	w.Helper()
	got, evidence := w.judge(o)
	for _, v := range want {
		if got == v {
			return
		}
	}
	w.Errorf("%s %s: %s (%s), want %v", o.Summary, when, got, evidence, want)
}

const (
	done    = pawl.OperationDone
	notDone = pawl.OperationNotDone
	partly  = pawl.OperationPartly
	unknown = pawl.OperationUnknown
)

var files = map[string]string{"a": "one\n", "b": "two\n", "dir/c": "three\n", "log": "first\n", "copy": "old\n"}

// TestFileTools: what a file is to hold is known before, so each state of it has its verdict.
func TestFileTools(t *testing.T) {
	t.Parallel()
	patch := "*** Begin Patch\n*** Add File: new\n+hello\n+world\n*** Update File: a\n@@\n-one\n+uno\n*** Delete File: b\n*** End Patch"
	for _, c := range []struct {
		tool string
		in   map[string]any
		do   string
	}{
		{"Write", map[string]any{"file_path": "new", "content": "hello\n"}, "printf 'hello\\n' > new"},
		{"write_file", map[string]any{"file_path": "a", "content": "other\n"}, "printf 'other\\n' > a"},
		{"Edit", map[string]any{"file_path": "a", "old_string": "one", "new_string": "uno"}, "sed -i s/one/uno/ a"},
		{"edit", map[string]any{"filePath": "dir/c", "oldString": "three", "newString": "tres"}, "sed -i s/three/tres/ dir/c"},
		{"replace", map[string]any{"file_path": "a", "old_string": "o", "new_string": "0", "allow_multiple": true}, "sed -i s/o/0/g a"},
		{"MultiEdit", map[string]any{"file_path": "a", "edits": []any{
			map[string]any{"old_string": "one", "new_string": "uno"}, map[string]any{"old_string": "uno", "new_string": "eins"},
		}}, "sed -i s/one/eins/ a"},
		{"apply_patch", map[string]any{"command": "*** Begin Patch\n*** Update File: a\n*** Move to: z\n@@\n-one\n+uno\n*** End Patch"}, "rm a; echo uno > z"},
		{"apply_patch", map[string]any{"command": patch}, "printf 'hello\\nworld\\n' > new; sed -i s/one/uno/ a; rm b"},
	} {
		w := newWorld(t, files)
		o := w.mean(c.tool, c.in)
		if o.Kind != pawl.OperationFiles || len(o.Expect) == 0 || o.Summary == "" {
			t.Fatalf("%s: %+v", c.tool, o)
		}
		w.expect(o, "not begun", notDone)
		w.sh(c.do)
		w.expect(o, "done", done)
		w.put(o.Expect[0].Path, "hel")
		w.expect(o, "cut off", partly)
	}
}

// TestAlready: what was so before proves nothing of an operation that was to do more.
func TestAlready(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files)
	o := w.mean("apply_patch", map[string]any{"input": "*** Begin Patch\n*** Add File: a\n+one\n*** Add File: new\n+x\n*** End Patch"})
	w.expect(o, "not begun", notDone)
	w.put("new", "x\n")
	w.expect(o, "done", done)
}

// TestUnsureFileTools: where it cannot be computed what a file will hold, a change is only a change.
func TestUnsureFileTools(t *testing.T) {
	t.Parallel()
	for tool, in := range map[string]map[string]any{
		"Edit":         {"file_path": "a", "old_string": "not there", "new_string": "x"},
		"NotebookEdit": {"notebook_path": "a", "new_source": "x"},
		"apply_patch":  {"input": "*** Begin Patch\n*** Update File: a\n@@\n-nowhere\n+x\n*** End Patch"},
	} {
		w := newWorld(t, files)
		o := w.mean(tool, in)
		if len(o.Expect) != 1 || !o.Expect[0].Open || len(o.Paths) != 1 {
			t.Fatalf("%s: %+v", tool, o)
		}
		w.expect(o, "not begun", notDone)
		w.put("a", "x")
		w.expect(o, "done", partly)
	}
}

// scripts are shell commands, each cut into what a shell does one after the other. whole says what is right once all of it
// is done, before what is right when nothing is.
var scripts = []struct {
	parts  []string
	whole  []pawl.OperationVerdict
	before []pawl.OperationVerdict
}{
	{[]string{"touch x"}, one(done), one(notDone)},
	{[]string{"mkdir d", "touch d/x"}, one(done), one(notDone)},
	{[]string{"echo hello > x", "echo world > y"}, one(done), one(notDone)},
	{[]string{"echo more >> log"}, one(done), one(notDone)},
	{[]string{`printf "a\nb\n" > x`, "sleep 0"}, one(done), one(notDone)},
	{[]string{"cp a b"}, one(done), one(notDone)},
	{[]string{"cp a dir"}, one(done), one(notDone)},
	{[]string{"mv a z"}, one(done), one(notDone)},
	{[]string{"mv a dir"}, one(done), one(notDone)},
	{[]string{"rm a", "rm b"}, one(done), one(notDone)},
	{[]string{"rm -rf dir"}, one(done), one(notDone)},
	{[]string{"ln -s a link"}, one(done), one(notDone)},
	{[]string{"sed -i s/one/uno/ a"}, one(done), one(notDone)},
	{[]string{"cd dir", "echo x > y"}, one(done), one(notDone)},
	{[]string{"cat > x <<'EOF'\none $two\n\tthree\nEOF\n"}, one(done), one(notDone)},
	{[]string{"cat <<-END > x\n\tone\n\tEND\ntouch y"}, one(done), one(notDone)},
	{[]string{"chmod u+x a"}, one(done), one(notDone)},
	{[]string{"rm -f nothing", "touch x"}, one(done), one(notDone)},
	{[]string{"echo x > y", "mv y z"}, one(done), one(notDone)},
	{[]string{"cp a x", "sed -i s/one/uno/ x"}, one(partly), one(notDone)},
	{[]string{"cat a b > all"}, one(partly), one(notDone)},
	{[]string{"cat a | sort > all"}, one(partly), one(notDone)},
	{[]string{"for i in 1 2 3; do echo $i > n$i; done"}, one(partly), one(notDone)},
	{[]string{"tar cf t.tar a b"}, one(partly), one(notDone)},
	{[]string{"./a.sh || touch x"}, one(partly), one(unknown)},
	{[]string{"sh -c 'touch x'"}, one(partly), one(unknown)},
	{[]string{"cat a", "ls"}, one(unknown), one(unknown)},
	{[]string{"sleep 0"}, one(unknown), one(unknown)},
}

func one(v pawl.OperationVerdict) []pawl.OperationVerdict { return []pawl.OperationVerdict{v} }

// TestCommands carries scripts out for real, up to each of their parts.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, s := range scripts {
		script := strings.Join(s.parts, " && ")
		for n := range len(s.parts) + 1 {
			w := newWorld(t, files)
			o := w.mean("Bash", map[string]any{"command": script})
			if n > 0 {
				w.sh(strings.ReplaceAll(strings.Join(s.parts[:n], " && "), "./a.sh", "false"))
			}
			switch when := fmt.Sprintf("up to part %d", n); n {
			case 0:
				w.expect(o, when, s.before...)
			case len(s.parts):
				w.expect(o, when, s.whole...)
			default:
				if s.parts[0] == "cd dir" || s.parts[0] == "cat a" || s.parts[0] == "rm -f nothing" {
					w.expect(o, when, s.before...)
				} else if s.parts[n] == "sleep 0" {
					w.expect(o, when, s.whole...)
				} else {
					w.expect(o, when, partly)
				}
			}
		}
	}
}

// TestCutOffWrites: what a command was writing when it was killed is not taken for whole.
func TestCutOffWrites(t *testing.T) {
	t.Parallel()
	for script, do := range map[string]string{
		"echo hello world > x":        "printf hel > x",
		"printf 'hello world' >> log": "printf hel >> log",
		"cp a b":                      "printf on > b",
		"rm -rf dir":                  "touch dir/d; rm dir/d",
		"mkdir -p dir/new/deep/er":    "mkdir dir/new",
		"mkdir -p new other/deep":     "mkdir new other",
		"cat a > x":                   ": > x",
	} {
		w := newWorld(t, files)
		o := w.mean("Bash", map[string]any{"command": script})
		w.sh(do)
		w.expect(o, "cut off", partly)
	}
}

// TestFailedParts: the traces of the last command say that those before it have ended, and not that they went well.
func TestFailedParts(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]pawl.OperationVerdict{
		"echo x | tee x; touch y": partly, "cp a z; touch y": partly, "cp a z && touch y": done, "echo x > z; mv z y": done, "rm -f z; touch y": done,
	} {
		w := newWorld(t, files)
		o := w.mean("Bash", map[string]any{"command": script})
		w.sh("touch y")
		w.expect(o, "when the last was done alone", want)
	}
}

func TestCommits(t *testing.T) {
	t.Parallel()
	o := &pawl.OperationState{Operation: pawl.Operation{Kind: pawl.OperationCommand, Summary: "git add -A && git commit -m x", Head: "aaa"}}
	for head, want := range map[string]pawl.OperationVerdict{"aaa": notDone, "bbb": done} {
		if got := operations.Judge(o, operations.World{Look: func(string) operations.Look { return operations.Look{} }, Head: head}); got.Verdict != want {
			t.Errorf("HEAD at %s: %+v", head, got)
		}
	}
}

// TestProcesses: what still runs is not done, what may run is not to be done again, and what only may be of it proves nothing.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		process operations.Process
		want    pawl.OperationVerdict
	}{
		{operations.Process{Sure: true}, partly},
		{operations.Process{Shared: true}, unknown},
		{operations.Process{}, notDone},
	} {
		w := newWorld(t, files)
		o := w.mean("Bash", map[string]any{"command": "touch x"})
		c.process.Text = "process 7"
		got := operations.Judge(o, operations.World{Look: w.look, Processes: []operations.Process{c.process}})
		if got.Verdict != c.want || got.Traces != notDone || !strings.Contains(strings.Join(got.Evidence, ";"), "process 7") {
			t.Errorf("%+v: %+v", c.process, got)
		}
	}
}

// TestAsked: a call for which permission was asked counts as refused only if it would have left traces here, and none is there.
func TestAsked(t *testing.T) {
	t.Parallel()
	const elsewhere = "for i in 1 2; do echo $i > /elsewhere/lib/new-$i; done"
	running := []operations.Process{{Text: "process 7", Sure: true}}
	for _, c := range []struct {
		script, did string
		processes   []operations.Process
		want        pawl.OperationVerdict
	}{
		{"touch x", ":", nil, pawl.OperationRefused},
		{"mkdir -p dir", ":", nil, pawl.OperationRefused},
		{"touch x", "touch x", nil, done},
		{"touch x && touch y", "touch x", nil, partly},
		{"git push", ":", nil, unknown},
		{elsewhere, ":", nil, unknown},
		{"mkdir -p dir", ":", running, done},
		{"touch x", ":", running, partly},
		{"touch x", ":", []operations.Process{{Text: "process 7", Shared: true}}, unknown},
	} {
		w := newWorld(t, files)
		o := w.mean("Bash", map[string]any{"command": c.script})
		o.Asked = time.Now()
		w.sh(c.did)
		found := w.found(o)
		found.Processes = c.processes
		if got := operations.Judge(o, found); got.Verdict != c.want {
			t.Errorf("%s: %+v, want %s", c.script, got, c.want)
		}
	}
}

// TestOthers: what another command may have changed proves nothing of this one, unless this one names it.
func TestOthers(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]pawl.OperationVerdict{"make all": unknown, "make x.o": partly} {
		w := newWorld(t, files)
		o := w.mean("Bash", map[string]any{"command": script})
		o.Overlaps = true
		w.put("x.o", "made")
		w.expect(o, "beside another", want)
	}
}

// TestSameText: a file that another call changed may end with the text because that call appended it. A file that has no other
// content than the text is as the call would leave it, whoever wrote it; so it does not prove that the parts before ran.
func TestSameText(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]pawl.OperationVerdict{
		"echo more >> log": unknown, "echo more > log": done, "echo x | tee -a other && echo more > log": partly,
	} {
		w := newWorld(t, files)
		o := w.mean("Bash", map[string]any{"command": script})
		o.Others = []string{"log"}
		w.put("log", "more\n")
		w.put("other", "x\n")
		w.expect(o, "after another call with the same text", want)
	}
}

// TestNamedFolder: a folder that the call names, and that changed, was made by it, or another call removed something from it.
func TestNamedFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files)
	o := w.mean("Bash", map[string]any{"command": "mkdir -p made/b; (exit 4)"})
	o.Overlaps = true
	w.sh("mkdir -p made/b")
	w.expect(o, "beside a command that may have changed anything", unknown)
}

func TestBlind(t *testing.T) {
	t.Parallel()
	o := &pawl.OperationState{Operation: pawl.Operation{Kind: pawl.OperationCommand, Summary: "make"}}
	if got := operations.Judge(o, operations.World{Blind: "it took too long"}); got.Verdict != unknown || !strings.Contains(fmt.Sprint(got.Evidence), "too long") {
		t.Errorf("%+v", got)
	}
}

// TestSecretNames: what was not kept of a name for a secret's sake is not looked at, and so nothing is said of it.
func TestSecretNames(t *testing.T) {
	t.Parallel()
	hide := strings.NewReplacer("s3cr3t", "[redacted:token]").Replace
	for tool, in := range map[string]map[string]any{
		"Write": {"file_path": "s3cr3t/x", "content": "one\n"}, "NotebookEdit": {"notebook_path": "x-s3cr3t"},
		"Bash": {"command": "touch x-s3cr3t"}, "shell": {"command": "touch x", "workdir": "s3cr3t"},
	} {
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, map[string]string{"s3cr3t/y": "y"})
		o := operations.Intent(operations.Call{Tool: tool, Input: data, Dir: w.root, Root: w.root, Read: os.ReadFile, Redact: hide})
		if kept := fmt.Sprint(o); strings.Contains(kept, "s3cr3t") || !strings.Contains(kept, "[redacted:token]") {
			t.Errorf("kept: %s", kept)
		}
		state := &pawl.OperationState{Operation: o, Began: time.Now()}
		state.Clock = time.Now().Add(-time.Hour)
		want := []pawl.OperationVerdict{unknown}
		if o.Kind == pawl.OperationCommand {
			want = []pawl.OperationVerdict{partly} // something was changed
		}
		w.expect(state, "with a secret name", want...)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	same := operations.Digest("Bash", []byte(`{"a":1,"b":[2]}`))
	if operations.Digest("Bash", []byte("{ \"b\": [2],\n \"a\": 1 }")) != same || operations.Digest("Edit", []byte(`{"a":1,"b":[2]}`)) == same {
		t.Error("a digest tells calls apart, and nothing else")
	}
}

// FuzzCommand reads any text as a command: nothing panics, and of an untouched world nothing is said to be done but what is
// so already.
func FuzzCommand(f *testing.F) {
	for _, s := range scripts {
		f.Add(strings.Join(s.parts, "; "))
	}
	f.Add("echo 'a\nb' >| x 2>&1 < in &> out # comment")
	f.Add("cat <<EOF > x\nhello\nEOF\n")
	f.Add("X=1 sudo -u me env A=b nohup timeout 5 rm -- \"$f\"")
	f.Fuzz(func(t *testing.T, text string) {
		o := &pawl.OperationState{Operation: pawl.Operation{Kind: pawl.OperationCommand, Summary: text, Clock: time.Unix(1, 0)}}
		verdict := operations.Judge(o, operations.World{Look: func(string) operations.Look { return operations.Look{} }}).Verdict
		if verdict == partly || verdict == done && !strings.Contains(text, "rm") && !strings.Contains(text, "unlink") {
			t.Errorf("%q: %s, and nothing was changed", text, verdict)
		}
	})
}
