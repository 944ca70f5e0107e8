package pawl

import "time"

// The files of an attempt's folder, .pawl/runs/<run>/steps/<step>[/<item>]/<attempt>/.
const (
	LockFile   = "lock"         // held while a supervisor lives
	JobFile    = "job.json"     // Job, from the engine
	BegunFile  = "begun.json"   // Begun, synced before the child is started; then a second one, with the child
	BeatFile   = "beat.json"    // Beat, the supervisor's sign of life
	AbortFile  = "abort.json"   // Abort, from whoever wants the attempt ended
	ExitFile   = "exit.json"    // Exit, the supervisor's last word
	ResultFile = "result.json"  // Result, from the step
	EventsFile = "events.jsonl" // lines from inside the step
	OutFile    = "out.log"      // standard output
	ErrFile    = "err.log"      // standard error
)

// Job is the task of a supervisor.
type Job struct {
	AttemptRef
	Run       RunID             `json:"run"`
	Command   []string          `json:"command,omitempty"` // program and arguments; none: only the checks are run
	Agent     *AgentAction      `json:"agent,omitempty"`   // the agent that the command starts
	Goal      string            `json:"goal,omitempty"`    // the step's goal, for an agent
	Dir       string            `json:"dir"`               // absolute
	Env       []string          `json:"env"`               // KEY=VALUE, on top of the supervisor's own environment
	Checks    map[string]string `json:"checks,omitempty"`  // name → command for /bin/sh -c, run after a good end
	Root      string            `json:"root,omitempty"`    // absolute; where Outputs are
	Outputs   []string          `json:"outputs,omitempty"` // made durable before the exit record says that all is well
	Timeout   Duration          `json:"timeout,omitempty"` // 0: none
	Grace     Duration          `json:"grace,omitempty"`
	Stall     Duration          `json:"stall,omitempty"`      // 0: none
	OutputCap int64             `json:"output_cap,omitempty"` // bytes kept of each output file; 0: DefaultOutputCap
	Beat      Duration          `json:"beat,omitempty"`       // between two heartbeats. Defaults to 5m.

	PIDNamespace bool `json:"pid_namespace,omitempty"` // run everything in PID namespaces of its own; fails where that is not possible

	InterruptWait Duration `json:"interrupt_wait,omitempty"` // from SIGINT to SIGTERM. Defaults to 5s.
	TerminateWait Duration `json:"terminate_wait,omitempty"` // from SIGTERM to SIGKILL. Defaults to 3s.
}

// DefaultOutputCap is how many bytes of each output file are kept: the first half and the last half of it.
const DefaultOutputCap = 256 << 20

// Begun records that a supervisor is about to start the child. It identifies both processes.
type Begun struct {
	Token      Token     `json:"token"`
	Supervisor Process   `json:"supervisor"`
	Child      Process   `json:"child,omitzero"` // filled in once it is started; in a PID namespace it is the init there
	Scope      string    `json:"scope"`          // cgroup | pid-namespace, with a cgroup or without | subreaper | process-group
	Cgroup     string    `json:"cgroup,omitempty"`
	Started    time.Time `json:"started"`
}

// Process identifies a process beyond the reuse of its number.
type Process struct {
	PID    int    `json:"pid"`
	Start  uint64 `json:"start"` // in clock ticks since boot, field 22 of /proc/PID/stat
	BootID string `json:"boot_id,omitempty"`
	PIDNS  string `json:"pid_ns,omitempty"` // pid namespace, as in /proc/PID/ns/pid
}

// Beat is a supervisor's heartbeat with its last measurements.
type Beat struct {
	Token       Token     `json:"token"`
	Time        time.Time `json:"time"`
	Uptime      float64   `json:"uptime"`      // seconds that the system was up and awake by then
	CPUSeconds  float64   `json:"cpu_seconds"` // of the whole tree
	Processes   int       `json:"processes"`
	OutputBytes int64     `json:"output_bytes"`
	Progress    time.Time `json:"progress,omitzero"` // the last one
	Slept       float64   `json:"slept,omitempty"`   // seconds asleep so far
}

// Abort tells a supervisor to end its attempt.
type Abort struct {
	Reason EndReason `json:"reason"`
	Why    string    `json:"why,omitempty"`
}

// Exit is a supervisor's record of how an attempt ended.
type Exit struct {
	Token       Token      `json:"token"`
	Reason      EndReason  `json:"reason"`
	Exit        *int       `json:"exit,omitempty"`   // exit code; nil where a signal ended it or it never started
	Signal      string     `json:"signal,omitempty"` // the signal's name
	Why         string     `json:"why,omitempty"`
	Started     time.Time  `json:"started"`
	Ended       time.Time  `json:"ended"`
	Seconds     float64    `json:"seconds"`                // on the monotonic clock, so without time asleep
	Slept       float64    `json:"slept,omitempty"`        // seconds asleep meanwhile
	CPUSeconds  float64    `json:"cpu_seconds,omitempty"`  // of the whole tree
	OutputBytes int64      `json:"output_bytes,omitempty"` // written, also what was cut
	Cut         []Cut      `json:"cut,omitempty"`          // output dropped for its size
	Unkilled    []int      `json:"left,omitempty"`         // pids that could not be killed
	Killed      int        `json:"killed,omitempty"`       // processes left by the child and ended after it
	Checks      []CheckRun `json:"checks,omitempty"`
}

// Cut is a stretch of an output file that was dropped: bytes From (inclusive) to To (exclusive).
type Cut struct {
	File string `json:"file"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// CheckRun is the result of one acceptance check.
type CheckRun struct {
	Name    string  `json:"name"`
	Exit    int     `json:"exit"` // -1: it could not run, or had to be ended
	Seconds float64 `json:"seconds"`
	Output  string  `json:"output,omitempty"` // its last lines
}

// Passed reports whether every check passed.
func Passed(checks []CheckRun) bool {
	for _, c := range checks {
		if c.Exit != 0 {
			return false
		}
	}
	return true
}
