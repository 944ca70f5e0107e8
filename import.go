package pawl

import "time"

// ImportState is what the state keeps of [RunImported].
type ImportState struct {
	System string    `json:"system,omitempty"`
	ID     string    `json:"id,omitempty"`       // the work's id in that system
	Path   string    `json:"path,omitempty"`     // of that system's files
	Place  string    `json:"place,omitempty"`    // the folder below Path, where there may be several
	Next   string    `json:"next,omitempty"`     // where that system says the work continues
	Active time.Time `json:"active_at,omitzero"` // when somebody last worked on it there
	Seq    Seq       `json:"seq,omitempty"`      // of the event
}

// RunImported says that the run was made of another system's files, and what was found in them. What it had finished
// stands behind it, as far as it is proven.
type RunImported struct {
	System   string            `json:"system"`
	Path     string            `json:"path,omitempty"`  // of its files, relative to the project where they lie inside
	Place    string            `json:"place,omitempty"` // below that, where there may be several: .grid, reports/tides
	Name     string            `json:"name,omitempty"`
	ID       string            `json:"id,omitempty"`       // its own
	Status   string            `json:"status,omitempty"`   // its own word
	Next     string            `json:"next,omitempty"`     // where it says to go on
	Active   time.Time         `json:"active_at,omitzero"` // when somebody last worked on it, as far as its files say
	Facts    map[string]string `json:"facts,omitempty"`
	Findings []Finding         `json:"findings,omitempty"`
}

func (RunImported) Event() EventType { return "run.imported" }

func (p RunImported) fold(s *State, e Event) error {
	s.Import = ImportState{System: p.System, ID: p.ID, Path: p.Path, Place: p.Place, Next: p.Next, Active: p.Active, Seq: e.Seq}
	return nil
}

// RunMirrored says that another system's files are kept up to date from here on; without a system, that they are not.
type RunMirrored struct {
	System string `json:"system,omitempty"`
	Path   string `json:"path,omitempty"` // of the folder or the file that it lives in, relative to the project. Defaults to the project.
}

func (RunMirrored) Event() EventType { return "run.mirrored" }

func (p RunMirrored) fold(s *State, _ Event) error {
	if s.Mirror = &p; p.System == "" {
		s.Mirror = nil
	}
	return nil
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
