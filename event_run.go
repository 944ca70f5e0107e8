package pawl

// RunCreated is the first event of every journal.
type RunCreated struct {
	Format  int     `json:"format"`
	Run     RunID   `json:"run"`
	Project string  `json:"project"` // the project's UUID
	Kind    RunKind `json:"kind"`
	Name    string  `json:"name"`
	Goal    string  `json:"goal,omitempty"` // without a plan
	Mode    Mode    `json:"mode,omitempty"` // without a plan
	Pawl    string  `json:"pawl"`           // version of the program that made the run
	Forked  *Fork   `json:"forked,omitempty"`
}

// Fork is where a run comes from that was made of another one's checkpoint.
type Fork struct {
	Run        RunID        `json:"run"`
	Checkpoint CheckpointID `json:"checkpoint"`
	Seq        Seq          `json:"seq"`    // up to which event of the other run this one has it
	Origin     RunID        `json:"origin"` // where a line of forks began: the paths of artifacts bear its name
}

// RunKind says where a run came from.
type RunKind string

// The kinds of runs.
const (
	PlanRun    RunKind = "plan"    // pawl run PLAN
	CommandRun RunKind = "command" // pawl run -- COMMAND…
	DurableRun RunKind = "durable" // a Go program, through package durable
	SessionRun RunKind = "session" // an attached agent's mission, without a plan
)

// RunPlanned names the plan revision that the run follows from here on: a file beside the journal.
type RunPlanned struct {
	Revision int    `json:"revision"` // from 1
	File     string `json:"file"`     // plan.yaml, plan.2.yaml, …
	SHA256   string `json:"sha256"`
	Source   string `json:"source,omitempty"` // where the user keeps it, relative to the project where it lies inside
	Steps    int    `json:"steps"`
	Goal     string `json:"goal,omitempty"`
	Mode     Mode   `json:"mode,omitempty"`
}

// EngineStarted says that an engine has taken the run over; it raises the epoch.
type EngineStarted struct {
	Epoch Epoch  `json:"epoch"`
	PID   int    `json:"pid"`
	Host  string `json:"host,omitempty"`
	Why   string `json:"why"` // run | resume
}

// EngineStopped says that the engine left the run in good order. Without it the run was interrupted.
type EngineStopped struct {
	Why string `json:"why"`
}

// RunPaused says that nothing new is to be started.
type RunPaused struct {
	Why string `json:"why,omitempty"`
}

// RunContinued takes RunPaused or RunStopped back.
type RunContinued struct{}

// RunStopped says that nothing new is to be started and that running attempts are to be ended.
type RunStopped struct {
	Why string `json:"why,omitempty"`
}

// RunEnded is the run's last word: completed or failed.
type RunEnded struct {
	Status RunStatus `json:"status"`
	Why    string    `json:"why,omitempty"`
}

// RunReopened makes an ended run active again: a plan was edited, a step retried.
type RunReopened struct {
	Why string `json:"why,omitempty"`
}

// RunExamined says what was found before the run was resumed.
type RunExamined struct {
	Findings []Finding `json:"findings"`
}

// MachineSlept says how long the machine was asleep; that time counts against no limit.
type MachineSlept struct {
	Seconds float64 `json:"seconds"`
}

// RunRecovered says that the journal was damaged or lost behind event Kept, and that a person has accepted what stands
// behind this event in its place. Long lists of parts come as several events of one batch.
type RunRecovered struct {
	Why      []string        `json:"why"`                // what was wrong with the journal
	Kept     Seq             `json:"kept"`               // 0: nothing of it
	Accepted string          `json:"accepted,omitempty"` // by whom
	Parts    []RecoveredPart `json:"parts"`
}

// RecoveredPart is one thing that was rebuilt, or was not, and on which evidence.
type RecoveredPart struct {
	What       string   `json:"what"`
	Step       StepID   `json:"step,omitempty"`
	Item       ItemID   `json:"item,omitempty"`
	Status     string   `json:"status"`
	Confidence string   `json:"confidence"` // certain | likely | guess
	Evidence   []string `json:"evidence,omitempty"`
}

func (RunCreated) Event() EventType    { return "run.created" }
func (RunPlanned) Event() EventType    { return "run.planned" }
func (EngineStarted) Event() EventType { return "engine.started" }
func (EngineStopped) Event() EventType { return "engine.stopped" }
func (RunPaused) Event() EventType     { return "run.paused" }
func (RunContinued) Event() EventType  { return "run.continued" }
func (RunStopped) Event() EventType    { return "run.stopped" }
func (RunEnded) Event() EventType      { return "run.ended" }
func (RunReopened) Event() EventType   { return "run.reopened" }
func (MachineSlept) Event() EventType  { return "machine.slept" }
func (RunExamined) Event() EventType   { return "run.examined" }
func (RunRecovered) Event() EventType  { return "run.recovered" }
