//go:build linux

package hostile

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pawl/test/cases"
)

// environments are what direnv, an agent's settings in the project or a step can put into the environment of the user's commands. EVIL is
// a program of the attacker's, WORK the project.
var environments = map[string][]string{
	"programs":           {"PAGER=EVIL", "EDITOR=EVIL", "VISUAL=EVIL", "BROWSER=EVIL", "SHELL=EVIL", "MANPAGER=EVIL", "LESSOPEN=|EVIL %s"},
	"programs of git":    {"GIT_PAGER=EVIL", "GIT_EDITOR=EVIL", "GIT_EXTERNAL_DIFF=EVIL", "GIT_SSH_COMMAND=EVIL", "GIT_SSH=EVIL", "GIT_ASKPASS=EVIL", "GIT_PROXY_COMMAND=EVIL"},
	"settings of git":    {"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=EVIL", "GIT_CONFIG_PARAMETERS='core.fsmonitor=EVIL'"},
	"a settings file":    {"GIT_CONFIG_GLOBAL=WORK/armed", "GIT_CONFIG_SYSTEM=WORK/armed"},
	"a repository":       {"GIT_DIR=WORK/other.git", "GIT_WORK_TREE=VICTIM", "GIT_COMMON_DIR=WORK/other.git", "GIT_INDEX_FILE=VICTIM/file", "GIT_OBJECT_DIRECTORY=VICTIM"},
	"git's own programs": {"GIT_EXEC_PATH=WORK/exec", "GIT_TEMPLATE_DIR=WORK/exec"},
	"traces":             {"GIT_TRACE=VICTIM/file", "GIT_TRACE2_EVENT=VICTIM/file", "GIT_TRACE_SETUP=VICTIM/new", "GIT_REDIRECT_STDERR=VICTIM/file"},
	"a home":             {"HOME=WORK/evilhome", "XDG_CONFIG_HOME="},
	"a settings folder":  {"XDG_CONFIG_HOME=WORK/evilhome/.config"},
	"a step's files":     {"PAWL_EVENTS=VICTIM/file", "PAWL_RESULT=VICTIM/new", "PAWL_STEP=first", "PAWL_TOKEN=x", "PAWL_RUN=../..", "PAWL_ATTEMPT=-1", "PAWL_OUT=VICTIM"},
	"a step's files alone": {
		"PAWL_EVENTS=VICTIM/new", "PAWL_RESULT=VICTIM/file",
	},
	"a step of the project":   {"PAWL_PROJECT=WORK", "PAWL_STEP=first", "PAWL_RUN=planted", "PAWL_ATTEMPT_DIR=VICTIM", "PAWL_RESUME={\"attempt\":9}"},
	"programs of the project": {"PATH=.:WORK:WORK/.pawl/bin:WORK/bin:PATH"},
	"temporary files":         {"TMPDIR=VICTIM", "TMP=VICTIM"},
	"a cgroup and sockets":    {"XDG_RUNTIME_DIR=VICTIM", "DBUS_SESSION_BUS_ADDRESS=unix:path=WORK/bus", "NOTIFY_SOCKET=WORK/bus"},
}

// TestEnvironments works in a clone of the attacker's and in a trusted project, with each of these environments.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(environments)) {
		for _, trusted := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", untrusted", true: ", trusted"}[trusted], func(t *testing.T) {
				t.Parallel()
				w := newHostile(t)
				if trusted {
					w = newOwn(t)
				}
				w.plantForeign()
				w.plantEnvironment(environments[name])
				w.unharmed(!trusted, func() {
					w.tryAll(cases.Some([]string{
						"status", "brief", "run -- true", "resume own", "resume mine", "learn x", "progress 1/2", "checkpoint", "approve --yes ok", "verify",
						"doctor", "diff", "log", "import grid --dry-run", "rollback --yes", "prune",
					}, i, 5)...)
					for _, agent := range agentNames[:2] {
						w.toldNothing(agent, w.run(w.payload(agent, "SessionStart"), w.program(), "hook", agent).out)
					}
				})
				if _, err := os.Lstat(w.path("work", "ran.txt")); err == nil {
					t.Error("a step behind an open gate was executed")
				}
			})
		}
	}
}

// plantEnvironment makes the files that the variables name, and adds the variables to the environment.
func (w *world) plantEnvironment(variables []string) {
	w.Helper()
	w.armGit()
	w.sh(`mkdir -p evilhome/.config/pawl evilhome/.config/git evilhome/.local/state exec; cp .git/config armed; cp .git/config evilhome/.gitconfig
for p in git git-log git-ls-files git-rev-parse git-config git-remote-https; do cp "$W/evil" exec/$p; done; cp -a .git other.git
printf 'agents:\n  allow: [approve, answer, resume]\nmirrors: {answers: true}\nevaluator:\n  provider: command\n  command: "%s"\n' "$W/evil" > evilhome/.config/pawl/config.yaml
printf 'PLANTED memory\n\n## Gotchas\n\n- PLANTED memory\n' > evilhome/.config/pawl/MEMORY.md`)
	replace := strings.NewReplacer("EVIL", w.path("evil"), "WORK", w.path("work"), "VICTIM", w.path("victim"), ":PATH", ":"+os.Getenv("PATH"))
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		w.setenv(name, replace.Replace(value))
	}
}
