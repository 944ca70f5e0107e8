// Package helptext has the help that several commands share.
package helptext

import "strings"

// What the help of several commands says.
const (
	Checkpoint = "CHECKPOINT is an id, the beginning of an id, \"latest\" (the newest of all runs), or a step (its newest checkpoint, in the\n" +
		"current run if that has one).\n"
	Gate     = "GATE is a gate's id, the beginning of an id, or the step that the gate belongs to."
	Effect   = "While pawl works on the run, the change takes effect at once. Otherwise it takes effect at the next pawl resume."
	Run      = "the run (default: the current one, see pawl help all)"
	Parallel = "run at most `N` steps and items at a time (default: the project's setting, else the plan's value, else the number of processors)"
	TakeOver = "kill a hung pawl process that holds this project, if pawl can verify which process it is; running steps continue"

	// Of --yes: where pawl refuses to act without a terminal, and where it does not ask there.
	Confirm = "do not ask for confirmation; required without a terminal"
	NoAsk   = "do not ask for confirmation; without a terminal pawl does not ask"
)

// Serve describes pawl serve.
const Serve = "Resume interrupted runs in all of your projects, and serve their state over HTTP\n\n" +
	"serve looks at every project that you have used, at its start and then every 15 seconds. It resumes a run in the background if\n" +
	"the run's engine died, if an engine left running attempts behind, or if you answered what the run waited for. It leaves alone what\n" +
	"you paused or stopped, what waits for you, and projects that you do not trust. Once it listens, it prints its address and the file\n" +
	"with its token. Ctrl-C or SIGTERM ends serve; the runs continue."

// Rights explains what a token of the server lets its holder do.
const Rights = "Rights are a set; none contains another one. read: see projects, runs, output and files. operate: resume, pause, stop, retry,\n" +
	"skip, restore, fork and roll back runs. run: start runs of plans. approve: answer gates, and mark steps as done. What is\n" +
	"done with a token is recorded under its name."

// Names explains the arguments in capitals.
const Names = `Names:
  RUN          a run's id, the beginning of an id, or "latest". Without RUN, a command uses the current run: the one that a pawl
               process works on, else the newest unfinished run that is not a session, else the newest run.
  CHECKPOINT   a checkpoint's id, the beginning of an id, "latest" (the newest of all runs), or a step: its newest checkpoint, in
               the current run if that has one. Emergency checkpoints count only if there is no other.
  GATE         a gate's id, the beginning of an id, or the step that the gate belongs to. "pawl gates" lists them.
  STEP, ITEM   a step's id; the value of an item of a foreach step. "pawl status" lists the steps.
`

// Usage writes COMMAND for a command in a usage text, and leaves out that a command with commands below it can stand alone, if it cannot.
func Usage(text, path string, alone bool) string {
	if !alone {
		text = strings.ReplaceAll(text, path+" [flags]\n  "+path+" [command]", path+" COMMAND")
	}
	return strings.ReplaceAll(text, "[command]", "COMMAND")
}

// Alone is the annotation of a command that does something itself, although there are commands below it.
const Alone = "alone"
