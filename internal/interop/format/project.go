package format

import (
	"path"
	"slices"
	"time"

	"pawl"
)

// Project is a project of another system as it was read, in pawl's words. The system's own words are in the fields Native.
type Project struct {
	System      string            `json:"system"`
	Name        string            `json:"name"` // of the run
	ID          string            `json:"id,omitempty"`
	Goal        string            `json:"goal,omitempty"`
	Dir         string            `json:"dir,omitempty"` // in which its work is done, relative to the project's root
	Status      pawl.RunStatus    `json:"status"`
	Native      string            `json:"native_status,omitempty"`
	Resume      string            `json:"resume,omitempty"` // whether it may be resumed by the system's own rule, and why not
	Mode        pawl.Mode         `json:"mode,omitempty"`
	Budget      pawl.Budget       `json:"budget,omitzero"`
	Created     time.Time         `json:"created_at,omitzero"`
	Updated     time.Time         `json:"updated_at,omitzero"` // the last activity
	Position    pawl.Position     `json:"position"`
	Percent     int               `json:"progress_percent"`
	Next        string            `json:"next,omitempty"`     // the resume point, as text
	Prompt      string            `json:"prompt,omitempty"`   // the system's own continuation prompt, if it has one
	Snapshot    any               `json:"snapshot,omitempty"` // the input of the system's own planner, if it has one
	Phases      []Phase           `json:"phases"`
	Gates       []Gate            `json:"gates,omitempty"`
	Memories    []pawl.Memory     `json:"memories,omitempty"`
	Decisions   []pawl.Decision   `json:"decisions,omitempty"`
	Blockers    []pawl.Blocker    `json:"blockers,omitempty"` // open and cleared ones
	Checkpoints []Checkpoint      `json:"checkpoints,omitempty"`
	Facts       map[string]string `json:"facts,omitempty"` // everything else in the files, as evidence: energy, last action, agent …
	Doubt       *Doubt            `json:"-"`               // what the system's rules leave open; nil: nothing
}

// Count returns how many steps there are.
func (r Project) Count() int {
	n := 0
	for _, phase := range r.Phases {
		n += len(phase.Steps)
	}
	return n
}

// In returns the project with all its paths below a folder: it was read from files in that folder, whose paths are relative to
// it.
func (r Project) In(folder string) Project {
	r.Dir = path.Join(folder, r.Dir)
	within := func(claims []Claim) []Claim {
		claims = slices.Clone(claims)
		for i := range claims {
			claims[i].Path = path.Join(folder, claims[i].Path)
		}
		return claims
	}
	r.Phases, r.Checkpoints = slices.Clone(r.Phases), slices.Clone(r.Checkpoints)
	for i := range r.Checkpoints {
		r.Checkpoints[i].Claims = within(r.Checkpoints[i].Claims)
	}
	for i := range r.Phases {
		r.Phases[i].Steps = slices.Clone(r.Phases[i].Steps)
		for j := range r.Phases[i].Steps {
			s := &r.Phases[i].Steps[j]
			s.Claims, s.Items, s.Outputs = within(s.Claims), slices.Clone(s.Items), slices.Clone(s.Outputs)
			for k, name := range s.Outputs {
				s.Outputs[k] = path.Join(folder, name)
			}
			if s.Gate != nil && s.Gate.OptionsFrom != "" {
				gate := *s.Gate
				gate.OptionsFrom = path.Join(folder, gate.OptionsFrom)
				s.Gate = &gate
			}
			for k := range s.Items {
				s.Items[k].Outputs = slices.Clone(s.Items[k].Outputs)
				for n, name := range s.Items[k].Outputs {
					s.Items[k].Outputs[n] = path.Join(folder, name)
				}
			}
		}
	}
	return r
}

// Phase is a named group of steps.
type Phase struct {
	Name  string `json:"name"`
	Steps []Step `json:"steps"`
}

// Step is a unit of work.
type Step struct {
	ID       pawl.StepID       `json:"id"`
	Name     string            `json:"name,omitempty"`
	Goal     string            `json:"goal,omitempty"` // or its prompt
	Gate     *pawl.GateAction  `json:"gate,omitempty"` // not nil: the step only opens this gate
	Needs    []pawl.StepID     `json:"needs,omitempty"`
	Wave     int               `json:"wave,omitempty"`
	Status   pawl.StepStatus   `json:"status"`
	Native   string            `json:"native_status,omitempty"`
	Agent    string            `json:"agent,omitempty"`
	Role     string            `json:"role,omitempty"` // whom the agent that runs it acts as
	Started  time.Time         `json:"started_at,omitzero"`
	Ended    time.Time         `json:"ended_at,omitzero"`
	Summary  string            `json:"summary,omitempty"`
	Proof    string            `json:"proof,omitempty"` // why it counts as done. Defaults to its claims.
	Why      string            `json:"why,omitempty"`   // the reason why it failed, is blocked or was interrupted
	Attempts int               `json:"attempts,omitempty"`
	Claims   []Claim           `json:"claims,omitempty"`  // files that it claims to have made
	Missing  []string          `json:"missing,omitempty"` // claimed files that do not exist: the step is not done until they do
	Outputs  []string          `json:"outputs,omitempty"` // paths or patterns that an unfinished step must write; a gate behind it shows them
	Commits  []Commit          `json:"commits,omitempty"`
	Items    []Item            `json:"items,omitempty"`
	Total    int               `json:"items_total,omitempty"` // if not all items are listed
	Done     int               `json:"items_done,omitempty"`
	Criteria map[string]bool   `json:"criteria,omitempty"` // its acceptance criteria, and whether the files say that each is met; see Format.CheckCriterion
	Minimum  map[string]int    `json:"minimum,omitempty"`  // minimum scores by reviewer
	Reviews  map[string]int    `json:"reviews,omitempty"`
	Partial  *Partial          `json:"partial,omitempty"`
	Resume   string            `json:"resume,omitempty"` // its own resume instructions
	Where    string            `json:"where,omitempty"`  // file and line
	Facts    map[string]string `json:"facts,omitempty"`  // everything else in the files
}

// Claim is a file that a step claims to have made. It must be verified.
type Claim struct {
	Path   string `json:"path"` // relative to the project's root
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Lines  int    `json:"lines,omitempty"`
}

// Commit is a git commit, as git knows it or as a step claims it.
type Commit struct {
	Hash    string    `json:"hash"`
	Message string    `json:"message,omitempty"` // its first line
	Files   []string  `json:"files,omitempty"`
	Time    time.Time `json:"time,omitzero"`
}

// Item is one element of a step's work.
type Item struct {
	ID      string          `json:"id"`
	Name    string          `json:"name,omitempty"`
	Status  pawl.ItemStatus `json:"status"`
	Native  string          `json:"native_status,omitempty"`
	Commit  string          `json:"commit,omitempty"`
	Outputs []string        `json:"outputs,omitempty"`
}

// Partial is the work of an unfinished step.
type Partial struct {
	Created  []string `json:"created,omitempty"`
	Modified []string `json:"modified,omitempty"`
	Staged   bool     `json:"staged,omitempty"`
	Last     string   `json:"last_action,omitempty"`
}

// Gate is a gate, open or answered.
type Gate struct {
	pawl.Gate
	Native string             `json:"native_type,omitempty"`
	Answer string             `json:"answer,omitempty"` // as it was given; empty: the gate is open
	Means  *pawl.GateAnswered `json:"means,omitempty"`  // the meaning of the answer. Defaults to approved or, for a decision, to chosen.
}

// Checkpoint is a checkpoint that the system made.
type Checkpoint struct {
	ID     string              `json:"id"`
	Kind   pawl.CheckpointKind `json:"kind"`
	Step   pawl.StepID         `json:"step,omitempty"`
	Native string              `json:"native_kind,omitempty"`
	Time   time.Time           `json:"time,omitzero"`
	Reason string              `json:"reason,omitempty"`
	Valid  bool                `json:"valid"` // its content matches its claims, as far as the files show
	Claims []Claim             `json:"claims,omitempty"`
	Where  string              `json:"where,omitempty"`
}
