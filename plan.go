package pawl

import (
	"strings"
	"time"
)

// Plan is the work to do. Package planfile reads plans from YAML and sets the defaults of omitted fields.
type Plan struct {
	Version   int                  `yaml:"version,omitempty" json:"version,omitempty"` // version of the plan format: 1
	Name      string               `yaml:"name" json:"name"`
	Goal      string               `yaml:"goal,omitempty" json:"goal,omitempty"`
	Mode      Mode                 `yaml:"mode,omitempty" json:"mode,omitempty"`         // Defaults to guided.
	Parallel  int                  `yaml:"parallel,omitempty" json:"parallel,omitempty"` // maximum concurrent attempts. Defaults to the number of processors.
	Budget    Budget               `yaml:"budget,omitempty" json:"budget,omitzero"`
	Params    map[string]Parameter `yaml:"params,omitempty" json:"params,omitempty"`
	Dotenv    []string             `yaml:"dotenv,omitempty" json:"dotenv,omitempty"` // files with secret variables of every step
	Env       Env                  `yaml:"env,omitempty" json:"env,omitempty"`
	Defaults  Defaults             `yaml:"defaults,omitempty" json:"defaults,omitzero"`
	OnSuccess *Handler             `yaml:"on_success,omitempty" json:"on_success,omitempty"` // runs before the run completes
	OnFailure *Handler             `yaml:"on_failure,omitempty" json:"on_failure,omitempty"` // runs before the run fails
	Notify    []Notify             `yaml:"notify,omitempty" json:"notify,omitempty"`
	Phases    []Phase              `yaml:"phases,omitempty" json:"phases,omitempty"` // never empty after reading: steps without phases become one phase
	Values    map[string]string    `yaml:"-" json:"-"`                               // of the parameters that are not secrets, once the run has them
}

// Phase is a named, ordered group of steps. Phases run one after another.
type Phase struct {
	Name  string `yaml:"name" json:"name"`
	Steps []Step `yaml:"steps" json:"steps"`
}

// Step is a unit of work. Exactly one of Run, Agent, Kernel and Gate is set.
type Step struct {
	ID              StepID            `yaml:"id" json:"id"`
	Name            string            `yaml:"name,omitempty" json:"name,omitempty"` // Defaults to the id.
	Goal            string            `yaml:"goal,omitempty" json:"goal,omitempty"`
	Needs           []StepID          `yaml:"needs,omitempty" json:"needs,omitempty"` // Defaults to the previous step in the phase; [] means none.
	If              Condition         `yaml:"if,omitempty" json:"if,omitempty"`       // pawl skips the step if it is false
	Dir             string            `yaml:"dir,omitempty" json:"dir,omitempty"`     // Defaults to the project root.
	Env             Env               `yaml:"env,omitempty" json:"env,omitempty"`
	Shell           Shell             `yaml:"shell,omitempty" json:"shell,omitempty"` // for run, accept and undo. Defaults to sh -e.
	Run             string            `yaml:"run,omitempty" json:"run,omitempty"`     // script
	Agent           *AgentAction      `yaml:"agent,omitempty" json:"agent,omitempty"`
	Kernel          *KernelAction     `yaml:"kernel,omitempty" json:"kernel,omitempty"`
	Gate            *GateAction       `yaml:"gate,omitempty" json:"gate,omitempty"`
	On              On                `yaml:"on,omitempty" json:"on,omitzero"`            // with Run: the workers that execute it. Defaults to this machine.
	Service         *Service          `yaml:"service,omitempty" json:"service,omitempty"` // with Run: a process that other steps need
	Foreach         *Foreach          `yaml:"foreach,omitempty" json:"foreach,omitempty"`
	Parallel        int               `yaml:"parallel,omitempty" json:"parallel,omitempty"` // maximum concurrent items. Defaults to the plan's.
	Inputs          []string          `yaml:"inputs,omitempty" json:"inputs,omitempty"`
	Outputs         []string          `yaml:"outputs,omitempty" json:"outputs,omitempty"`
	Accept          map[string]string `yaml:"accept,omitempty" json:"accept,omitempty"`                       // check name → command
	Timeout         Duration          `yaml:"timeout,omitempty" json:"timeout,omitempty"`                     // Defaults to 1h; 4m for a kernel.
	Grace           Duration          `yaml:"grace,omitempty" json:"grace,omitempty"`                         // Defaults to 30s.
	Stall           Duration          `yaml:"stall,omitempty" json:"stall,omitempty"`                         // Defaults to 10m.
	Retry           Retry             `yaml:"retry,omitempty" json:"retry,omitzero"`                          //
	ContinueOnError bool              `yaml:"continue_on_error,omitempty" json:"continue_on_error,omitempty"` // the run continues if the step fails
	Undo            string            `yaml:"undo,omitempty" json:"undo,omitempty"`                           // compensating command
	Idempotent      *bool             `yaml:"idempotent,omitempty" json:"idempotent,omitempty"`               // Defaults to true.
	Review          map[string]int    `yaml:"review,omitempty" json:"review,omitempty"`                       // reviewer → minimum score, 0 to 100
	Estimate        Duration          `yaml:"estimate,omitempty" json:"estimate,omitempty"`                   // Defaults to 30m.
}

// Mode is how often a run asks a person.
type Mode string

// Modes of a run.
const (
	Guided    Mode = "guided"    // stops at every gate
	Autopilot Mode = "autopilot" // approves a human_verify gate whose checks pass, takes a decision's default, stops at other gates
	HandsOn   Mode = "hands_on"  // like guided, and asks before each step
)

// Budget is what a run may use before it pauses and asks. Zero means no limit.
type Budget struct {
	Time   Duration `yaml:"time,omitempty" json:"time,omitempty"` // total attempt time
	USD    float64  `yaml:"usd,omitempty" json:"usd,omitempty"`
	Tokens int64    `yaml:"tokens,omitempty" json:"tokens,omitempty"`
}

// Defaults are the values for steps that do not set their own.
type Defaults struct {
	Dir      string   `yaml:"dir,omitempty" json:"dir,omitempty"`
	Shell    Shell    `yaml:"shell,omitempty" json:"shell,omitempty"`
	Env      Env      `yaml:"env,omitempty" json:"env,omitempty"`
	Timeout  Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	Grace    Duration `yaml:"grace,omitempty" json:"grace,omitempty"`
	Stall    Duration `yaml:"stall,omitempty" json:"stall,omitempty"`
	Retry    Retry    `yaml:"retry,omitempty" json:"retry,omitzero"`
	Estimate Duration `yaml:"estimate,omitempty" json:"estimate,omitempty"`
	On       On       `yaml:"on,omitempty" json:"on,omitzero"`
}

// On says where a step is executed: by the workers of a queue. A step on the queue "local" is executed on the engine's machine.
type On struct {
	Queue string `yaml:"queue" json:"queue"`
}

// AgentAction lets a coding agent do the step.
type AgentAction struct {
	Use     AgentName `yaml:"use" json:"use"`
	Role    string    `yaml:"role,omitempty" json:"role,omitempty"` // whom the agent acts as; it begins the prompt
	Prompt  string    `yaml:"prompt" json:"prompt"`
	Command string    `yaml:"command,omitempty" json:"command,omitempty"` // command for /bin/sh -c, with AnyCommand
	Args    []string  `yaml:"args,omitempty" json:"args,omitempty"`       // additional arguments for the agent
	Resume  *bool     `yaml:"resume,omitempty" json:"resume,omitempty"`   // continue the session of an earlier attempt. Defaults to true.
	Wait    *bool     `yaml:"wait,omitempty" json:"wait,omitempty"`       // wait once for the end of a usage limit. Defaults to true.
	Model   string    `yaml:"model,omitempty" json:"model,omitempty"`
	MaxUSD  float64   `yaml:"max_usd,omitempty" json:"max_usd,omitempty"` // maximum cost of an attempt. Defaults to no limit.
}

// Task returns the prompt with the role.
func (a *AgentAction) Task() string {
	if a.Role == "" {
		return a.Prompt
	}
	return "Your role: " + a.Role + "\n\n" + a.Prompt
}

// AgentName is an agent that can do a step.
type AgentName string

// Supported agents.
const (
	ClaudeCode AgentName = "claude"
	CodexCLI   AgentName = "codex"
	GeminiCLI  AgentName = "gemini"
	OpenCode   AgentName = "opencode"
	CopilotCLI AgentName = "copilot"
	AnyCommand AgentName = "command" // a program that reads its prompt from standard input
)

// AgentNames lists the supported agents.
var AgentNames = []AgentName{ClaudeCode, CodexCLI, GeminiCLI, OpenCode, CopilotCLI, AnyCommand}

// ReportsCost reports whether the agent reports its cost while it works, so that a limit can be enforced.
func (n AgentName) ReportsCost() bool { return n == ClaudeCode || n == OpenCode || n == AnyCommand }

// GateAction waits for a person.
type GateAction struct {
	Type    GateType `yaml:"type" json:"type"`
	Ask     string   `yaml:"ask" json:"ask"`
	Options []string `yaml:"options,omitempty" json:"options,omitempty"`
	Default string   `yaml:"default,omitempty" json:"default,omitempty"`
	Expect  string   `yaml:"expect,omitempty" json:"expect,omitempty"` // acceptance hint: what the person should find
	Expires Duration `yaml:"expires,omitempty" json:"expires,omitempty"`

	OptionsFrom string `yaml:"options_from,omitempty" json:"options_from,omitempty"` // pattern of the outputs shown whose names are the options
}

// Condition is an expression that is true or false, such as params.env == 'prod'. It may be written as ${{ EXPR }}.
type Condition string

// UnmarshalText sets the condition.
func (c *Condition) UnmarshalText(text []byte) error {
	*c = Condition(text)
	return nil
}

// Notation describes conditions in messages.
func (*Condition) Notation() (noun, example string) {
	return "an expression", "use a form such as params.env == 'prod'"
}

// Text returns the expression in one line and without ${{ and }}, to compare and to show it.
func (c Condition) Text() string {
	text := strings.TrimSpace(string(c))
	if body, ok := strings.CutPrefix(text, "${{"); ok {
		if body, ok = strings.CutSuffix(body, "}}"); ok && !strings.Contains(body, "${{") {
			text = body
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// Texts is a list of texts that a plan may also write as a single text.
type Texts []string

// Single makes the list from a single text.
func (t *Texts) Single(text string) { *t = Texts{text} }

// Foreach is a step's list of items; exactly one of its lists is set. Lines is a file with one value per line, without empty
// lines. Files is a glob pattern whose sorted matches are the values. Matrix, Exclude and Include are one list: its values are
// combinations, see [Foreach.Combinations]. Empty says what a list without items means. ${{ EXPR }} in Items stands for its value; if that is a list, for its elements.
type Foreach struct {
	Items   Texts         `yaml:"items,omitempty" json:"items,omitempty"`
	Lines   string        `yaml:"lines,omitempty" json:"lines,omitempty"`
	Files   string        `yaml:"files,omitempty" json:"files,omitempty"`
	Matrix  Matrix        `yaml:"matrix,omitempty" json:"matrix,omitempty"`
	Exclude []Combination `yaml:"exclude,omitempty" json:"exclude,omitempty"`
	Include []Combination `yaml:"include,omitempty" json:"include,omitempty"`
	Empty   EmptyList     `yaml:"empty,omitempty" json:"empty,omitempty"` // for Lines and Files. Defaults to done.
}

// EmptyList says what becomes of a foreach step whose list has no items.
type EmptyList string

// What becomes of a step without items.
const (
	EmptyDone  EmptyList = "done" // it is done
	EmptyFails EmptyList = "fail" // it fails
)

// NoItems says why the list of the step has no items; "" if a list is never empty.
func (f *Foreach) NoItems() string {
	switch {
	case f == nil:
	case f.Files != "":
		return f.Files + " matches no file"
	case f.Lines != "":
		return f.Lines + " has no lines"
	}
	return ""
}

// Retry says how often and how soon a failed step or item is retried.
type Retry struct {
	Attempts int      `yaml:"attempts,omitempty" json:"attempts,omitempty"` // including the first. Defaults to 1.
	Backoff  Duration `yaml:"backoff,omitempty" json:"backoff,omitempty"`   // delay before the first retry, doubled for each further one. Defaults to 1s.
}

// The Example methods return an example value in plan syntax.

func (Budget) Example() string      { return "{usd: 5}" }
func (AgentAction) Example() string { return "{use: claude, prompt: Fix the links.}" }
func (GateAction) Example() string  { return "{type: human_verify, ask: Is the site right?}" }
func (Foreach) Example() string     { return "{lines: ids.txt}" }
func (Retry) Example() string       { return "{attempts: 3}" }

// Default limits of steps.
const (
	DefaultTimeout  = time.Hour
	DefaultGrace    = 30 * time.Second
	DefaultStall    = 10 * time.Minute
	DefaultEstimate = 30 * time.Minute
	DefaultBackoff  = time.Second
)

// MaxBackoff is the maximum delay before a retry.
const MaxBackoff = 10 * time.Minute

// Steps returns the plan's steps in order.
func (p *Plan) Steps() []*Step {
	var steps []*Step
	for i := range p.Phases {
		for j := range p.Phases[i].Steps {
			steps = append(steps, &p.Phases[i].Steps[j])
		}
	}
	return steps
}

// Step returns the step or handler with this id, or nil.
func (p *Plan) Step(id StepID) *Step {
	for _, s := range append(p.Steps(), p.Handlers()...) {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// MayResume reports whether a later attempt continues the agent's session, if it still exists.
func (a *AgentAction) MayResume() bool { return a.Resume == nil || *a.Resume }

// MayWait reports whether an attempt waits, once, for the end of a usage limit.
func (a *AgentAction) MayWait() bool { return a.Wait == nil || *a.Wait }

// MayRepeat reports whether the step is safe to rerun after an attempt with unknown effects.
func (s *Step) MayRepeat() bool { return s.Idempotent == nil || *s.Idempotent }

// Delay returns the delay after this many failures, doubled each time up to MaxBackoff.
func (r Retry) Delay(failures int) time.Duration {
	d := time.Duration(r.Backoff)
	for i := 1; i < failures && d < MaxBackoff; i++ {
		d *= 2
	}
	return min(d, MaxBackoff)
}
