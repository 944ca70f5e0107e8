package format

import (
	"path"
	"slices"
	"time"

	"pawl"
)

// Reading is what was read of a project of another system, in pawl's words. Native words stay beside them.
type Project struct {
	System      string            `json:"system"`
	Name        string            `json:"name"` // of the run
	ID          string            `json:"id,omitempty"`
	Goal        string            `json:"goal,omitempty"`
	Dir         string            `json:"dir,omitempty"` // that its work is done in, relative to the project's root
	Status      pawl.RunStatus    `json:"status"`
	Native      string            `json:"native_status,omitempty"`
	Resume      string            `json:"resume,omitempty"` // by the system's own rule: may it be resumed, or why not
	Mode        pawl.Mode         `json:"mode,omitempty"`
	Budget      pawl.Budget       `json:"budget,omitzero"`
	Created     time.Time         `json:"created_at,omitzero"`
	Updated     time.Time         `json:"updated_at,omitzero"` // the last activity
	Position    pawl.Position     `json:"position"`
	Percent     int               `json:"progress_percent"`
	Next        string            `json:"next,omitempty"`     // the resume point, in words
	Prompt      string            `json:"prompt,omitempty"`   // the system's own continuation prompt, where it has one
	Snapshot    any               `json:"snapshot,omitempty"` // what the system's own planner is told, in its words, where it has one
	Phases      []Phase           `json:"phases"`
	Gates       []Gate            `json:"gates,omitempty"`
	Memories    []pawl.Memory     `json:"memories,omitempty"`
	Decisions   []pawl.Decision   `json:"decisions,omitempty"`
	Blockers    []pawl.Blocker    `json:"blockers,omitempty"` // also those that are cleared
	Checkpoints []Checkpoint      `json:"checkpoints,omitempty"`
	Facts       map[string]string `json:"facts,omitempty"` // what else it says, as evidence: energy, last action, agent …
}

// Count returns how many steps there are.
func (r Project) Count() int {
	n := 0
	for _, phase := range r.Phases {
		n += len(phase.Steps)
	}
	return n
}

// In returns the reading of files that lie in a folder of the project, as the project sees it: the work is done in that
// folder, and what is claimed is found below it.
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
			s.Claims, s.Items = within(s.Claims), slices.Clone(s.Items)
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
	Goal     string            `json:"goal,omitempty"` // or the prompt that it is done by
	Gate     *pawl.GateAction  `json:"gate,omitempty"` // a person is asked, and nothing else is done
	Needs    []pawl.StepID     `json:"needs,omitempty"`
	Wave     int               `json:"wave,omitempty"`
	Status   pawl.StepStatus   `json:"status"`
	Native   string            `json:"native_status,omitempty"`
	Agent    string            `json:"agent,omitempty"`
	Started  time.Time         `json:"started_at,omitzero"`
	Ended    time.Time         `json:"ended_at,omitzero"`
	Summary  string            `json:"summary,omitempty"`
	Why      string            `json:"why,omitempty"` // it failed, is blocked or was cut off
	Attempts int               `json:"attempts,omitempty"`
	Claims   []Claim           `json:"claims,omitempty"`  // files that it says it made
	Missing  []string          `json:"missing,omitempty"` // of these: it was said to be done, and is not before they are there
	Commits  []Commit          `json:"commits,omitempty"`
	Items    []Item            `json:"items,omitempty"`
	Total    int               `json:"items_total,omitempty"` // where not all items are named
	Done     int               `json:"items_done,omitempty"`
	Criteria map[string]bool   `json:"criteria,omitempty"` // that it is to meet, and whether it is said to; see Prover
	Minimum  map[string]int    `json:"minimum,omitempty"`  // scores of reviewers without which it is not done
	Reviews  map[string]int    `json:"reviews,omitempty"`
	Partial  *Partial          `json:"partial,omitempty"`
	Resume   string            `json:"resume,omitempty"` // what it says about going on
	Where    string            `json:"where,omitempty"`  // file and line that it was read from
	Facts    map[string]string `json:"facts,omitempty"`  // what else it says of it
}

// Claim is a file that something says it made. It is to be checked, never believed.
type Claim struct {
	Path   string `json:"path"` // relative to the project's root
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Lines  int    `json:"lines,omitempty"`
}

// Commit is a commit of git that something says it made.
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

// Partial is what was begun and not finished.
type Partial struct {
	Created  []string `json:"created,omitempty"`
	Modified []string `json:"modified,omitempty"`
	Staged   bool     `json:"staged,omitempty"`
	Last     string   `json:"last_action,omitempty"`
}

// Gate is a question to a person, perhaps answered.
type Gate struct {
	pawl.Gate
	Native string             `json:"native_type,omitempty"`
	Answer string             `json:"answer,omitempty"` // as it was given; empty: it is open
	Means  *pawl.GateAnswered `json:"means,omitempty"`  // what an answer means. Defaults to approved or, of a decision, chosen.
}

// Checkpoint is one that the system took.
type Checkpoint struct {
	ID     string              `json:"id"`
	Kind   pawl.CheckpointKind `json:"kind"`
	Step   pawl.StepID         `json:"step,omitempty"`
	Native string              `json:"native_kind,omitempty"`
	Time   time.Time           `json:"time,omitzero"`
	Reason string              `json:"reason,omitempty"`
	Valid  bool                `json:"valid"` // it holds what it says, as far as the files tell
	Claims []Claim             `json:"claims,omitempty"`
	Where  string              `json:"where,omitempty"`
}
