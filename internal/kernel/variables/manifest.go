package variables

import (
	"errors"
	"slices"
	"time"
)

// MIME is the MIME type of the displays with which the kernel answers.
const MIME = "application/vnd.pawl.variables.v1+json"

// Errors that callers tell apart.
var (
	ErrNoAnswer = errors.New("the kernel did not answer")
	ErrDamaged  = errors.New("the checkpoint of variables is damaged")
	ErrMissing  = errors.New("no such checkpoint of variables")
	ErrEnded    = errors.New("the process that verifies variables ended unexpectedly") // which says nothing about the checkpoint
)

// ID identifies a checkpoint of variables within a store. It contains the start of the SHA-256 of the manifest, so whoever records the ID
// records the content. Later ones are greater.
type ID string

// Key is the key of a cell: a hash of the key of the cell before it, its source and the parameters.
type Key string

// Manifest describes a checkpoint of variables. The file does not change after Accept.
type Manifest struct {
	Key         Key              `json:"key"` // of the cell after which it was saved
	Created     time.Time        `json:"created"`
	Environment Environment      `json:"environment"`
	Variables   []Variable       `json:"variables"`
	Unsaved     []Unsaved        `json:"unsaved"`
	States      map[string]Place `json:"states"`          // of random number generators, by module
	Notes       []string         `json:"notes,omitempty"` // what is different after loading

	ID       ID        `json:"-"`
	SHA256   string    `json:"-"` // of the file
	Verified time.Time `json:"-"` // zero: not verified
	Failed   []string  `json:"-"` // variables that did not load; they are in Unsaved, too
	Unstable []string  `json:"-"` // variables of which only the type is compared
}

// verification is the commit record of a checkpoint.
type verification struct {
	Manifest string            `json:"manifest"` // SHA-256
	Verified time.Time         `json:"verified"`
	Failed   map[string]string `json:"failed"`   // variable → why it did not load
	Unstable []string          `json:"unstable"` // variables whose content hash is different after each loading
}

// apply moves the variables that did not load to Unsaved.
func (m *Manifest) apply(v verification) {
	saved := m.Variables[:0:0]
	for _, variable := range m.Variables {
		if why, failed := v.Failed[variable.Name]; failed {
			m.Unsaved = append(m.Unsaved, Unsaved{Name: variable.Name, Type: variable.Type, Why: "it does not load: " + why, Since: variable.Since})
			m.Failed = append(m.Failed, variable.Name)
			continue
		}
		if slices.Contains(v.Unstable, variable.Name) {
			variable.Hash = ""
		}
		saved = append(saved, variable)
	}
	m.Variables, m.Unstable, m.Verified = saved, v.Unstable, v.Verified
}

// objects returns the names of the objects that the manifest needs.
func (m Manifest) objects() map[string]bool {
	names := map[string]bool{}
	for _, v := range m.Variables {
		if v.Place != nil {
			names[v.Place.Object] = true
		}
	}
	for _, place := range m.States {
		names[place.Object] = true
	}
	return names
}

// Variable is a saved variable.
type Variable struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"` // value, module, function, class or same
	Type     string   `json:"type"`
	Shape    []int64  `json:"shape,omitempty"`
	Dtype    string   `json:"dtype,omitempty"`
	Hash     string   `json:"hash,omitempty"`   // of the content; empty if that has no hash that is the same in another process
	Format   string   `json:"format,omitempty"` // npy, json, parquet, pickle or recipe
	Memory   int64    `json:"memory,omitempty"` // bytes in the kernel
	Place    *Place   `json:"place,omitempty"`
	Member   bool     `json:"member,omitempty"`   // the pickle is a dictionary of variables that share objects
	Readonly bool     `json:"readonly,omitempty"` // of an array
	Module   string   `json:"module,omitempty"`   // of a module: its name
	Of       string   `json:"of,omitempty"`       // of same: the variable that is the same object
	Needs    []string `json:"needs,omitempty"`    // globals that a function or class uses
	Since    Key      `json:"since"`              // of the cell after which this content was first seen
}

// Unsaved is a variable that was not saved, or did not load.
type Unsaved struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Why   string `json:"why"`
	Since Key    `json:"since"`
}

// Place is a range of bytes of an object. Objects are files that are named by their SHA-256.
type Place struct {
	Object string `json:"object"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// Environment is what a kernel that loads variables should have in common with the one that saved them.
type Environment struct {
	Language       string   `json:"language"`
	Version        string   `json:"version"`
	Implementation string   `json:"implementation"`
	Executable     string   `json:"executable"`
	Platform       string   `json:"platform"` // such as linux-x86_64
	Packages       []string `json:"packages"` // name==version
	Path           []string `json:"path"`     // import path
	Folder         string   `json:"cwd"`
	Loaded         []string `json:"loaded"` // large libraries that are imported
}

// Limits are the limits of a checkpoint. What exceeds them is not saved.
type Limits struct {
	Variable int64         // bytes of a variable. Defaults to 256 MiB.
	Total    int64         // bytes of all variables. Defaults to 1 GiB.
	Time     time.Duration // for all variables. Defaults to 60 s.
	Each     time.Duration // for a variable. Defaults to 20 s.
}

func (l Limits) withDefaults() Limits {
	if l.Variable <= 0 {
		l.Variable = 256 << 20
	}
	if l.Total <= 0 {
		l.Total = 1 << 30
	}
	if l.Time <= 0 {
		l.Time = 60 * time.Second
	}
	if l.Each <= 0 {
		l.Each = 20 * time.Second
	}
	return l
}

// limitsJSON is how the program in the kernel reads limits.
type limitsJSON struct {
	Variable int64   `json:"variable_bytes"`
	Total    int64   `json:"total_bytes"`
	Time     float64 `json:"seconds"`
	Each     float64 `json:"variable_seconds"`
}

func (l Limits) json() limitsJSON {
	return limitsJSON{l.Variable, l.Total, l.Time.Seconds(), l.Each.Seconds()}
}
