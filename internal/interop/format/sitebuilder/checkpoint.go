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

// checkpoint is what was read of a task's checkpoint. Anything may be missing in it.
type checkpoint struct {
	named
	file   string
	line   int // of its status
	broken bool

	id, agentName, title string
	native               string
	percent              int // -1: it says none
	started, updated     time.Time
	completed, beat      time.Time
	counted              bool // it has counts
	total, done, failed  int
	items                []subtask
	created, modified    []string
	criteria             map[string]bool
	scores               map[string]int
	unscored             []string // reviewers that are asked, and have not answered
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

// fault is an error that a checkpoint lists.
type fault struct {
	kind, message string
	at            time.Time
	blocking      bool
}

func checkpointAt(name string) *checkpoint {
	return &checkpoint{named: nameOf(name), file: name, percent: -1, criteria: map[string]bool{}, scores: map[string]int{}, facts: map[string]string{}}
}

// unreadAt returns a checkpoint of which no more is known than that it is there.
func unreadAt(name string) *checkpoint {
	c := checkpointAt(name)
	c.broken = true
	return c
}

// readCheckpoint reads a checkpoint. One that is no JSON is read line by line, and not believed that it is complete.
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

// member is a line of JSON with a key and a scalar.
var member = lazyregexp.New(`(?m)^[ \t]*("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*")[ \t]*:[ \t]*("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"|-?[0-9]{1,12}|true|false|null)[ \t]*,?[ \t]*\r?$`)

// repaired returns an editor of what can be read of a text that is not valid JSON: what is whole of it, and what its lines say behind
// that of the checkpoint itself.
func repaired(data []byte) *editor {
	whole, rest := jsonedit.Torn(data)
	e := edit(whole)
	if e == nil {
		e = edit([]byte("{}\n"))
	}
	for _, m := range scanLines(rest).Members {
		if e.root.Get(m.Key) == nil && slices.Contains(itsOwn, m.Key) {
			e.set(json.RawMessage(m.Value.Raw()), m.Key)
		}
	}
	return e
}

// itsOwn are the keys of a checkpoint itself, which nothing inside of it has.
var itsOwn = []string{
	"checkpoint_id", "agent", "agent_name", "task_id", "task_title", "progress_percent", "started_at", "updated_at", "completed_at", "resumable",
	"resume_instructions",
}

// scanLines returns as an object what lines of a text say that is not valid JSON: of keys that are there more than once the first
// counts, since what is inside of something else comes later.
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
		v, _ = jsonedit.Read([]byte("{}")) // cannot be: each of them was looked at
	}
	return v
}

// readWho reads whose checkpoint it is. Its file's name decides, since by that it is found to go on with.
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
		if item.v.Kind != jsonedit.Object { // a bare name
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

// taskStatus returns what the checkpoint's status means. A file that cannot be parsed only proves that its task was begun.
func (c *checkpoint) taskStatus() taskStatus {
	if w := meaning(c.native); !c.broken || w != complete && c.native != "" {
		return w
	}
	return inProgress
}

// activity returns its last sign of life, by whichever clock is newer.
func (c *checkpoint) activity(now time.Time) time.Time {
	return newest(now, c.started, c.updated, c.completed, c.beat)
}

// counts returns how many subtasks there are and are complete: its counts, since its list may be a sample.
func (c *checkpoint) counts() (total, done int) {
	listed := 0
	for _, s := range c.items {
		if meaning(s.native) == complete {
			listed++
		}
	}
	return max(c.total, len(c.items)), max(c.done, listed)
}

// progress returns how much of the task is done, in per cent: by its counts, where it has them.
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
