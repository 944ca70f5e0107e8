package main

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/strictyaml"
)

//go:embed scenarios/*.yaml
var scenarioFiles embed.FS

// A scenario is the work of scripted agents on one project until a new session starts, and the truth about each of their operations
// at that time.
type scenario struct {
	Name     string            `yaml:"-" json:"name"` // of its file
	About    string            `yaml:"about" json:"about"`
	Files    map[string]string `yaml:"files,omitempty" json:"files,omitempty"` // of the project, committed before anything else
	Sessions []session         `yaml:"sessions,omitempty" json:"sessions,omitempty"`
	Outside  string            `yaml:"outside,omitempty" json:"outside,omitempty"` // a shell command that a person runs in the project after the sessions
	Check    []string          `yaml:"check,omitempty" json:"check,omitempty"`     // shell commands that must succeed at the end: they prove the truth
	Truth    []fact            `yaml:"truth,omitempty" json:"truth,omitempty"`
}

// A session is what one agent does, from its start to its exit or death.
type session struct {
	Outside string  `yaml:"outside,omitempty" json:"outside,omitempty"` // a shell command that a person runs in the project before it
	Folder  string  `yaml:"folder,omitempty" json:"folder,omitempty"`   // its working folder, below the project's root
	Resumes bool    `yaml:"resumes,omitempty" json:"resumes,omitempty"` // it continues the conversation of the session before, with the client's own resume
	Does    []event `yaml:"does,omitempty" json:"does,omitempty"`
	End     ending  `yaml:"end,omitempty" json:"end,omitempty"`
}

// ending is how a session ends that did not die in a call.
type ending string

// The endings. A session that ends in a call has none.
const (
	exits ending = "exits" // it ends normally
	dies  ending = "dies"  // SIGKILL, between two events
	stays ending = "stays" // it is alive when the new session starts
)

// An event is one thing that happens in a session. One of its fields is set, in addition to those that say how a call ends.
type event struct {
	Prompt   string   `yaml:"prompt,omitempty" json:"prompt,omitempty"`
	Says     string   `yaml:"says,omitempty" json:"says,omitempty"`         // the model's text, without a call
	Stops    string   `yaml:"stops,omitempty" json:"stops,omitempty"`       // the turn ends, with this text
	Limit    string   `yaml:"limit,omitempty" json:"limit,omitempty"`       // the turn ends: a usage limit is reached, with this message
	Compacts string   `yaml:"compacts,omitempty" json:"compacts,omitempty"` // the client replaces the conversation by this summary
	Write    *write   `yaml:"write,omitempty" json:"write,omitempty"`
	Edit     *edit    `yaml:"edit,omitempty" json:"edit,omitempty"`
	Shell    string   `yaml:"shell,omitempty" json:"shell,omitempty"`
	Agent    *helper  `yaml:"agent,omitempty" json:"agent,omitempty"` // a sub-agent
	Todo     []string `yaml:"todo,omitempty" json:"todo,omitempty"`   // "[x] done", "[>] in progress", "[ ] pending"
	Parallel []event  `yaml:"parallel,omitempty" json:"parallel,omitempty"`

	Background bool   `yaml:"background,omitempty" json:"background,omitempty"` // the shell command continues in the background
	Refused    string `yaml:"refused,omitempty" json:"refused,omitempty"`       // a person refuses the call, with this reason
	Denied     string `yaml:"denied,omitempty" json:"denied,omitempty"`         // a policy refuses it, for this reason
	Dies       death  `yaml:"dies,omitempty" json:"dies,omitempty"`
	Survives   bool   `yaml:"survives,omitempty" json:"survives,omitempty"` // the call's processes outlive the agent
	Times      int    `yaml:"times,omitempty" json:"times,omitempty"`       // N in its texts is 1, 2, …
}

// death is the moment of a call at which its agent gets SIGKILL.
type death string

// The moments.
const (
	diesBefore death = "before" // the call is announced, and its tool has not started
	diesDuring death = "during" // the command has reached `halfway`
	diesAfter  death = "after"  // its tool has ended, and no hook was called
)

type write struct {
	Path    string `yaml:"path" json:"path"`
	Content string `yaml:"content" json:"content"`
}

type edit struct {
	Path string `yaml:"path" json:"path"`
	Old  string `yaml:"old" json:"old"`
	New  string `yaml:"new" json:"new"`
}

type helper struct {
	Task   string  `yaml:"task" json:"task"`
	Prompt string  `yaml:"prompt" json:"prompt"`
	Does   []event `yaml:"does" json:"does"`
}

// A fact is the truth about one operation. Its mark is a word that occurs nowhere else in the scenario.
type fact struct {
	Mark    string    `yaml:"mark" json:"mark"`
	State   state     `yaml:"state" json:"state"`
	Verdict []verdict `yaml:"verdict,omitempty" json:"verdict,omitempty"` // of one in doubt: each of these is right
	Running bool      `yaml:"running,omitempty" json:"running,omitempty"` // a process of it is alive
}

// state is the state of an operation or a prompt.
type state string

// The states.
const (
	finished  state = "finished"
	inDoubt   state = "in doubt"
	refused   state = "refused"
	failed    state = "failed"
	open      state = "open"      // requested, and not finished
	elsewhere state = "elsewhere" // a living session works on it
	never     state = "never"     // it is only mentioned
)

// verdict is how far an operation in doubt got, according to evidence on this machine.
type verdict string

// The verdicts.
const (
	verdictDone    verdict = "done"
	verdictNotDone verdict = "not done"
	verdictPartly  verdict = "partly"
	verdictUnknown verdict = "unknown"
)

// readScenarios returns the scenarios in the order of their names.
func readScenarios() ([]scenario, error) {
	files, err := scenarioFiles.ReadDir("scenarios")
	if err != nil {
		return nil, err
	}
	var all []scenario
	var errs []error
	for _, f := range files {
		data, err := scenarioFiles.ReadFile(path.Join("scenarios", f.Name()))
		if err != nil {
			return nil, err
		}
		s := scenario{Name: strings.TrimSuffix(f.Name(), ".yaml")}
		errs = append(errs, strictyaml.Read("scenario", data, &s).Err(f.Name()), s.validate())
		all = append(all, s)
	}
	return all, errors.Join(errs...)
}

// validate checks that each mark occurs in the scenario, and that none can be confused with another or with a phrase.
func (s *scenario) validate() error {
	var errs []error
	texts := strings.ToLower(strings.Join(textsOf(s.Sessions), "\n"))
	for i, f := range s.Truth {
		if !strings.Contains(texts, f.Mark) {
			errs = append(errs, fmt.Errorf("%s: no session mentions %q", s.Name, f.Mark))
		}
		if (f.State == inDoubt) != (len(f.Verdict) > 0) {
			errs = append(errs, fmt.Errorf("%s: %q: a verdict goes with the state in doubt", s.Name, f.Mark))
		}
		for _, other := range s.Truth[:i] {
			if strings.Contains(f.Mark, other.Mark) || strings.Contains(other.Mark, f.Mark) {
				errs = append(errs, fmt.Errorf("%s: %q and %q", s.Name, f.Mark, other.Mark))
			}
		}
	}
	return errors.Join(errs...)
}

// textsOf returns all texts of sessions.
func textsOf(all []session) []string {
	var texts []string
	for _, s := range all {
		texts = append(texts, s.Outside)
		texts = append(texts, eventTexts(s.Does)...)
	}
	return texts
}

func eventTexts(all []event) []string {
	var texts []string
	for _, e := range all {
		texts = append(texts, e.Prompt, e.Says, e.Stops, e.Compacts, e.Shell)
		texts = append(texts, e.Todo...)
		if e.Write != nil {
			texts = append(texts, e.Write.Path, e.Write.Content)
		}
		if e.Edit != nil {
			texts = append(texts, e.Edit.Path, e.Edit.New)
		}
		if e.Agent != nil {
			texts = append(texts, e.Agent.Task, e.Agent.Prompt)
			texts = append(texts, eventTexts(e.Agent.Does)...)
		}
		texts = append(texts, eventTexts(e.Parallel)...)
	}
	return slices.DeleteFunc(texts, func(t string) bool { return t == "" })
}
