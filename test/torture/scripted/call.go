package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"pawl"
)

// Call is one tool call of a script. The fields with names in JSON are for the agent, the others for the judge.
type Call struct {
	N       int             `json:"n"`            // within the story
	ID      string          `json:"id,omitempty"` // the agent's; empty: its calls have no ids
	Sort    Sort            `json:"sort"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Command string          `json:"command,omitempty"` // of a shell
	Base    string          `json:"base"`              // the folder, absolute, to which its paths are relative
	Dir     string          `json:"dir,omitempty"`     // the folder, absolute, in which its shell starts
	Changes []Change        `json:"changes,omitempty"` // of files, relative to Base
	Style   Style           `json:"style,omitempty"`
	Pause   time.Duration   `json:"pause,omitempty"` // how long a tool other than a shell takes, or pauses between two writes
	Paths   []string        `json:"paths,omitempty"` // that it may touch, absolute
	Sub     *Subagent       `json:"sub,omitempty"`

	Ask       Ask           `json:"ask,omitempty"`        // a request for permission. Defaults to none.
	Serves    bool          `json:"serves,omitempty"`     // it leaves a process running that does not end by itself
	Holds     bool          `json:"holds,omitempty"`      // another agent runs while its tool runs
	Silent    bool          `json:"silent,omitempty"`     // a person interrupts it: no outcome is reported
	CutIntent time.Duration `json:"cut_intent,omitempty"` // the hook is killed after so long. Defaults to never.
	CutReport time.Duration `json:"cut_report,omitempty"` // likewise the hook for the outcome. Defaults to never.

	Session pawl.SessionID `json:"-"`
	Mark    string         `json:"-"` // words that are unique to its summary; empty: none
	Far     bool           `json:"-"` // pawl does not search the place of its changes
	Reads   bool           `json:"-"` // its tool only reads
	means   tool
	plain   string         // the command as written for Base
	given   map[string]any // its input, with our names of keys
	do      func(World) bool
	reads   []string
	stamps  []string
	beyond  beyond
}

// Ask is a person's answer to a request for permission.
type Ask string

// The answers.
const (
	Granted Ask = "granted"
	Denied  Ask = "refused"                     // the agent gets the refusal, and continues
	Broken  Ask = "refused, and the turn ended" // the end of the turn is not reported
)

// Refuses reports whether the tool does not run.
func (a Ask) Refuses() bool { return a == Denied || a == Broken }

// Subagent is an agent that a call starts.
type Subagent struct {
	ID     string    `json:"id"`
	Groups [][]*Call `json:"groups"`
}

// Sort is the kind of a call in the table of counts.
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
	Service    Sort = "service"
	Reading    Sort = "read"
	Remote     Sort = "remote"
	Delegate   Sort = "subagent"
)

// Sorts are all of them, in the order of the table.
var Sorts = []Sort{WriteFile, EditFile, PatchFiles, Plain, Sequence, Loop, Program, Git, Background, Service, Reading, Remote, Delegate}

// Local reports whether calls of this sort leave effects on this machine.
func (s Sort) Local() bool { return s != Reading && s != Remote && s != Delegate }

// does sets the effects of a call to those of a part.
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

// spell writes the input as an agent in its own folder does.
func (c *Call) spell(a *Author) {
	t := a.dialect.tools[c.means]
	given := maps.Clone(c.given)
	if path, ok := given["path"].(string); ok {
		given["path"] = a.spelled(filepath.Join(c.Base, path))
	}
	if c.means == toolShell {
		c.spellPlace(a, given)
	}
	c.Tool, c.Reads = t.name, c.means == toolRead || c.means == toolSearch || c.means == toolWeb
	c.Input, _ = json.Marshal(t.input(given)) // a map of texts is always JSON
}

// spelled returns a path as the agent names it.
func (a *Author) spelled(path string) string {
	if a.dialect.whole {
		return path
	}
	return relative(a.cwd, path)
}

// relative returns a path relative to a folder. Both are absolute.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return path
	}
	return rel
}

// spellPlace makes a command run in Base: as the agent's folder, by an option of its tool, or by cd.
func (c *Call) spellPlace(a *Author, given map[string]any) {
	name := pick(a.Dice, c.Base, relative(a.cwd, c.Base))
	c.Command, c.Dir = c.plain, a.cwd
	switch _, takes := a.dialect.tools[toolShell].keys["dir"]; {
	case c.Base == a.cwd && !a.chance(15):
	case takes && a.chance(60):
		given["dir"], c.Dir = name, c.Base
	default:
		c.Command = "cd " + quote(name) + " && " + c.plain
	}
	given["command"] = c.Command
}

// again returns the call as another session repeats it, nil if its agent has no such tool.
func (c *Call) again(a *Author) *Call {
	if !a.dialect.has(c.means) || c.Sub != nil || c.means == toolPatch && c.Base != a.cwd || c.Serves {
		return nil
	}
	copied := *c
	copied.ID, copied.Silent, copied.CutIntent, copied.CutReport, copied.Ask, copied.Holds, copied.Mark = "", false, 0, 0, "", false, ""
	copied.spell(a)
	return &copied
}

// Digest is SHA-256 of the tool's name and its input, whose keys Go sorts as pawl does.
func (c *Call) Digest() string {
	var v any
	_ = json.Unmarshal(c.Input, &v) // we wrote it
	plain, _ := json.Marshal(v)
	sum := sha256.Sum256(append([]byte(c.Tool+"\x00"), plain...))
	return hex.EncodeToString(sum[:])
}

// PausesLike reports whether another call runs the same sleep.
func (c *Call) PausesLike(other *Call) bool {
	_, pause, sleeps := strings.Cut(c.Command, "sleep ")
	pause, _, _ = strings.Cut(pause+" ", " ")
	return sleeps && strings.Contains(other.Command, "sleep "+strings.TrimRight(pause, ";"))
}
