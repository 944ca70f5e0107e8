//go:build linux

package hostile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pawl/test/cases"
	"pawl/test/stories/storytest"
)

// bombs are plans, journals and repositories that are expensive or odd to read. They lie in a trusted project, where a pull put them.
var bombs = map[string]func(w *world){
	"a plan with 200,000 steps": func(w *world) {
		w.sh(`{ echo 'name: own'; echo 'steps:'; seq 200000 | sed 's/.*/  - {id: s&, run: "true"}/'; } > own.yaml`)
	},
	"a plan with nested aliases": func(w *world) {
		var b strings.Builder
		b.WriteString("name: own\nx0: &x0 [a, a, a, a, a, a, a, a, a]\n")
		for i := 1; i < 12; i++ {
			fmt.Fprintf(&b, "x%d: &x%d [%s*x%d]\n", i, i, strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 8), i-1)
		}
		w.write(w.path("work", "own.yaml"), b.String()+"steps: *x11\n")
	},
	"a plan that contains itself":  func(w *world) { w.write(w.path("work", "own.yaml"), "name: own\nsteps: &s [*s]\n") },
	"a plan nested 1,000,000 deep": func(w *world) { w.write(w.path("work", "own.yaml"), strings.Repeat("[", 1_000_000)) },
	"a plan nested in mappings":    func(w *world) { w.write(w.path("work", "own.yaml"), strings.Repeat("{a: ", 100_000)) },
	"a plan with duplicate keys": func(w *world) {
		w.write(w.path("work", "own.yaml"), "name: own\nsteps: []\nsteps:\n  - {id: a, run: 'CANARY', run: 'true'}\n")
	},
	"a plan with huge numbers": func(w *world) {
		w.write(w.path("work", "own.yaml"), "name: own\nparallel: 99999999999999999999999\nsteps:\n  - {id: a, run: 'true', timeout: 999999999999999h, retry: {attempts: 1e308}}\n")
	},
	"JSON nested 1,000,000 deep": func(w *world) {
		deep := strings.Repeat(`{"a":`, 1_000_000)
		for _, name := range []string{"project.json", "runs/" + w.ownRun("own") + "/state.json", "runs/" + w.ownRun("mine") + "/steps/charge/1/begun.json"} {
			w.write(w.pawlDir(name), deep)
		}
	},
	"JSON with duplicate keys": func(w *world) {
		w.sh(`for f in .pawl/runs/mine-*/steps/charge/1/begun.json; do sed -i 's#^{#{"token":"../../x","token":1,#; s#}$#,"supervisor":{"pid":1},"supervisor":{"pid":-1}}#' $f; done
sed -i 's/^{/{"id":"..","id":"..",/' .pawl/project.json`)
	},
	"JSON with huge numbers": func(w *world) {
		w.sh(`for f in .pawl/runs/mine-*/steps/charge/1/begun.json .pawl/runs/mine-*/steps/charge/1/beat.json; do [ -e $f ] && sed -i -E 's/:[0-9.]+/:1e999/g' $f; done; true`)
	},
	"a journal whose numbers jump": func(w *world) {
		w.sh(`sed -i -E 's/^\{"seq":3,/{"seq":999999999999999999,/' .pawl/runs/own-*/journal.jsonl`)
	},
	"a journal with negative numbers": func(w *world) {
		w.sh(`sed -i -E 's/^\{"seq":3,"batch":[0-9]+/{"seq":-3,"batch":-3/' .pawl/runs/own-*/journal.jsonl`)
	},
	"a journal with the epoch of the end": func(w *world) {
		w.sh(`sed -i -E 's/"epoch":[0-9]+/"epoch":999999999999999999/' .pawl/runs/own-*/journal.jsonl`)
	},
	"a segment that names itself": func(w *world) {
		w.sh(`for j in .pawl/runs/own-*; do cp $j/journal.jsonl $j/journal.1.jsonl; cp $j/journal.jsonl $j/journal.9223372036854775807.jsonl; done`)
	},
	"a settings file of git that is a pipe": func(w *world) { w.sh(`rm .git/config; mkfifo .git/config`) },
	"an include of git that is a pipe":      func(w *world) { w.sh(`mkfifo .git/more; printf '[include]\n\tpath = more\n' >> .git/config`) },
	"an include of git without an end": func(w *world) {
		w.sh(`printf '[include]\n\tpath = config\n' >> .git/config; printf '[include]\n\tpath = /dev/zero\n' >> .git/config`)
	},
	"attributes of git that are a pipe": func(w *world) {
		w.sh(`mkfifo .gitattributes .git/info/attributes; rm -f .git/info/exclude; mkfifo .git/info/exclude`)
	},
	"refs of git that are pipes": func(w *world) {
		w.sh(`rm -f .git/packed-refs; mkfifo .git/packed-refs; b=$(git symbolic-ref HEAD); rm .git/$b; mkfifo .git/$b`)
	},
	"an index of git that lies elsewhere": func(w *world) { w.sh(`rm .git/index; ln -s "$W/victim/file" .git/index`) },
	"a work tree of git elsewhere":        func(w *world) { w.sh(`git config core.worktree "$W/victim"; git config core.bare false`) },
	".git that names a pipe":              func(w *world) { w.sh(`rm -rf .git; mkfifo p; echo "gitdir: p" > .git`) },
	".git that names itself":              func(w *world) { w.sh(`rm -rf .git; echo "gitdir: .git" > .git`) },
	"a submodule with programs": func(w *world) {
		w.sh(`git init -q sub; cd sub; echo x > x; git add x; git commit -qm x; git config core.fsmonitor "$W/evil"; cd ..; printf '[submodule "sub"]\n\tpath = sub\n\turl = ext::%s\n\tupdate = !%s\n' "$W/evil" "$W/evil" > .gitmodules; git add .gitmodules sub 2>/dev/null || true`)
		w.armGit()
	},
	"filters for all files": func(w *world) {
		w.armGit()
		w.sh(`printf '* filter=evil diff=evil merge=evil -text ident\n' > .gitattributes; cp .gitattributes .git/info/attributes; git config filter.evil.required true; git config merge.evil.driver "$W/evil"`)
	},
	"names with all kinds of bytes": func(w *world) {
		for _, name := range []string{"a\nb", "\x1b]0;PLANTED\a", "\u202ePLANTED", "\xff\xfe", strings.Repeat("x", 255), "-rf", "$(CANARY)", "`CANARY`", "a'b\"c", " ", "..."} {
			w.write(w.path("work", name), marker)
			w.write(w.path("work", "dir"+name[:min(len(name), 200)], "file"), marker)
		}
	},
	"names that differ in case": func(w *world) {
		w.sh(`mkdir -p .PAWL/runs .Git; cp .pawl/project.json .PAWL/; cp .git/config .Git/; echo a > File.txt; echo b > FILE.TXT; echo "$W" > Own.yaml`)
	},
	"a folder 500 deep": func(w *world) { w.sh(`for i in $(seq 500); do mkdir d; cd d; done; echo x > x`) },
}

// TestBombs works in a trusted project to which one of these arrived.
func TestBombs(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(bombs)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOwn(t)
			bombs[name](w)
			w.unharmed(false, func() {
				w.hooks("claude")
				if strings.Contains(name, "pipe") { // git waits for it, up to its limit
					w.tryAll("status", "checkpoint", "resume own")
					return
				}
				w.tryAll(cases.Some([]string{"status", "plan check own.yaml", "run own.yaml", "resume own", "resume mine", "brief", "verify", "checkpoint", "diff", "doctor", "why"}, i, 6)...)
			})
			if _, err := os.Lstat(w.path("work", "ran.txt")); err == nil {
				t.Error("a step behind an open gate was executed")
			}
		})
	}
}

// TestNamesAsItems runs a plan over files and lines whose names are odd. Each item runs once, no name is executed, and nothing printed
// controls the terminal.
func TestNamesAsItems(t *testing.T) {
	t.Parallel()
	w := newOwn(t)
	names := []string{"a\x1b[2Jb", "\u202eb", "$(CANARY)", "`CANARY`", "a;CANARY", "-rf", "../../victim/file", " x ", "\"'", strings.Repeat("y", 200), "A", "a"}
	w.write(w.path("work", "names.txt"), strings.Join(names, "\n")+"\n")
	for i, name := range []string{"n\nb", "\xff", "\x1b]0;PLANTED\a", "$(CANARY)", "-rf"} {
		w.write(w.path("work", "in", name), fmt.Sprint(i))
	}
	w.write(w.path("work", "odd.yaml"), `name: odd
steps:
  - {id: lines, foreach: {lines: names.txt}, run: 'printf "%s\n" "$PAWL_ITEM" >> lines.log'}
  - {id: files, foreach: {files: 'in/*'}, run: 'test -e "$PAWL_ITEM" && echo "$PAWL_ITEM" | wc -c >> files.log'}
`)
	w.unharmed(false, func() {
		w.tryAll("run odd.yaml", "status odd", "log odd", "brief odd", "output lines --run odd", "verify odd", "checkpoints odd")
	})
	if got := w.read(w.path("work", "lines.log")); strings.Count(got, "\n") != len(names) {
		t.Errorf("the items were %q", got)
	}
}

// TestSwappers lets a process of the attacker's replace places of a trusted project by links and back, as fast as it can, while pawl works.
func TestSwappers(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]string{
		"MEMORY.md": "MEMORY.md", "the runs": "runs", "a run": "runs/OWN", "an attempt": "runs/MINE/steps/charge/1", "snapshots": "snapshots", "sessions": "sessions",
		"locks": "edit.lock", ".pawl": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOwn(t)
			path := w.pawlDir(strings.NewReplacer("OWN", w.ownRun("own"), "MINE", w.ownRun("mine")).Replace(place))
			target := w.path("victim", "folder")
			if info, err := os.Lstat(path); err == nil && !info.IsDir() {
				target = w.path("victim", "file")
			}
			stop := w.swap(path, target)
			w.unharmed(false, func() {
				for range 2 {
					w.tryAll("learn x", "status", "checkpoint", "resume mine", "run -- true", "processes --end mine")
					w.run(w.payload("claude", "SessionStart"), storytest.PawlHook(t), "hook", "claude")
				}
				stop()
			})
		})
	}
}

// swap replaces a path by a link and back until the returned function is called.
func (w *world) swap(path, target string) (stop func()) {
	done := make(chan struct{})
	var ended sync.WaitGroup
	aside, link := filepath.Join(w.dir, "aside"), filepath.Join(w.dir, "link")
	ended.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Symlink(target, link) // pawl may have made something at the path meanwhile: then this round does nothing
			if os.Rename(path, aside) == nil {
				_ = os.Rename(link, path)
				_ = os.Remove(path)
				_ = os.Rename(aside, path)
			}
		}
	})
	return func() { close(done); ended.Wait() }
}

// TestLargePayloads sends hooks and the MCP server more than they take, and values of wrong types.
func TestLargePayloads(t *testing.T) {
	t.Parallel()
	w := newOwn(t)
	large := strings.Repeat("x", 100<<20)
	deep := strings.Repeat(`{"a":`, 1_000_000)
	w.unharmed(false, func() {
		for i, payload := range []string{
			`{"hook_event_name":"PreToolUse","session_id":"s1","tool_input":"` + large + `"}`, deep, "[]", "null", "7", `"x"`, "", "\x00", "{}{}",
			`{"hook_event_name":["x"],"session_id":{"a":1},"cwd":7,"tool_name":{},"tool_input":[[]],"transcript_path":"/dev/zero"}`,
			`{"hook_event_name":"PreToolUse","session_id":"../../../x","cwd":"/dev/zero","tool_name":"Write","tool_input":{"file_path":"/dev/zero","content":7}}`,
			`{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"` + w.root + `","tool_name":"Edit","tool_input":{"file_path":"/dev/zero","old_string":"a","new_string":"b"}}`,
		} {
			for _, agent := range cases.Some(agentNames, i, 2) {
				if r := w.run(payload, storytest.PawlHook(t), "hook", agent); r.code != 0 {
					t.Errorf("%s, %s: %+v", agent, clip(payload), r)
				}
			}
		}
		for _, lines := range []string{large, deep, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + deep} {
			if r := w.run(lines+"\n", w.program(), "mcp"); r.code != 0 {
				t.Errorf("mcp: %d %s", r.code, clip(r.errOut))
			}
		}
	})
}
