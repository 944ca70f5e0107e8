package runner

import (
	"pawl"
	"pawl/internal/kernel"
)

// Request is what a client asks of a runner, as one line of JSON. A connection handles one request at a time.
type Request struct {
	Op Op `json:"op"`

	By    string        `json:"by,omitempty"`    // of acquire: who asks, for the error that others get
	Wait  pawl.Duration `json:"wait,omitempty"`  // of acquire: how long to wait for another client
	Grace pawl.Duration `json:"grace,omitempty"` // of interrupt: from SIGINT to SIGTERM. Defaults to 5s.
	After []pawl.StepID `json:"after,omitempty"` // of base: earlier steps of the session, in order
	Step  pawl.StepID   `json:"step,omitempty"`  // of base
	Base  Key           `json:"base,omitempty"`  // of prepare: the state before the first cell
	Cells []Link        `json:"cells,omitempty"` // of prepare
	Once  bool          `json:"once,omitempty"`  // of prepare: finished cells must not be executed again

	Strict bool `json:"strict,omitempty"` // of prepare: load no variables that were saved in another environment

	Cell  *Execution `json:"cell,omitempty"`  // of execute
	Keys  []Key      `json:"keys,omitempty"`  // of results
	Env   []string   `json:"env,omitempty"`   // of environ: NAME=value
	Empty bool       `json:"empty,omitempty"` // of restart: load no variables
}

// Op is a kind of request.
type Op string

// The requests.
const (
	OpAcquire   Op = "acquire"   // waits until no other client works with the kernel, and keeps others away until the connection ends
	OpBase      Op = "base"      // where the variables stood before a step, and the seed of its keys
	OpPrepare   Op = "prepare"   // brings the variables to where cells can continue
	OpEnviron   Op = "environ"   // sets variables of the environment in the kernel
	OpExecute   Op = "execute"   // executes a cell, or re-attaches to it
	OpResults   Op = "results"   // where the messages of finished cells are in the log
	OpInterrupt Op = "interrupt" // ends the running cell
	OpRestart   Op = "restart"   // starts a new kernel
	OpVariables Op = "variables"
	OpSave      Op = "save" // saves a checkpoint of the variables
	OpStatus    Op = "status"
	OpReady     Op = "ready" // waits until the first kernel is ready
)

// Execution is a cell to execute.
type Execution struct {
	Link
	After   Key           `json:"after,omitempty"` // where the variables must stand; with Key
	Step    pawl.StepID   `json:"step,omitempty"`
	Seed    string        `json:"seed,omitempty"`    // of the keys of the step's cells
	Timeout pawl.Duration `json:"timeout,omitempty"` // after it, the runner interrupts the cell. Defaults to none.
}

// Reply is a line of a runner's answer. The last has Done or Error.
type Reply struct {
	Cell  kernel.CellID `json:"cell,omitempty"` // that begins
	From  int64         `json:"from,omitempty"` // offset in the log where the messages of the cell begin
	Upto  int64         `json:"upto,omitempty"` // the log is readable up to this offset
	Done  *Done         `json:"done,omitempty"`
	Error *pawlError    `json:"error,omitempty"`
}

type pawlError struct {
	Kind pawl.Kind `json:"kind"`
	Text string    `json:"text"`
}

// Done is the outcome of a request.
type Done struct {
	End       *End       `json:"end,omitempty"`       // of execute
	Prepared  *Prepared  `json:"prepared,omitempty"`  // of prepare
	Base      Key        `json:"base,omitempty"`      // of base
	Seed      string     `json:"seed,omitempty"`      // of base: that the cells of the step had last; empty: none ran
	Results   []Result   `json:"results,omitempty"`   // of results
	Status    *Status    `json:"status,omitempty"`    // of status
	Variables []Variable `json:"variables,omitempty"` // of variables
	Stopped   *Stopped   `json:"stopped,omitempty"`   // of interrupt
	Saved     string     `json:"saved,omitempty"`     // of save
	Note      string     `json:"note,omitempty"`      // of save: what is not saved
}

// Prepared says where cells continue.
type Prepared struct {
	Next       int      `json:"next"`                 // index of the first cell to execute; the cells before it are finished
	Live       bool     `json:"live,omitempty"`       // in the kernel that was there before
	Checkpoint string   `json:"checkpoint,omitempty"` // whose variables were loaded into a new kernel
	Notes      []string `json:"notes,omitempty"`      // what the user should know, such as cells that run again and why
}

// Result is where the messages of a finished cell are.
type Result struct {
	Key   Key   `json:"key"`
	From  int64 `json:"from"`
	End   End   `json:"end"`
	Begin Begin `json:"begin"`
}

// Stopped says how an interrupt ended the running cell.
type Stopped struct {
	By     string        `json:"by"` // SIGINT, SIGTERM or SIGKILL; empty: no cell ran
	After  pawl.Duration `json:"after"`
	Alive  bool          `json:"alive"` // the kernel lives, and has its variables
	Stacks string        `json:"stacks,omitempty"`
}

// Status describes a session.
type Status struct {
	Info    kernel.Info `json:"kernel"`
	State   State       `json:"state"`
	Running *Begin      `json:"running,omitempty"`
	From    int64       `json:"from,omitempty"` // of Running: where its messages are in the log
	By      string      `json:"by,omitempty"`   // the client that works with the kernel
	At      Key         `json:"at,omitempty"`
	Cells   int         `json:"cells"` // that were executed
	PID     int         `json:"pid"`   // of the runner
}

// State is the state of a kernel.
type State string

// The states of a kernel.
const (
	Starting     State = "starting"
	Idle         State = "idle"
	Busy         State = "busy"
	Interrupting State = "interrupting"
	Dead         State = "dead"
)

// Variable describes a variable of a kernel.
type Variable struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape string `json:"shape,omitempty"`
	Bytes int64  `json:"bytes"`
	Hash  string `json:"hash,omitempty"`
	Saved bool   `json:"saved"`
	Why   string `json:"why,omitempty"` // it cannot be saved
}
