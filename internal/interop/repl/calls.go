package repl

import (
	"pawl/internal/interop/format/gyoshu"
)

// Call is a call of python_repl. Times are in milliseconds.
type Call struct {
	Action string `json:"action" jsonschema:"execute, interrupt, reset or get_state"`
	gyoshu.Subject
	Code       string     `json:"code,omitempty" jsonschema:"the code, for execute"`
	Label      string     `json:"executionLabel,omitempty" jsonschema:"what the code does, for people"`
	Timeout    int64      `json:"executionTimeout,omitempty" jsonschema:"limit of the code in ms; default 300000"`
	Queue      int64      `json:"queueTimeout,omitempty" jsonschema:"how long to wait for other code of the session in ms; default 30000"`
	ProjectDir string     `json:"projectDir,omitempty" jsonschema:"working folder of a new kernel, in the project; default: the project"`
	Notebook   string     `json:"notebookPath,omitempty" jsonschema:"notebook that gets the cell, with autoCapture; default: that of reportTitle"`
	Capture    bool       `json:"autoCapture,omitempty" jsonschema:"append the code and its output to the notebook"`
	Interrupt  *Interrupt `json:"interruptWithTimeout,omitempty"`
}

// Interrupt says how to interrupt.
type Interrupt struct {
	Grace    int64 `json:"gracePeriodMs,omitempty" jsonschema:"time from SIGINT to SIGTERM in ms; default 5000"`
	Preserve *bool `json:"preserveOutput,omitempty" jsonschema:"return the output so far; default true"`
}

// Result is the answer. Each action sets some of its fields.
type Result struct {
	Success bool `json:"success"`
	*Output
	Memory *Memory `json:"memory,omitempty"`
	Error  *Error  `json:"error,omitempty"`

	Python       *Python   `json:"pythonEnv,omitempty"`
	Count        int       `json:"executionCount,omitempty"`
	Captured     *Captured `json:"notebookCapture,omitempty"`
	NotebookPath string    `json:"notebookPath,omitempty"`

	Variables []string `json:"variables,omitzero"`
	Total     *int     `json:"variable_count,omitempty"`
	Status    string   `json:"status,omitempty"`
	Message   string   `json:"message,omitempty"`

	Partial
	TerminatedBy string `json:"terminatedBy,omitempty"`
	Termination  int64  `json:"terminationTimeMs,omitempty"`
	Note         string `json:"note,omitempty"` // what Gyoshu does not report: a new kernel, and what it lacks
}

// Output is what code put out.
type Output struct {
	Stdout    string   `json:"stdout"`
	Stderr    string   `json:"stderr"`
	StdoutCut bool     `json:"stdout_truncated"`
	StderrCut bool     `json:"stderr_truncated"`
	Markers   []Marker `json:"markers"`
	Artifacts []string `json:"artifacts"` // always empty, as in Gyoshu
	Timing    Timing   `json:"timing"`
}

// Partial is what interrupted code had put out.
type Partial struct {
	PartialStdout string `json:"partialStdout,omitempty"`
	PartialStderr string `json:"partialStderr,omitempty"`
}

// Marker is a marker in stdout.
type Marker struct {
	Type       string            `json:"type"`
	Subtype    *string           `json:"subtype"`
	Attributes map[string]string `json:"attributes"`
	Content    string            `json:"content"`
	Line       int               `json:"line_number"`
	Category   string            `json:"category"`
	Valid      bool              `json:"valid"`
}

// Timing is when the code ran.
type Timing struct {
	Started  string `json:"started_at"`
	Duration int64  `json:"duration_ms"`
}

// Memory is the memory of the kernel in MiB.
type Memory struct {
	RSS float64 `json:"rss_mb"`
	VMS float64 `json:"vms_mb"`
}

// Error is an error of the code, with its type and traceback, or of the call, with a code.
type Error struct {
	Code      int    `json:"code,omitempty"`
	Type      string `json:"type,omitempty"`
	Message   string `json:"message"`
	Traceback string `json:"traceback,omitempty"`
	Details   string `json:"details,omitempty"`
}

// Codes of errors, as Gyoshu's tool and its bridge have them.
const (
	codeExecution = -32000 // the kernel was lost while it executed the code
	codeTimeout   = -32001 // the code reached its limit
	codeQueue     = -32004 // other code of the session ran for longer than queueTimeout
	codeBridge    = -32005 // there is no kernel, and none can be started
	codeAction    = -32006 // the call is wrong
)

// Python is the interpreter.
type Python struct {
	Type string `json:"type"` // venv or system
	Path string `json:"pythonPath"`
}

// Captured says what became of the cell in the notebook.
type Captured struct {
	Captured bool   `json:"captured"`
	Cell     string `json:"cellId,omitempty"`
	Index    *int   `json:"cellIndex,omitempty"`
	Error    string `json:"error,omitempty"`
}
