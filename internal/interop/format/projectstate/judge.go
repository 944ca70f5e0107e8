package projectstate

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/interop/format"
)

// taskFacts is what the verdict on the current task depends on.
type taskFacts struct {
	evidence.Census
	timed   bool // the time of the last action is known
	says    bool // the last action says that the task is done
	there   bool // the last action names a file, and it exists
	missing bool // the last action names a file, and it is missing
}

// manyChanges is the number of changed files from which they no longer show how far a task is.
const manyChanges = 50

// rule is a row of the verdict table.
type rule struct {
	name string
	when func(taskFacts) bool
	word pawl.VerdictWord
	why  string
}

// rules are the decision's guide: continue clear progress, restart unclear partial work, and ask a person if nothing changed
// lately or the changes are unclear. The row's word is no proof that a task is done: then a person decides too. The first
// rule that matches gives the verdict.
var rules = []rule{
	{"said-done", func(v taskFacts) bool { return v.says }, pawl.HumanReview, "its last action says that it is done, and nothing proves it"},
	{"no-time", func(v taskFacts) bool { return !v.timed }, pawl.HumanReview, "nothing says when anything happened last"},
	{"no-recent-change", func(v taskFacts) bool { return v.Recent == 0 }, pawl.HumanReview, "no file has changed from an hour before its last action on"},
	{"named-file", func(v taskFacts) bool { return v.there }, pawl.Continue, "the file that its last action names is there"},
	{"named-file-missing", func(v taskFacts) bool { return v.missing }, pawl.Restart, "the file that its last action names is not there"},
	{"extensive-change", func(v taskFacts) bool { return v.Recent > manyChanges }, pawl.HumanReview, "too many files have changed to tell which are of it"},
	{"unclear", func(taskFacts) bool { return true }, pawl.Restart, "files have changed, and nothing says which are of it"},
}

// evalCurrentTask determines the verdict on the interrupted task. It adds the verdict to the facts, to what is next and to
// the agent's prompt, and adds a gate if a person has to decide.
func (r *tablesReader) evalCurrentTask(out *format.Project, e *entry, s *format.Step, c evidence.Census) {
	rule := verdictOn(r.evidence(e, c))
	out.Facts["verdict"] = fmt.Sprintf("%s (%s): %s", rule.word, rule.name, rule.why)
	switch rule.word {
	case pawl.HumanReview:
		out.Next = fmt.Sprintf("a person says whether task %s is still to be done (%s): %s", e.task, rule.name, rule.why)
		out.Gates = append(out.Gates, format.Gate{Gate: pawl.Gate{
			Step: s.ID, Type: pawl.HumanVerify, Purpose: pawl.ForStart, Opened: e.updated,
			Ask: fmt.Sprintf("project_state names task %s, last action %q: %s. Is it still to be done?", e.task, clip(e.action, 200), rule.why),
		}})
	case pawl.Continue:
		out.Next = fmt.Sprintf("continue task %s as %s: %s (%s)", e.task, e.agent, clip(e.action, 200), rule.name)
		s.Resume = "continue with what is there: " + rule.why
	case pawl.Restart:
		out.Next = fmt.Sprintf("restart task %s as %s: %s (%s)", e.task, e.agent, rule.why, rule.name)
		s.Resume = "begin again from the beginning, and look first at what is there: " + rule.why
	}
}

func (r *tablesReader) evidence(e *entry, c evidence.Census) taskFacts {
	_, file := fileIn(e.action)
	there := file != "" && (r.env.Exists == nil || r.env.Exists(file))
	return taskFacts{Census: c, timed: !e.updated.IsZero(), says: saysDone(e.action), there: there, missing: file != "" && !there}
}

func verdictOn(v taskFacts) rule {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.when(v) })
	return rules[i] // the last one always matches
}

// saysDone reports whether an action says that a task is done: "Completed endpoint".
func saysDone(action string) bool {
	words := strings.Fields(strings.ToLower(action))
	return len(words) > 0 && slices.Contains([]string{"completed", "complete", "finished", "done"}, strings.TrimRight(words[0], ".:!,"))
}
