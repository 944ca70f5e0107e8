package scripted

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"time"

	"pawl"
)

// Call is one tool call of a script. What has a name in JSON is what the agent is told; the rest is for who judges it.
type Call struct {
	N       int             `json:"n"`            // within the story
	ID      string          `json:"id,omitempty"` // the agent's; empty: it does not name its calls
	Sort    Sort            `json:"sort"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Command string          `json:"command,omitempty"` // what a shell is told
	Changes []Change        `json:"changes,omitempty"` // what becomes of files
	Style   Style           `json:"style,omitempty"`
	Pause   time.Duration   `json:"pause,omitempty"` // how long a tool takes that is no shell, or rests between two writes
	Paths   []string        `json:"paths,omitempty"` // that it may touch
	Sub     *Subagent       `json:"sub,omitempty"`

	Silent    bool          `json:"silent,omitempty"`     // a person breaks it off: nobody is told of its outcome
	CutIntent time.Duration `json:"cut_intent,omitempty"` // the hook is killed after so long. Defaults to never.
	CutReport time.Duration `json:"cut_report,omitempty"` // the hook that is told of the outcome is. Defaults to never.

	Session pawl.SessionID `json:"-"`
	means   tool
	given   map[string]any // its input in our own words
	do      func(World) bool
	reads   []string
	stamps  []string
	beyond  beyond
}

// Subagent is an agent that a call starts.
type Subagent struct {
	ID     string    `json:"id"`
	Groups [][]*Call `json:"groups"`
}

// Sort is what a call is for the table of counts.
type Sort string

// The sorts of calls.
const (
	WriteFile  Sort = "write a file"
	EditFile   Sort = "edit a file"
	PatchFiles Sort = "patch files"
	Plain      Sort = "command"
	Sequence   Sort = "sequence"
	Loop       Sort = "loop"
	Program    Sort = "script"
	Git        Sort = "git"
	Background Sort = "background"
	Reading    Sort = "read"
	Remote     Sort = "remote"
	Delegate   Sort = "subagent"
)

// Sorts are all of them, in the order of the table.
var Sorts = []Sort{WriteFile, EditFile, PatchFiles, Plain, Sequence, Loop, Program, Git, Background, Reading, Remote, Delegate}

// Local reports whether calls of this sort leave something here.
func (s Sort) Local() bool { return s != Reading && s != Remote && s != Delegate }

// does has a call do what a part does, which was made of others.
func (c *Call) does(whole Part, of ...Part) *Call {
	if len(of) == 0 {
		of = []Part{whole}
	}
	c.Paths, c.reads, c.stamps, c.do, c.beyond = whole.paths, whole.reads, whole.stamps, whole.run, beyondOf(of)
	return c
}

// all calls each with a call and with those of its subagent.
func (c *Call) all(each func(*Call)) {
	each(c)
	if c.Sub == nil {
		return
	}
	for _, group := range c.Sub.Groups {
		for _, sub := range group {
			sub.all(each)
		}
	}
}

// spell writes the input as an agent does.
func (c *Call) spell(d *Dialect, root string) {
	t := d.tools[c.means]
	given := maps.Clone(c.given)
	if path, ok := given["path"].(string); ok && d.whole {
		given["path"] = filepath.Join(root, path)
	}
	c.Tool = t.name
	c.Input, _ = json.Marshal(t.input(given)) // a map of texts is always JSON
}

// again returns the call as another session makes it anew, nil where its agent has no such tool.
func (c *Call) again(d *Dialect, root string) *Call {
	if !d.has(c.means) || c.Sub != nil {
		return nil
	}
	copied := *c
	copied.ID, copied.Silent, copied.CutIntent, copied.CutReport = "", false, 0, 0
	copied.spell(d, root)
	return &copied
}
