package sitebuilder

import (
	"cmp"
	"encoding/json"
	"errors"
	"pawl"
	"slices"
	"strings"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/lazyregexp"
	"pawl/internal/oneline"
	"pawl/internal/textedit/jsonedit"
)

// checkpoint is a task's checkpoint. All values are optional.
type checkpoint struct {
	named
	file   string
	line   int // of its status
	broken bool

	id, agentName, title string
	native               string
	percent              int // -1: unknown
	started, updated     time.Time
	completed, beat      time.Time
	counted              bool // it has counts
	total, done, failed  int
	items                []subtask
	created, modified    []string
	criteria             map[string]bool
	scores               map[string]int
	unscored             []string // reviewers who have not answered
	errors               []fault
	last, next, notes    string
	resumable            *bool
	instructions         string
	facts                map[string]string
}

// subtask is an item of a checkpoint.
type subtask struct {
	id, native, output string
	line               int
}

// fault is an error in a checkpoint.
type fault struct {
	kind, message string
	at            time.Time
	blocking      bool
}

func checkpointAt(name string) *checkpoint {
	return &checkpoint{named: nameOf(name), file: name, percent: -1, criteria: map[string]bool{}, scores: map[string]int{}, facts: map[string]string{}}
}

// unreadAt returns a checkpoint of an unreadable file: only its path is known.
func unreadAt(name string) *checkpoint {
	c := checkpointAt(name)
	c.broken = true
	return c
}

// readCheckpoint parses a checkpoint. It reads invalid JSON line by line, and does not take such a task as complete.
func (r *teamReader) readCheckpoint(f *format.File) *checkpoint {
	c := checkpointAt(f.Path)
	root, err := jsonedit.Read(f.Data)
	switch {
	case err != nil:
		c.broken = true
		line := 0
		if wrong, ok := errors.AsType[*jsonedit.SyntaxError](err); ok {
			line = wrong.Line
		}
		r.Find(pawl.Bad, report.Where(f.Path, line), "fix it, or restart its task", "invalid JSON: %v; its readable lines were used", err)
		root = repaired(f.Data).root
	case !root.Is(jsonedit.Object):
		c.broken = true
		r.Bad(report.Where(f.Path, root.Line()), "not a JSON object")
		return c
	}
	rec := jsonRecord{r: r, file: f.Path, v: root, used: map[*jsonedit.Value]bool{}}
	rec.checkDuplicateKeys()
	c.readWho(rec)
	c.readTimes(rec)
	c.readWork(rec)
	c.readQuality(rec)
	rec.unusedFacts(c.facts)
	return c
}

// member matches a line of JSON with a key and a scalar.
var member = lazyregexp.New(`(?m)^[ \t]*("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*")[ \t]*:[ \t]*("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"|-?[0-9]{1,12}|true|false|null)[ \t]*,?[ \t]*\r?$`)

// repaired returns an editor with the readable part of invalid JSON: its valid beginning, and the checkpoint's own keys in
// the lines after it.
func repaired(data []byte) *editor {
	whole, rest := jsonedit.Torn(data)
	e := edit(whole)
	if e == nil {
		e = edit([]byte("{}\n"))
	}
	for _, m := range scanLines(rest).Members {
		if e.root.Get(m.Key) == nil && slices.Contains(ownKeys, m.Key) {
			e.set(json.RawMessage(m.Value.Raw()), m.Key)
		}
	}
	return e
}

// ownKeys are the keys of a checkpoint itself, which no nested object has.
var ownKeys = []string{
	"checkpoint_id", "agent", "agent_name", "task_id", "task_title", "progress_percent", "started_at", "updated_at", "completed_at", "resumable",
	"resume_instructions",
}

// scanLines returns an object with the keys and scalars in the lines of invalid JSON. The first occurrence of a key counts;
// later ones are in nested objects.
func scanLines(data []byte) *jsonedit.Value {
	var members []string
	seen := map[string]bool{}
	for _, m := range member.FindAllSubmatch(data, -1) {
		if key := string(m[1]); !seen[key] {
			seen[key] = true
			members = append(members, key+":"+string(m[2]))
		}
	}
	v, err := jsonedit.Read([]byte("{" + strings.ToValidUTF8(strings.Join(members, ","), "\uFFFD") + "}"))
	if err != nil {
		v, _ = jsonedit.Read([]byte("{}")) // unreachable: each line was checked
	}
	return v
}

// readWho determines agent and task. The file's name decides, since agents find their checkpoint by it.
func (c *checkpoint) readWho(rec jsonRecord) {
	agent, task := rec.text("agent"), rec.text("task_id")
	for _, is := range []struct {
		what, says string
		lies       *string
	}{{"agent", agent, &c.agent}, {"task_id", task, &c.task}} {
		if is.says != "" && *is.lies != "" && is.says != *is.lies {
			rec.warn(rec.at(is.what), "", "%s is %s, but its file name says %s", is.what, oneline.Quote(is.says), oneline.Quote(*is.lies))
			c.facts[is.what] = is.says
		}
		*is.lies = cmp.Or(*is.lies, is.says)
	}
	c.id, c.agentName, c.title = rec.text("checkpoint_id"), rec.text("agent_name"), rec.text("task_title")
	c.native, c.line = rec.text("status"), rec.at("status").Line()
	if meaning(c.native) == unknown {
		rec.warn(rec.at("status"), "use in_progress, complete or blocked", "unknown status %s; it is treated as not complete", oneline.Quote(c.native))
	}
}

func (c *checkpoint) readTimes(rec jsonRecord) {
	c.started, c.updated, c.completed = rec.time("started_at"), rec.time("updated_at"), rec.time("completed_at")
	c.beat = rec.time("heartbeat", "last_beat")
	for _, key := range []string{"status", "interval_seconds"} {
		if text := rec.text("heartbeat", key); text != "" {
			c.facts["heartbeat."+key] = text
		}
	}
}

func (c *checkpoint) readWork(rec jsonRecord) {
	if n, ok := rec.number("progress_percent"); ok {
		c.percent = n
	}
	c.total, c.counted = rec.number("subtasks", "total")
	c.done, _ = rec.number("subtasks", "completed")
	c.failed, _ = rec.number("subtasks", "failed")
	for _, item := range rec.list("subtasks", "items") {
		s := subtask{id: item.text("id"), native: item.text("status"), output: item.text("output"), line: item.v.Line()}
		if item.v.Kind != jsonedit.Object { // only a name
			s.id = scalar(item.v)
			rec.used[item.v] = true
		}
		if s.id == "" {
			rec.warn(item.v, "", "a subtask has no id")
			continue
		}
		c.items = append(c.items, s)
	}
	c.created, c.modified = rec.paths("files_created"), rec.paths("files_modified")
	rec.paths(filesUnconfirmed) // they are among the others
	c.last, c.next, c.notes = rec.text("context", "last_processed"), rec.text("context", "next_to_process"), rec.text("context", "notes")
	c.resumable, c.instructions = rec.truth("resumable"), rec.text("resume_instructions")
}

func (c *checkpoint) readQuality(rec jsonRecord) {
	if v := rec.at("acceptance_criteria_met"); v.Is(jsonedit.Object) {
		for _, m := range v.Members {
			met := rec.truth("acceptance_criteria_met", m.Key)
			c.criteria[m.Key] = met != nil && *met
		}
	}
	if v := rec.at("review_scores"); v.Is(jsonedit.Object) {
		for _, m := range v.Members {
			if n, ok := rec.number("review_scores", m.Key); ok {
				c.scores[m.Key] = n
			} else if m.Value.Is(jsonedit.Null) {
				c.unscored = append(c.unscored, m.Key)
			}
		}
	}
	for _, e := range rec.list("errors") {
		f := fault{kind: e.text("type"), message: e.text("message"), at: e.time("timestamp")}
		if e.v.Is(jsonedit.String) {
			f.message = scalar(e.v)
			rec.used[e.v] = true
		}
		yes := e.truth("blocking")
		f.blocking = yes != nil && *yes
		c.errors = append(c.errors, f)
	}
}

// taskStatus returns the meaning of the status. An invalid file only proves that its task has begun.
func (c *checkpoint) taskStatus() taskStatus {
	if w := meaning(c.native); !c.broken || w != complete && c.native != "" {
		return w
	}
	return inProgress
}

// activity returns the time of the last activity, by the newer of the two clocks.
func (c *checkpoint) activity(now time.Time) time.Time {
	return newest(now, c.started, c.updated, c.completed, c.beat)
}

// counts returns the number of subtasks, and of complete ones, by its counts, since the list may be incomplete.
func (c *checkpoint) counts() (total, done int) {
	listed := 0
	for _, s := range c.items {
		if meaning(s.native) == complete {
			listed++
		}
	}
	return max(c.total, len(c.items)), max(c.done, listed)
}

// progress returns the progress in per cent, by the counts if it has any.
func (c *checkpoint) progress() int {
	switch total, done := c.counts(); {
	case total > 0:
		return min(100*done/total, 100)
	case c.percent >= 0:
		return min(c.percent, 100)
	case c.taskStatus() == complete:
		return 100
	}
	return 0
}
