//go:build linux

package hostile

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pawl/test/cases"
)

// Users of these tests. Only root can act as several.
const (
	victim   = 65534
	attacker = 54321
)

// asUsers returns if this process can act as several users. Otherwise it runs the test again, as root in a user namespace of its own with
// the subordinate ids of /etc/subuid, and returns false.
func asUsers(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		return true
	}
	out, err := exec.Command("unshare", "--user", "--map-root-user", "--map-auto", os.Args[0], "-test.run", "^"+t.Name()+"$").CombinedOutput()
	if err != nil {
		t.Fatalf("this test acts as several users: run it as root, or give this user subordinate ids in /etc/subuid and /etc/subgid and install newuidmap: %v\n%s", err, out)
	}
	return false
}

// owners are projects in which something belongs to another user. In each, the victim works, or root with some environment; refused says
// if pawl must refuse the project even with "pawl trust".
var owners = map[string]struct {
	make    func(w *world)
	refused string
}{
	"all of the project": {func(w *world) {
		w.sh(`chown -R 54321 .`)
		w.victimAtHome()
	}, "belongs to another user"},
	"only .pawl": {func(w *world) {
		w.victimAtHome(w.root)
		w.sh(`chown -R 54321 .pawl`)
	}, "belongs to another user"},
	"a shared folder with t-bit": {func(w *world) { w.shareAbove(`1777`) }, "belongs to another user"},
	"a shared folder":            {func(w *world) { w.shareAbove(`0777`) }, "belongs to another user"},
	"a .pawl of root": {func(w *world) {
		w.victimAtHome(w.root)
		w.sh(`chown -R 0 .pawl; chmod -R a+rwX .pawl`)
	}, "belongs to another user"},
	"root in a user's project":                    {func(w *world) { w.sh(`chown -R 54321 .`) }, "belongs to another user"},
	"root in another user's project than sudo's":  {func(w *world) { w.sudo(54322); w.sh(`chown -R 54321 .`) }, "belongs to another user"},
	"sudo with a user id that is none":            {func(w *world) { w.setenv("SUDO_UID", "54321x"); w.sh(`chown -R 54321 .`) }, "belongs to another user"},
	"a user who claims that sudo was called":      {func(w *world) { w.setenv("SUDO_UID", "54321"); w.sh(`chown -R 54321 .`); w.victimAtHome() }, "belongs to another user"},
	"sudo in the own project, with the own state": {func(w *world) { w.sudo(54321); w.sh(`chown -R 54321 . "$W/home" "$W/state"`) }, "another user (id 54321): set PAWL_STATE"},
	"sudo in the own project, with the own home": {func(w *world) {
		w.sudo(54321)
		w.setenv("PAWL_STATE", "")
		w.sh(`chown -R 54321 . "$W/home"`)
	}, "another user (id 54321): set PAWL_STATE"},
	"sudo in the own project": {func(w *world) { w.sudo(54321); w.sh(`chown -R 54321 .`) }, ""},
	"a state folder of another user": {func(w *world) {
		w.victimAtHome(w.root)
		w.sh(`chown -R 54321 "$W/state"; chmod -R a+rwX "$W/state"`)
	}, "another user (id 54321): set PAWL_STATE"},
	"a state folder that another user may make": {func(w *world) {
		w.victimAtHome(w.root)
		w.sh(`mkdir -m 0777 "$W/open"; chown 54321 "$W/open"`)
		w.setenv("PAWL_STATE", w.path("open", "state"))
	}, "another user (id 54321): set PAWL_STATE"},
}

// TestOwners requires that pawl adopts nothing of another user, not even with a yes.
func TestOwners(t *testing.T) {
	if !asUsers(t) {
		return
	}
	for name, c := range owners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHostile(t)
			w.must(mkdir(w.path("state")))
			c.make(w)
			w.unharmed(true, func() {
				w.silent("claude", false)
				w.refused(w.pawl("resume"), "")
				w.refused(w.pawl("run", "--", "true"), "")
				if c.refused == "" {
					return
				}
				r := w.pawl("trust", "--yes")
				if r.code != 5 || !strings.Contains(r.errOut, c.refused) {
					t.Errorf("%+v", r)
				}
			})
			if c.refused == "" {
				w.succeed("trust", "--yes")
			}
		})
	}
}

// victimAtHome gives the home and state folders, and others, to the victim, who runs the commands from now on.
func (w *world) victimAtHome(folders ...string) {
	w.Helper()
	w.giveAway(victim, append(folders, w.path("home"), w.path("state"))...)
}

// sudo is the environment of sudo, called by a user.
func (w *world) sudo(uid int) { w.setenv("SUDO_UID", itoa(uid)) }

func (w *world) setenv(name, value string) {
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	if value != "" {
		w.env = append(w.env, name+"="+value)
	}
}

// shareAbove moves the attacker's .pawl to a folder that all users share, and has another user work in a folder below it.
func (w *world) shareAbove(mode string) {
	w.Helper()
	w.sh(`chown -R 54321 .; chmod ` + mode + ` .; chmod -R a+rwX .pawl; mkdir mine`)
	w.victimAtHome(w.path("work", "mine"))
	w.root = w.path("work", "mine")
}

// lateOwners change a trusted project of the victim's: other users can write in it, or own something in it.
var lateOwners = map[string]func(w *world){
	"project.json of another user":     func(w *world) { w.sh(`chown 54321 .pawl/project.json`) },
	"the value of another user":        func(w *world) { w.sh(`chown 54321 .pawl/local`) },
	"settings of another user":         func(w *world) { w.plantAs(`cp "$A/work/.pawl/config.yaml" .pawl/config.yaml`, ".pawl/config.yaml") },
	"a memory of another user":         func(w *world) { w.plantAs(`cp "$A/work/.pawl/MEMORY.md" .pawl/MEMORY.md`, ".pawl/MEMORY.md") },
	"runs of another user":             func(w *world) { w.plantAs(`cp -a "$A"/work/.pawl/runs/planted-* .pawl/runs/`, ".pawl/runs/planted-*") },
	"a journal of another user":        func(w *world) { w.sh(`chown 54321 .pawl/runs/own-*/journal.jsonl`) },
	"a state of another user":          func(w *world) { w.sh(`chown 54321 .pawl/runs/own-*/state.json`) },
	"a plan of another user":           func(w *world) { w.sh(`chown 54321 .pawl/runs/own-*/plan.yaml`) },
	"a folder of runs of another user": func(w *world) { w.sh(`chown 54321 .pawl/runs .pawl/runs/own-*`) },
	"a lock of another user":           func(w *world) { w.sh(`chown 54321 .pawl/engine.lock .pawl/edit.lock 2>/dev/null || true`) },
	"a .pawl that others may write": func(w *world) {
		w.sh(`chmod -R g+rwX,o+rwX .pawl`)
		w.plantAs(`cp -a "$A"/work/.pawl/runs/planted-* .pawl/runs/`, ".pawl/runs/planted-*")
	},
	"a .pawl that its group may write": func(w *world) { w.sh(`chmod -R g+rwX .pawl`) },
	"all given to another user":        func(w *world) { w.sh(`chown -R 54321 .`) },
	"a plan file of another user":      func(w *world) { w.sh(`chown 54321 own.yaml; chmod a+w own.yaml`) },
	"a repository of another user": func(w *world) {
		w.sh(`chown 0 . .git .git/config`)
		w.armGit()
		w.sh(`chown -R 65534 .; chown -R 54321 .git`)
	},
	"records of attempts of another one": func(w *world) { w.sh(`chown -R 54321 .pawl/runs/mine-*/steps`) },
}

// plantAs adds files and gives them to the attacker.
func (w *world) plantAs(script, files string) {
	w.Helper()
	w.sh(script + "; chown -R 54321 " + files)
}

// TestLateOwners: whatever becomes another user's in a trusted project, nothing of it is executed or told, and pawl says what is wrong.
func TestLateOwners(t *testing.T) {
	if !asUsers(t) {
		return
	}
	for i, name := range slices.Sorted(maps.Keys(lateOwners)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOwn(t)
			w.victimAtHome(w.root)
			lateOwners[name](w)
			w.unharmed(false, func() {
				w.toldNothing("claude", w.hooks("claude"))
				w.toldNothing("brief", w.pawl("brief", "--for", "claude").out)
				w.tryAll(cases.Some([]string{"status", "memory", "verify", "why", "learn x", "checkpoint", "run -- true", "resume planted", "resume mine", "resume own",
					"trust --yes", "doctor", "archive", "prune"}, i, 6)...)
			})
			if _, err := os.Lstat(w.path("work", "ran.txt")); err == nil {
				t.Error("a step behind an open gate was executed")
			}
		})
	}
}
