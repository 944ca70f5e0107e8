package projectstate

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/interop/format"
)

// taskFacts is what a verdict about the current task depends on.
type taskFacts struct {
	evidence.Census
	timed   bool // something says when the last action was
	says    bool // the last action says that the task is done
	there   bool // the last action names a file, and it is there
	missing bool // the last action names a file, and it is not there
}

// extensive is from how many changed files on nobody can tell from them how far a task is.
const extensive = 50

// rule is one line of the table.
type rule struct {
	name string
	when func(taskFacts) bool
	word pawl.VerdictWord
	why  string
}

// rules are the decision's guide: clear progress is continued, unclear partial work restarted, and what did not change lately, or
// changed in an unclear way, is for a person. That a task is done no word of a row proves: then too a person says what is next.
// The first one that holds gives the verdict.
var rules = []rule{
	{"said-done", func(v taskFacts) bool { return v.says }, pawl.HumanReview, "its last action says that it is done, and nothing proves it"},
	{"no-time", func(v taskFacts) bool { return !v.timed }, pawl.HumanReview, "nothing says when anything happened last"},
	{"no-recent-change", func(v taskFacts) bool { return v.Recent == 0 }, pawl.HumanReview, "no file has changed from an hour before its last action on"},
	{"named-file", func(v taskFacts) bool { return v.there }, pawl.Continue, "the file that its last action names is there"},
	{"named-file-missing", func(v taskFacts) bool { return v.missing }, pawl.Restart, "the file that its last action names is not there"},
	{"extensive-change", func(v taskFacts) bool { return v.Recent > extensive }, pawl.HumanReview, "too many files have changed to tell which are of it"},
	{"unclear", func(taskFacts) bool { return true }, pawl.Restart, "files have changed, and nothing says which are of it"},
}

// judge says what is to be done with the task that somebody was at when the project was cut off: the verdict stands among the facts,
// in what is next and in what the agent is told; what is for a person is asked.
func (r *tablesReader) judge(out *format.Project, e *entry, s *format.Step, c evidence.Census) {
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
	return rules[i] // the last one holds always
}

// saysDone reports whether an action says that a task is done: "Completed endpoint".
func saysDone(action string) bool {
	words := strings.Fields(strings.ToLower(action))
	return len(words) > 0 && slices.Contains([]string{"completed", "complete", "finished", "done"}, strings.TrimRight(words[0], ".:!,"))
}
