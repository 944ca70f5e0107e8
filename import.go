package pawl

import "time"

// ImportState is what the state keeps of [RunImported].
type ImportState struct {
	System string    `json:"system,omitempty"`
	ID     string    `json:"id,omitempty"`       // the work's id in that system
	Path   string    `json:"path,omitempty"`     // of that system's files
	Place  string    `json:"place,omitempty"`    // the folder below Path, where there may be several
	Status string    `json:"status,omitempty"`   // in that system's terms
	Next   string    `json:"next,omitempty"`     // where that system says the work continues
	Active time.Time `json:"active_at,omitzero"` // when somebody last worked on it there
	Seq    Seq       `json:"seq,omitempty"`      // of the event
}

// RunImported records that the run was imported from another system's files, with the findings. Events for the finished work
// that is proven follow it.
type RunImported struct {
	System   string            `json:"system"`
	Path     string            `json:"path,omitempty"`  // of its files, relative to the project where they are inside
	Place    string            `json:"place,omitempty"` // the folder below Path, where there may be several: .grid, reports/tides
	Name     string            `json:"name,omitempty"`
	ID       string            `json:"id,omitempty"`       // in that system
	Status   string            `json:"status,omitempty"`   // in that system's terms
	Next     string            `json:"next,omitempty"`     // where that system says the work continues
	Active   time.Time         `json:"active_at,omitzero"` // when somebody last worked on it, according to its files
	Facts    map[string]string `json:"facts,omitempty"`
	Findings []Finding         `json:"findings,omitempty"`
}

func (RunImported) Event() EventType { return "run.imported" }

func (p RunImported) fold(s *State, e Event) error {
	s.Import = ImportState{System: p.System, ID: p.ID, Path: p.Path, Place: p.Place, Status: p.Status, Next: p.Next, Active: p.Active, Seq: e.Seq}
	return nil
}

// RunMirrored starts to keep another system's files up to date. Without a system, it stops that.
type RunMirrored struct {
	System string `json:"system,omitempty"`
	Path   string `json:"path,omitempty"` // of its folder or file, relative to the project. Defaults to the project.

	Answers bool `json:"answers,omitempty"` // answers to gates in the files count; only a person can say so
}

func (RunMirrored) Event() EventType { return "run.mirrored" }

func (p RunMirrored) fold(s *State, e Event) error {
	p.Answers = p.Answers && e.By.Kind == ByPerson
	if s.Mirror = &p; p.System == "" {
		s.Mirror = nil
	}
	return nil
}

// SameFiles reports whether both name the same files of the same system; nil names none.
func (m *RunMirrored) SameFiles(other RunMirrored) bool {
	return m != nil && m.System == other.System && m.Path == other.Path
}

// String returns SYSTEM or SYSTEM=PATH; empty for nil.
func (m *RunMirrored) String() string {
	switch {
	case m == nil:
		return ""
	case m.Path == "":
		return m.System
	}
	return m.System + "=" + m.Path
}
