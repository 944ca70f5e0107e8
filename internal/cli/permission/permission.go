// Package permission says which commands a caller may use: some are for persons, some not for a step on its own project.
package permission

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/config"
)

// personVerbs are commands that only a person may use: what runs under pawl, in whatever project, may not.
var personVerbs = []string{"approve", "answer", "reject", "review", "trust", "adopt", "done", "serve", "store", "remote", "worker"}

// workingVerbs are commands that a step may not use on its own project. An agent may, unless the user's settings refuse it.
var workingVerbs = []string{
	"archive", "attach", "clone", "detach", "fork", "import", "kernel", "notebook", "pause", "prune", "pull", "push", "recover", "restore", "resume", "retry", "rollback", "run", "skip", "stop", "unblock",
}

// workingFlags make another command a working verb.
var workingFlags = []string{"end", "repair"}

// freeVerbs are the other commands: they read, or record what their caller says. An agent may use them, unless the user's settings
// refuse it.
var freeVerbs = []string{
	"ask", "block", "brief", "checkpoint", "checkpoints", "decide", "diff", "doctor", "explain", "export", "gates", "init", "learn", "log", "mcp",
	"memory", "output", "plan", "processes", "progress", "runs", "schema", "settle", "show", "stats", "status", "verify", "version", "watch", "why",
}

// MirrorAnswers is the flag that lets answers in mirrored files count.
const MirrorAnswers = "mirror-answers"

// Verb is a command, as far as it matters who may use it.
type Verb struct {
	Name      string
	ForPerson bool // only a person may use it
	Working   bool // a step may not use it on its own project
}

// Of returns the command as a verb, and whether it is one: help and the completion of names are none. dry reports that the command
// changes nothing, and changed whether a flag was given.
func Of(command string, dry bool, changed func(flag string) bool) (v Verb, known bool) {
	switch {
	case dry:
		return v, false
	case changed("install"), changed("uninstall"): // what runs then is not below this process
		return Verb{Name: command + " --install", ForPerson: true}, true
	case changed("take-over"):
		return Verb{Name: command + " --take-over", ForPerson: true}, true
	case changed(MirrorAnswers):
		return Verb{Name: command + " --" + MirrorAnswers, ForPerson: true}, true
	}
	for _, flag := range workingFlags {
		if changed(flag) {
			return Verb{Name: command + " --" + flag, Working: true}, true
		}
	}
	v = Verb{Name: command, ForPerson: slices.Contains(personVerbs, command), Working: slices.Contains(workingVerbs, command)}
	return v, v.ForPerson || v.Working || slices.Contains(freeVerbs, command)
}

// Check returns an error if the caller may not use a verb in the project at root. The error names no way around it.
func (v Verb) Check(who caller.Caller, root string) error {
	verb, forPerson := v.Name, v.ForPerson
	switch {
	case who.Kind == caller.Person:
		return nil
	case who.Kind == caller.Step && forPerson:
		return Refusal("pawl %s is for a person, and this process belongs to %s: %s", verb, who, who.Evidence)
	case who.Kind == caller.Step:
		if v.Working && who.InOwnProject(root) {
			return Refusal("a step may not use pawl %s on its own project, and this process belongs to %s: %s", verb, who, who.Evidence)
		}
		return nil
	}
	settings, err := config.ReadUserOf(who.Getenv, root) // the agent's own environment: it can give its commands another one
	switch {
	case err != nil:
		return err
	case slices.Contains(settings.Agents.Refuse, verb), slices.Contains(settings.Agents.Refuse, strings.Fields(verb)[0]):
		return Refusal("your settings refuse pawl %s to agents, and this process belongs to %s: %s", verb, who, who.Evidence)
	case forPerson && !slices.Contains(settings.Agents.Allow, verb):
		return Refusal("pawl %s is for a person, and this process belongs to %s: %s", verb, who, who.Evidence)
	}
	return nil
}

// Refusal is an error without a hint.
func Refusal(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf(format, args...)}
}
