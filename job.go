package pawl

import (
	"slices"
	"time"
)

// Files in an attempt's folder, .pawl/runs/<run>/steps/<step>[/<item>]/<attempt>/.
const (
	LockFile   = "lock"         // held while the supervisor is alive
	JobFile    = "job.json"     // Job, written by the engine
	BegunFile  = "begun.json"   // Begun, synced before the child starts, then again with the identity of a child that is not short
	BeatFile   = "beat.json"    // Beat, the supervisor's heartbeat
	AbortFile  = "abort.json"   // Abort, a request to end the attempt
	ExitFile   = "exit.json"    // Exit, written last by the supervisor
	ResultFile = "result.json"  // Result, written by the step
	EventsFile = "events.jsonl" // lines from inside the step
	ScriptFile = "script"       // the script, for a shell that reads it from a file
	OutFile    = "out.log"      // standard output
	ErrFile    = "err.log"      // standard error
)

// Job is the task of a supervisor.
type Job struct {
	AttemptRef
	Run       RunID             `json:"run"`
	Command   []string          `json:"command,omitempty"`    // program and arguments
	Script    string            `json:"script,omitempty"`     // for Shell, instead of Command; neither: only run the checks
	Words     bool              `json:"words,omitempty"`      // Script is the quoted words of a command that starts without a shell
	Shell     Shell             `json:"shell,omitempty"`      // of Script and Checks, as in the plan
	RunShell  Shell             `json:"run_shell,omitempty"`  // the run's default for Shell
	Agent     *AgentAction      `json:"agent,omitempty"`      // the agent that the command starts
	Goal      string            `json:"goal,omitempty"`       // the step's goal, for an agent
	Kernel    *KernelJob        `json:"kernel,omitempty"`     // the kernel that the command runs, or executes cells in
	Dir       string            `json:"dir"`                  // absolute
	Inherited []string          `json:"-"`                    // the supervisor's own environment, KEY=VALUE, with the step's secrets; nil: that of this process
	Env       []string          `json:"env"`                  // KEY=VALUE, added to the supervisor's own environment
	Checks    map[string]string `json:"checks,omitempty"`     // name → script, run after success
	CheckPath string            `json:"check_path,omitempty"` // PATH of the checks; empty: that of the command
	Root      string            `json:"root,omitempty"`       // absolute path to which Outputs are relative
	Outputs   []string          `json:"outputs,omitempty"`    // made durable before the exit record reports success
	Timeout   Duration          `json:"timeout,omitempty"`    // 0: none
	Grace     Duration          `json:"grace,omitempty"`
	Stall     Duration          `json:"stall,omitempty"`      // 0: none
	OutputCap int64             `json:"output_cap,omitempty"` // maximum bytes of each output file; 0: DefaultOutputCap
	Beat      Duration          `json:"beat,omitempty"`       // interval between heartbeats. Defaults to 5m.

	Orphan     Duration `json:"orphan,omitempty"`      // end the command when no engine has worked on the run for this long; 0: never
	EngineLock string   `json:"engine_lock,omitempty"` // the file that an engine locks, relative to Root; with Orphan

	Away  *Away    `json:"away,omitempty"`   // a worker executes Script with the limits; Command waits for that, without limits
	RunAs *Account `json:"run_as,omitempty"` // the user who executes Command, Script and Checks. Defaults to that of the supervisor.

	Passing      bool `json:"passing,omitempty"`       // the attempt is lost with a restart of the system, so its records are not synced
	PIDNamespace bool `json:"pid_namespace,omitempty"` // run every command in a PID namespace of its own; fails if that is impossible

	InterruptWait Duration `json:"interrupt_wait,omitempty"` // from SIGINT to SIGTERM. Defaults to 5s.
	TerminateWait Duration `json:"terminate_wait,omitempty"` // from SIGTERM to SIGKILL. Defaults to 3s.
}

// Away is what an attempt on a worker needs.
type Away struct {
	Queue   string   `json:"queue"`
	Epoch   Epoch    `json:"epoch"`             // of the engine
	Input   string   `json:"input"`             // record of the snapshot with the files
	Secrets []string `json:"secrets,omitempty"` // variables that the worker sets from its own environment
}

// Input returns the record of the snapshot that a worker gets; "" for a job of this machine.
func (j *Job) Input() string {
	if j.Away == nil {
		return ""
	}
	return j.Away.Input
}

// Account is a system user.
type Account struct {
	Name   string   `json:"name"`
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups,omitempty"` // also GID
	Home   string   `json:"home"`
}

// Serves reports whether the job runs a service.
func (j *Job) Serves() bool { return j != nil && j.Orphan > 0 }

// DefaultOutputCap is the maximum size of each output file, in bytes. The first and the last half are kept.
const DefaultOutputCap = 256 << 20

// Begun records that a supervisor is about to start the child. It identifies both processes.
type Begun struct {
	Token      Token     `json:"token"`
	Supervisor Process   `json:"supervisor"`
	Child      Process   `json:"child,omitzero"` // set once the child runs, under a supervisor of several attempts only if it is not short; in a PID namespace it is the init
	Scope      string    `json:"scope"`          // cgroup | pid-namespace (with or without a cgroup) | subreaper | process-group
	Cgroup     string    `json:"cgroup,omitempty"`
	Started    time.Time `json:"started"`
}

// Process identifies a process even if its number is reused.
type Process struct {
	PID    int    `json:"pid"`
	Start  uint64 `json:"start"` // in clock ticks since boot, field 22 of /proc/PID/stat
	BootID string `json:"boot_id,omitempty"`
	PIDNS  string `json:"pid_ns,omitempty"` // pid namespace, as in /proc/PID/ns/pid
}

// Beat is a supervisor's heartbeat, with measurements.
type Beat struct {
	Token       Token     `json:"token"`
	Time        time.Time `json:"time"`
	Uptime      float64   `json:"uptime"`      // seconds that the system has been up, without time asleep
	CPUSeconds  float64   `json:"cpu_seconds"` // of the whole tree
	Processes   int       `json:"processes"`
	OutputBytes int64     `json:"output_bytes"`
	Progress    time.Time `json:"progress,omitzero"` // time of the last progress
	Slept       float64   `json:"slept,omitempty"`   // seconds asleep so far
}

// Abort asks a supervisor to end its attempt.
type Abort struct {
	Reason EndReason `json:"reason"`
	Why    string    `json:"why,omitempty"`
}

// Exit is a supervisor's record of how an attempt ended.
type Exit struct {
	Token       Token      `json:"token"`
	Reason      EndReason  `json:"reason"`
	Exit        *int       `json:"exit,omitempty"`   // exit code; nil: ended by a signal, or never started
	Signal      string     `json:"signal,omitempty"` // name of the signal
	Why         string     `json:"why,omitempty"`
	Started     time.Time  `json:"started"`
	Ended       time.Time  `json:"ended"`
	Seconds     float64    `json:"seconds"`                // on the monotonic clock, thus without time asleep
	Slept       float64    `json:"slept,omitempty"`        // seconds asleep
	CPUSeconds  float64    `json:"cpu_seconds,omitempty"`  // of the whole tree
	OutputBytes int64      `json:"output_bytes,omitempty"` // bytes written, including those dropped
	Cut         []Cut      `json:"cut,omitempty"`          // output dropped because of its size
	Unkilled    []int      `json:"left,omitempty"`         // processes that could not be killed
	Killed      int        `json:"killed,omitempty"`       // processes left running by the child and killed
	Leftovers   []string   `json:"leftovers,omitempty"`    // the first of them, as "name (PID)"
	Checks      []CheckRun `json:"checks,omitempty"`
	Accept      string     `json:"accept,omitempty"` // hash of the acceptance checks, as in StepDone
	Boot        string     `json:"boot,omitempty"`   // the system's boot ID, if the record is not synced: after a restart it does not count
}

// MaxLeftovers is how many leftover processes a record names.
const MaxLeftovers = 5

// Cut is a dropped part of an output file: bytes From (inclusive) to To (exclusive).
type Cut struct {
	File string `json:"file"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// CheckRun is the result of one acceptance check.
type CheckRun struct {
	Name    string  `json:"name"`
	Exit    int     `json:"exit"` // -1: the check could not run, or was ended
	Seconds float64 `json:"seconds"`
	Output  string  `json:"output,omitempty"` // last lines of the output
}

// Passed reports whether every check passed.
func Passed(checks []CheckRun) bool {
	return !slices.ContainsFunc(checks, func(c CheckRun) bool { return c.Exit != 0 })
}
