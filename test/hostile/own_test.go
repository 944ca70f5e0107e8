//go:build linux

package hostile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pawl/test/cases"
	"pawl/test/stories/storytest"
)

// own is a project of the user's: a run that waits at a gate, one whose processes were killed, a note and a checkpoint.
const own = `
cd "$A/work"
git init -q .
echo content > file.txt
cat > own.yaml <<'END'
name: own
steps:
  - {id: first, run: 'echo x > own.txt', outputs: [own.txt]}
  - {id: ok, gate: {type: human_verify, ask: "Is it good?"}}
  - {id: second, run: 'echo ran >> ran.txt'}
END
cat > mine.yaml <<'END'
name: mine
steps:
  - {id: charge, idempotent: false, run: 'echo x > mine.txt; test -e go || sleep 1000', outputs: [mine.txt]}
END
git add file.txt
git commit -qm "own commit"
! pawl run own.yaml
pawl checkpoint
pawl learn "own note"
`

const ownKilled = `
cd "$A/work"
pawl run mine.yaml > "$A/mine.out" 2>&1 &
while ! [ -e mine.txt ]; do sleep 0.02; done
`

var (
	ownOnce sync.Once
	ownErr  error
)

// ownDir returns the folder with the user's project, which is made once: work is the project.
func ownDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(storytest.Pawl(t)), "own")
	ownOnce.Do(func() { ownErr = makeProject(t, dir, own, ownKilled) })
	if ownErr != nil {
		t.Fatal(ownErr)
	}
	return dir
}

// newOwn makes a machine whose project is the user's own, and trusted.
func newOwn(t *testing.T) *world {
	t.Helper()
	from := ownDir(t)
	w := newWorld(t)
	w.env = append(w.env, "A="+attackDir(t))
	w.copyTree(filepath.Join(from, "work"), w.root)
	w.copyTree(filepath.Join(from, "state"), w.path("state"))
	for _, pattern := range []string{"state/trusted/*/record.json", "state/projects/*.json", "work/.pawl/project.json"} {
		paths, err := filepath.Glob(w.path(pattern))
		w.must(err)
		for _, path := range paths {
			w.write(path, strings.ReplaceAll(w.read(path), filepath.Join(from, "work"), w.root))
		}
	}
	return w
}

// ownRun returns the name of the user's run of a plan.
func (w *world) ownRun(plan string) string {
	w.Helper()
	found, err := filepath.Glob(w.pawlDir("runs", plan+"-*"))
	w.must(err)
	if len(found) != 1 {
		w.Fatalf("runs of %s: %q", plan, found)
	}
	return filepath.Base(found[0])
}

// places are paths in the user's .pawl that an attacker can replace. OWN is the run that waits, MINE the one that was killed.
var places = strings.Fields(`
	project.json local config.yaml MEMORY.md .gitignore engine.lock edit.lock mirror.lock hook.log hook.log.old clock keeper.lock .doctor
	wanted.tool wanted.manual wanted.heartbeat
	runs/ runs/OWN/ runs/OWN/journal.jsonl runs/OWN/journal.lock runs/OWN/state.json runs/OWN/plan.yaml runs/OWN/STATE.md
	runs/OWN/CHECKPOINT.md runs/OWN/mirror.json runs/OWN/blobs/ runs/OWN/steps/ runs/OWN/steps/first/ runs/OWN/steps/second/
	runs/OWN/steps/first/1/exit.json runs/OWN/steps/first/1/out.log runs/MINE/steps/charge/1/ runs/MINE/steps/charge/1/begun.json
	runs/MINE/steps/charge/1/exit.json runs/MINE/steps/charge/1/job.json runs/MINE/steps/charge/1/lock runs/MINE/steps/charge/1/beat.json
	runs/MINE/steps/charge/1/result.json runs/MINE/steps/charge/1/events.jsonl runs/MINE/steps/charge/1/abort.json runs/MINE/journal.jsonl
	runs/MINE/STATE.md sessions/ sessions/claude:s1.json snapshots/ snapshots/lock snapshots/commit.lock snapshots/stat snapshots/index
	making/ archive/ bin/ bin/pawl attach/ attach/claude.json`)

// shapes are what an attacker puts in a place.
var shapes = map[string]func(w *world, path string, folder bool) error{
	"link": func(w *world, path string, folder bool) error {
		if folder {
			return os.Symlink(w.path("victim", "folder"), path)
		}
		return os.Symlink(w.path("victim", "file"), path)
	},
	"hard link": func(w *world, path string, _ bool) error {
		return os.Link(w.path("victim", "file"), strings.TrimSuffix(path, "/"))
	},
	"dangling link": func(w *world, path string, _ bool) error { return os.Symlink(w.path("victim", "new"), path) },
	"pipe":          func(_ *world, path string, _ bool) error { return exec.Command("mkfifo", path).Run() },
	"device":        func(_ *world, path string, _ bool) error { return os.Symlink("/dev/zero", path) },
	"other kind": func(w *world, path string, folder bool) error {
		if folder {
			return os.WriteFile(path, []byte(marker), 0o600)
		}
		return os.MkdirAll(filepath.Join(path, "x"), 0o700)
	},
}

// put replaces a place.
func (w *world) put(place, shape string) {
	w.Helper()
	path := w.pawlDir(strings.NewReplacer("OWN", w.ownRun("own"), "MINE", w.ownRun("mine")).Replace(place))
	w.must(errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o700)))
	w.must(shapes[shape](w, path, strings.HasSuffix(place, "/")))
}

// TestPlacesUntrusted replaces each place of a project and looks at it without trust.
func TestPlacesUntrusted(t *testing.T) {
	t.Parallel()
	for i, place := range places {
		for _, shape := range cases.Some([]string{"link", "pipe", "device"}, i, 1) {
			t.Run(strings.ReplaceAll(place, "/", "|")+" "+shape, func(t *testing.T) {
				t.Parallel()
				w := newOwn(t)
				w.put(place, shape)
				w.must(os.RemoveAll(w.path("state")))
				w.unharmed(true, func() {
					w.silent(agentNames[i%len(agentNames)], false)
					for _, line := range []string{"status", "brief", "doctor"} {
						w.clean(w.pawl(strings.Fields(line)...))
					}
					w.refused(w.pawl("resume"), "pawl trust")
				})
			})
		}
	}
}

// TestPlacesTrusted replaces each place of a trusted project, as a pull or an archive can, and works in it.
func TestPlacesTrusted(t *testing.T) {
	t.Parallel()
	for i, place := range places {
		for _, shape := range cases.Some(slices.Sorted(maps.Keys(shapes)), i, 1) {
			t.Run(strings.ReplaceAll(place, "/", "|")+" "+shape, func(t *testing.T) {
				t.Parallel()
				w := newOwn(t)
				w.put(place, shape)
				w.unharmed(false, func() {
					w.hooks(agentNames[i%len(agentNames)])
					w.tryAll("learn text", "run -- true", "resume mine", "resume own")
				})
			})
		}
	}
}

// tryAll runs commands, which may fail, but in time.
func (w *world) tryAll(lines ...string) {
	w.Helper()
	for _, line := range lines {
		w.clean(w.pawl(strings.Fields(line)...))
	}
}

// hooks has an agent begin and call a tool, and returns what it was told.
func (w *world) hooks(agent string) string {
	w.Helper()
	var said strings.Builder
	for _, name := range map[string][]string{
		"claude": {"SessionStart", "PreToolUse", "PostToolUse"}, "codex": {"SessionStart", "PreToolUse", "PostToolUse"},
		"gemini": {"SessionStart", "BeforeTool", "AfterTool"}, "opencode": {"SessionStart", "PreToolUse", "PostToolUse"},
		"copilot": {"SessionStart", "PreToolUse", "PostToolUse"},
	}[agent] {
		r := w.run(w.payload(agent, name), storytest.PawlHook(w.T), "hook", agent)
		if r.code != 0 || r.errOut != "" {
			w.Errorf("%s: %+v", name, r)
		}
		said.WriteString(r.out)
	}
	return said.String()
}

// makeProject makes a project by scripts, after each of which all of its processes are killed. dir has the project in work.
func makeProject(t testing.TB, dir string, scripts ...string) error {
	if err := os.MkdirAll(filepath.Join(dir, "work"), 0o755); err != nil {
		return err
	}
	for _, script := range scripts {
		cmd := exec.Command("sh", "-e")
		cmd.Stdin = strings.NewReader(strings.ReplaceAll(script, "CANARY", canary(t)))
		cmd.Dir = dir
		cmd.Env = []string{
			"A=" + dir, "PATH=" + filepath.Dir(storytest.Pawl(t)) + ":" + os.Getenv("PATH"), "HOME=" + dir, "PAWL_STATE=" + filepath.Join(dir, "state"),
			"USER=maker", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make %s: %w\n%s", dir, err, out)
		}
		if !storytest.Until(func() bool { killIn(dir); return len(storytest.RunningIn(dir)) == 0 }) { // a process may start another meanwhile
			return fmt.Errorf("processes in %s have not ended", dir)
		}
	}
	return nil
}
