// Package caller identifies who runs this process: a person, a coding agent that pawl is attached to, or a step of a run.
//
// The answer does not depend on what the process says of itself. A step may clear the environment of its child, detach it
// or put it into another session: its ancestors, their environments and its control group still tell. What a process of
// the same user can hide nevertheless is listed in docs/trust.md.
package caller

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// Kind is the sort of caller.
type Kind string

// The sorts of callers.
const (
	Person Kind = "person"
	Agent  Kind = "agent" // a process below a recorded session of an attached agent, or below a connected MCP client
	Step   Kind = "step"  // a process of an attempt, or below an engine
)

// Caller is who runs this process.
type Caller struct {
	Kind     Kind
	Step     pawl.StepID // of a step; "" if unknown
	Run      pawl.RunID  // of a step; "" if unknown
	Name     string      // of an agent
	Session  string      // the agent's own session id
	Evidence string      // what shows it; "" for a person

	Direct bool // the agent itself started this process, without a shell between
	Orphan bool // below an engine only: left behind by a killed supervisor, or started by the engine itself

	root     string   // of the project of an attempt; "" if unknown
	projects []string // of all supervisors above
	environ  []string // of an agent's process; nil if it is unreadable
}

// Getenv returns a variable of the environment that an agent was started with; of this process for other callers, and where
// environments cannot be read.
func (c Caller) Getenv(name string) string {
	if c.Kind == Agent && c.environ != nil {
		return variable(c.environ, name)
	}
	return os.Getenv(name)
}

// String describes the caller in an error message.
func (c Caller) String() string {
	switch {
	case c.Kind == Agent && c.Session == "":
		return "the MCP client " + c.Name
	case c.Kind == Agent:
		return c.Name + " session " + c.Session
	case c.Kind == Person:
		return "a person"
	case c.Step != "" && c.Run != "":
		return fmt.Sprintf("step %s of run %s", c.Step, c.Run)
	case c.Step != "":
		return "step " + string(c.Step)
	}
	return "a step of a run"
}

// Author returns the author of what the caller records; user is the login of a person.
func (c Caller) Author(user string) pawl.Author {
	switch c.Kind {
	case Agent:
		return pawl.Author{Kind: pawl.ByAgent, Name: c.Name, Session: c.Session}
	case Step:
		return pawl.Author{Kind: pawl.ByStep, Name: string(c.Step), Session: string(c.Run)}
	}
	return pawl.Author{Kind: pawl.ByPerson, Name: user}
}

// Under returns who runs a process with this environment, which is about to change the project at root; "" for no
// project. A step takes precedence over an agent: an agent may have started the run.
func Under(environ []string, root string) Caller {
	above := ancestors()
	supervised := supervisors(above)
	for _, c := range []Caller{
		fromSupervisors(supervised), fromEnvironments(environ, above), fromGroup(process.Groups()), fromSession(root), fromEngines(above),
	} {
		if c.Kind == Step {
			c.projects = projectsOf(supervised)
			return c
		}
	}
	if s, at, found := recordedSession(environ, above); found {
		evidence := fmt.Sprintf("it runs below process %d of that session", s.Process.PID)
		if s.Server != 0 {
			evidence = fmt.Sprintf("it runs below process %d, which started pawl mcp", s.Process.PID)
		}
		return Caller{Kind: Agent, Direct: at == 0, environ: above[at].environ, Name: s.Agent, Session: s.Session, Evidence: evidence}
	}
	return Caller{Kind: Person}
}

// ancestor is a process above this one.
type ancestor struct {
	process.Stat
	args    []string
	program string   // path
	environ []string // nil if it is unreadable
}

// maxDepth limits how many ancestors are examined.
const maxDepth = 256

// ancestors returns the processes above this one, the nearest first. They do not change while this process runs, except
// that one may die.
var ancestors = sync.OnceValue(func() []ancestor {
	var above []ancestor
	self, err := process.Of(process.Self())
	for pid := self.Parent; err == nil && pid > 0 && len(above) < maxDepth; {
		var stat process.Stat
		if stat, err = process.Of(pid); err == nil {
			above = append(above, ancestor{Stat: stat, args: process.Args(pid), program: process.Program(pid), environ: process.Environ(pid)})
			pid = stat.Parent
		}
	}
	return above
})

// Prepare begins to look for the ancestors: Under needs them, and it takes a while.
func Prepare() { go ancestors() }

// marks are the variables that only an attempt has.
var marks = []string{"PAWL_STEP", "PAWL_TOKEN", "PAWL_ATTEMPT_DIR", "PAWL_EVENTS", "PAWL_RESULT"}

// fromEnvironment returns the step that an environment names.
func fromEnvironment(environ []string, whose string) Caller {
	for _, mark := range marks {
		if variable(environ, mark) != "" {
			return Caller{
				Kind: Step, Step: pawl.StepID(variable(environ, "PAWL_STEP")), Run: pawl.RunID(variable(environ, "PAWL_RUN")),
				Evidence: whose + " has " + mark,
			}
		}
	}
	return Caller{Kind: Person}
}

func variable(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// fromEnvironments returns the step that the environment of this process or of an ancestor names.
func fromEnvironments(environ []string, above []ancestor) Caller {
	c := fromEnvironment(environ, "its environment")
	for i := 0; i < len(above) && c.Kind != Step; i++ {
		c = fromEnvironment(above[i].environ, fmt.Sprintf("the environment of its ancestor, process %d,", above[i].PID))
	}
	return c
}

// supervisors returns the ancestors that supervise attempts, the nearest first.
func supervisors(above []ancestor) []ancestor {
	return slices.DeleteFunc(slices.Clone(above), func(a ancestor) bool {
		return !a.isPawl() || a.verb() != supervise.Verb && a.verb() != supervise.InitVerb
	})
}

// fromSupervisors returns the step of the nearest supervisor.
func fromSupervisors(supervised []ancestor) Caller {
	if len(supervised) == 0 {
		return Caller{Kind: Person}
	}
	c := supervised[0].attempt()
	c.Evidence = fmt.Sprintf("its ancestor, process %d, is a supervisor", supervised[0].PID)
	return c
}

// projectsOf returns the projects of supervisors; "" for one that is unknown.
func projectsOf(supervised []ancestor) []string {
	var roots []string
	for _, a := range supervised {
		if a.verb() == supervise.Verb {
			roots = append(roots, a.attempt().root)
		}
	}
	return roots
}

// fromEngines reports a step if an ancestor is an engine: the processes that a killed supervisor left behind come to it.
func fromEngines(above []ancestor) Caller {
	for _, a := range above {
		if a.isPawl() && !slices.Contains(harmless, a.verb()) {
			return Caller{Kind: Step, Orphan: true, Evidence: fmt.Sprintf("its ancestor, process %d, is pawl %s", a.PID, a.verb())}
		}
	}
	return Caller{Kind: Person}
}

// harmless are commands of pawl that an agent starts and that start nothing for a step.
var harmless = []string{"mcp", "hook", "hook-keeper"}

// isPawl reports whether the ancestor executes pawl, by its program or, for a supervisor, by the name that it was given.
func (a ancestor) isPawl() bool {
	names := []string{filepath.Base(a.program)}
	if len(a.args) > 0 {
		names = append(names, filepath.Base(a.args[0]))
	}
	return slices.Contains(names, "pawl") || slices.Contains(names, "pawl-hook") || a.verb() != "" && a.program != "" && a.program == own()
}

// own is the program that this process executes.
var own = sync.OnceValue(func() string { return process.Program(process.Self()) })

// verb returns the command of an ancestor that is pawl, without global options.
func (a ancestor) verb() string {
	args := a.args
	for i := 1; i < len(args); i++ {
		switch {
		case args[i] == "-C" || args[i] == "--directory":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// attempt returns the step that a supervisor supervises, from the folder that is its argument:
// ROOT/.pawl/runs/RUN/steps/STEP[/ITEM]/ATTEMPT, or ROOT/.pawl/runs/RUN/steps for a supervisor of a pool.
func (a ancestor) attempt() Caller {
	c := Caller{Kind: Step}
	if len(a.args) == 0 {
		return c
	}
	dir := a.args[len(a.args)-1]
	if slices.Contains(a.args, supervise.SlotFlag) {
		dir = cmp.Or(supervise.AttemptOf(dir, a.PID), dir)
	}
	root, below, found := strings.Cut(dir, "/"+project.Folder+"/runs/")
	if parts := strings.Split(below, "/"); found && len(parts) > 1 && parts[1] == "steps" {
		c.root, c.Run = root, pawl.RunID(parts[0])
		if len(parts) > 3 {
			c.Step = pawl.StepID(parts[2])
		}
	}
	return c
}

// fromGroup reports a step if groups, the content of /proc/self/cgroup, names the group of an attempt, which is named
// after its token.
func fromGroup(groups string) Caller {
	for part := range strings.FieldsFuncSeq(groups, func(r rune) bool { return r == '/' || r == '\n' }) {
		token, ours := strings.CutPrefix(part, supervise.GroupPrefix)
		if _, err := hex.DecodeString(token); ours && err == nil && len(token) == tokenSize {
			return Caller{Kind: Step, Evidence: "its cgroup is that of an attempt"}
		}
	}
	return Caller{Kind: Person}
}

// tokenSize is the length of an attempt's token.
const tokenSize = 16

// fromSession reports a step if this process is in the session of a dead supervisor of the project at root. Only then are
// the project's attempts searched.
func fromSession(root string) Caller {
	self, err := process.Of(process.Self())
	if err != nil || self.Session <= 0 || root == "" {
		return Caller{Kind: Person}
	}
	if _, err := process.Of(self.Session); err == nil {
		return Caller{Kind: Person} // the leader lives, and so is not a supervisor: that would be an ancestor
	}
	c := Caller{Kind: Person}
	runs := filepath.Join(root, project.Folder, "runs")
	_ = disk.WalkDir(runs, func(path string, d fs.DirEntry, err error) error { // what is unreadable proves nothing
		if err != nil || d.IsDir() || d.Name() != pawl.BegunFile {
			return nil
		}
		status, err := supervise.Probe(filepath.Dir(path))
		if err == nil && status.Begun != nil && status.Begun.Supervisor.PID == self.Session && process.SameBoot(status.Begun.Supervisor) {
			c = Caller{Kind: Step, Evidence: fmt.Sprintf("it is in session %d of an attempt whose supervisor was killed", self.Session)}
			return fs.SkipAll
		}
		return nil
	})
	return c
}

// InOwnProject reports whether the caller is a step, also indirectly, of the project at root. If its supervisor is
// unknown, it may be. What an engine starts itself, such as the engine of a background run, is not a step.
func (c Caller) InOwnProject(root string) bool {
	if c.Orphan {
		return false
	}
	if c.Kind != Step || len(c.projects) == 0 {
		return c.Kind == Step
	}
	return slices.ContainsFunc(c.projects, func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err != nil || real == root
	})
}
