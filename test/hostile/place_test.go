//go:build linux

package hostile

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/test/stories/storytest"
)

// untrusted requires that the project of a world is refused, and that hooks are silent.
func (w *world) untrusted() {
	w.Helper()
	w.silent("claude", false)
	w.silent("gemini", false)
	w.refused(w.pawl("resume"), "pawl trust")
	w.refused(w.pawl("run", "--", "true"), "pawl trust")
	w.quoted(w.pawl("status"))
}

// losses are ways in which a project of the user's is trusted no longer.
var losses = map[string]func(w *world){
	"the record is revoked":    func(w *world) { w.succeed("trust", "--revoke") },
	"the value is gone":        func(w *world) { w.must(os.Remove(w.pawlDir("local"))) },
	"another value":            func(w *world) { w.write(w.pawlDir("local"), strings.Repeat("cd", 32)+"\n") },
	"the state folder is gone": func(w *world) { w.must(os.RemoveAll(w.path("state"))) },
	"an empty state folder": func(w *world) {
		w.must(os.RemoveAll(w.path("state")))
		w.must(mkdir(w.path("state")))
	},
	"a state folder that cannot exist": func(w *world) { w.env = append(w.env, "PAWL_STATE=/proc/none") },
	"another home": func(w *world) {
		w.env = append(w.env, "PAWL_STATE=", "XDG_STATE_HOME=", "HOME="+w.path("victim"))
	},
	"a state folder in the project": func(w *world) {
		w.copyTree(w.path("state"), w.path("work", ".state"))
		w.env = append(w.env, "PAWL_STATE="+w.path("work", ".state"))
	},
	"a state folder of XDG in the project": func(w *world) {
		w.must(mkdir(w.path("work", ".state")))
		w.copyTree(w.path("state"), w.path("work", ".state", "pawl"))
		w.env = append(w.env, "PAWL_STATE=", "XDG_STATE_HOME="+w.path("work", ".state"))
	},
	"a state folder in .pawl": func(w *world) {
		w.copyTree(w.path("state"), w.pawlDir("state"))
		w.env = append(w.env, "PAWL_STATE="+w.pawlDir("state"))
	},
	"a copy": func(w *world) {
		w.copyTree(w.root, w.path("copied"))
		w.root = w.path("copied")
	},
	"an archive with the value of one that was trusted before it": func(w *world) {
		w.write(w.pawlDir("local"), strings.Repeat("cd", 32)+"\n")
		w.succeed("trust", "--yes")
		w.copyTree(w.root, w.path("next"))
		w.must(os.RemoveAll(w.root))
		w.root = w.path("next")
	},
	"a clone with the committed value": func(w *world) {
		w.sh(`git add -f .pawl; git commit -qm all; git clone -q . ../cloned`)
		w.root = w.path("cloned")
	},
	"a worktree with the committed value": func(w *world) {
		w.sh(`git add -f .pawl; git commit -qm all; git worktree add -q ../tree`)
		w.root = w.path("tree")
	},
}

// TestLosses requires that such a project is untrusted.
func TestLosses(t *testing.T) {
	t.Parallel()
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOwn(t)
			lose(w)
			w.unharmed(true, w.untrusted)
		})
	}
}

// TestCommittedValue requires that a clone that brings the value cannot be trusted, and says why.
func TestCommittedValue(t *testing.T) {
	t.Parallel()
	w := newOwn(t)
	losses["a clone with the committed value"](w)
	w.unharmed(true, func() {
		r := w.pawl("trust", "--yes")
		if r.code != 5 || !strings.Contains(r.errOut, "git tracks .pawl/local") {
			t.Errorf("%+v", r)
		}
		w.untrusted()
	})
}

// TestReadOnlyState works in a trusted project whose state folder cannot be written: reading works, and nothing is lost.
func TestReadOnlyState(t *testing.T) {
	t.Parallel()
	w := newOwn(t)
	w.giveAway(65534, w.root, w.path("home"))
	w.sh(`chmod -R a+rX,a-w "$W/state"`)
	w.unharmed(false, func() {
		if r := w.pawl("status"); r.code != 0 {
			t.Errorf("%+v", r)
		}
		w.hooks("claude")
		w.tryAll("run -- true", "resume own", "learn x")
	})
}

// giveAway gives folders to a user without rights, who runs the commands from now on. A user of the tests who is not root keeps them.
func (w *world) giveAway(uid int, folders ...string) {
	w.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for dir := w.dir; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		w.must(os.Chmod(dir, 0o755))
	}
	for _, folder := range folders {
		w.sh(`chown -R ` + itoa(uid) + ` '` + folder + `'`)
	}
	w.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
}

// TestPawlFolder replaces .pawl itself.
func TestPawlFolder(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a link to a trusted project": `ln -s "$W/own/.pawl" .pawl`,
		"a link to another folder":    `mv .pawl0 real; ln -s real .pawl`,
		"a link to the system":        `ln -s /etc .pawl`,
		"a link to a device":          `ln -s /dev/zero .pawl`,
		"a link to the user's folder": `ln -s "$W/home" .pawl`,
		"a link to itself":            `ln -s .pawl .pawl`,
		"a link to nothing":           `ln -s "$W/victim/new" .pawl`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHostile(t)
			w.copyTree(filepath.Join(ownDir(t), "work"), w.path("own"))
			w.must(os.Rename(w.pawlDir(), w.path("work", ".pawl0")))
			w.sh(script)
			w.unharmed(true, func() {
				for _, line := range []string{"init", "status", "resume", "run -- true", "trust --yes", "attach claude", "learn x"} {
					w.refused(w.pawl(strings.Fields(line)...), "")
				}
				for _, agent := range agentNames {
					if r := w.run(w.payload(agent, "SessionStart"), storytest.PawlHook(t), "hook", agent); strings.Contains(r.out, marker) || r.code != 0 ||
						agent == "claude" && !strings.Contains(r.out, "pawl: not recording here, this folder's .pawl is a symbolic link") {
						t.Errorf("%+v", r)
					}
				}
			})
		})
	}
	for name, script := range map[string]string{"a file": `: > .pawl`, "a pipe": `mkfifo .pawl`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHostile(t)
			w.must(os.RemoveAll(w.pawlDir()))
			w.sh(script)
			w.unharmed(true, func() { w.tryAll("init", "status", "resume", "run -- true", "trust --yes", "attach claude", "learn x") })
		})
	}
}

// TestNearer opens an agent in a trusted project with an untrusted .pawl in a folder of it. The session stays with the project.
func TestNearer(t *testing.T) {
	t.Parallel()
	w := newOwn(t)
	w.copyTree(filepath.Join(attackDir(t), "work"), w.path("work", "vendored"))
	w.toldNothing("claude", w.hooks("claude"))
	w.root = w.path("work", "vendored")
	w.unharmed(true, func() {
		w.toldNothing("codex", w.hooks("codex"))
		w.refused(w.pawl("resume"), "pawl trust")
	})
}

// TestRegisteredByOldVersion has a project of commit b00d6f3, which adopted any .pawl in which "mcp" or "resume" was run. It is
// not trusted without a yes. With it, its runs count as the user's, unless git tracks them.
func TestRegisteredByOldVersion(t *testing.T) {
	t.Parallel()
	for _, tracked := range []bool{false, true} {
		w := newWorld(t)
		old := filepath.Join("..", "compat", "testdata", "b00d6f3", "project.tar.gz")
		if out, err := exec.Command("tar", "-xzf", old, "-C", w.dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		w.must(os.Rename(w.path("project"), w.root))
		w.register()
		if tracked {
			w.sh(`git init -q . 2>/dev/null; git add -f .pawl/runs .pawl/project.json; git commit -qm all`)
		}
		w.unharmed(true, w.untrusted)
		w.succeed("trust", "--yes")
		w.write(w.path("work", "go"), "") // the item that was killed waits for it
		r := w.pawl("resume")
		if want := map[bool]int{false: 3, true: 5}[tracked]; r.code != want {
			t.Errorf("tracked: %t: %+v", tracked, r)
		}
		if tracked && !strings.Contains(r.errOut, "hint: pawl adopt ") {
			t.Errorf("%+v", r)
		}
	}
}

// register adds the project to the user's registry, as the older version did.
func (w *world) register() {
	w.Helper()
	var who struct{ ID string }
	w.must(json.Unmarshal([]byte(w.read(w.pawlDir("project.json"))), &who))
	entry, err := json.Marshal(map[string]string{"id": who.ID, "path": w.root})
	w.must(err)
	w.write(w.path("state", "projects", who.ID+".json"), string(entry))
}
