package projectstate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	open []pawl.VerdictWord // what an evaluator may choose instead; none: the rule decides
}

// anyVerdict is every verdict that lets work continue.
var anyVerdict = []pawl.VerdictWord{pawl.Continue, pawl.Restart, pawl.Next}

// rules are the decision's guide: continue clear progress, restart unclear partial work, and ask a person if nothing changed
// lately or the changes are unclear. The row's word is not proof that a task is done: then an evaluator or a person decides. The
// first rule that matches gives the verdict.
var rules = []rule{
	{"said-done", func(v taskFacts) bool { return v.says }, pawl.HumanReview, "its last action says that it is done, but nothing proves it", anyVerdict},
	{"no-time", func(v taskFacts) bool { return !v.timed }, pawl.HumanReview, "the time of its last activity is unknown", anyVerdict},
	{"no-recent-change", func(v taskFacts) bool { return v.Recent == 0 }, pawl.HumanReview, "no file has changed since one hour before its last action", anyVerdict},
	{"named-file", func(v taskFacts) bool { return v.there }, pawl.Continue, "the file that its last action names exists", nil},
	{"named-file-missing", func(v taskFacts) bool { return v.missing }, pawl.Restart, "the file that its last action names is missing", nil},
	{"extensive-change", func(v taskFacts) bool { return v.Recent > manyChanges }, pawl.HumanReview, "too many files have changed to know which of them belong to it", anyVerdict},
	{"unclear", func(taskFacts) bool { return true }, pawl.Restart, "files have changed, but it is unknown which of them belong to it", anyVerdict},
}

// evalCurrentTask determines the verdict on the interrupted task. It adds the verdict to the facts, to what is next and to
// the agent's prompt, and adds a gate if a person has to decide. If the rules leave more than one verdict open, an evaluator may
// choose; while somebody may still work on the task, a person decides.
func (r *tablesReader) evalCurrentTask(out *format.Project, e *entry, s *format.Step, c evidence.Census) {
	rule := verdictOn(r.evidence(e, c))
	e.apply(out, s, rule)
	if len(rule.open) > 0 && out.Status == pawl.StatusInterrupted {
		out.Doubt = r.doubt(out, e, s, c, rule)
	}
}

// apply records a verdict on a task.
func (e *entry) apply(out *format.Project, s *format.Step, v rule) {
	task, agent, action := e.task, e.agent, clip(e.action, 200)
	out.Facts["verdict"] = fmt.Sprintf("%s (%s): %s", v.word, v.name, v.why)
	switch v.word {
	case pawl.HumanReview:
		out.Next = fmt.Sprintf("a person decides whether task %s must still be done (%s): %s", task, v.name, v.why)
		out.Gates = append(out.Gates, format.Gate{Gate: pawl.Gate{
			Step: s.ID, Type: pawl.HumanVerify, Purpose: pawl.ForStart, Opened: e.updated,
			Ask: fmt.Sprintf("project_state names task %s, last action %q: %s. Does it still have to be done?", task, action, v.why),
		}})
	case pawl.Continue:
		out.Next = fmt.Sprintf("continue task %s as %s: %s (%s)", task, agent, action, v.name)
		s.Resume = "continue from the existing work: " + v.why
	case pawl.Restart:
		out.Next = fmt.Sprintf("restart task %s as %s: %s (%s)", task, agent, v.why, v.name)
		s.Resume = "start over, but first check the existing work: " + v.why
	case pawl.Next:
		out.Next = fmt.Sprintf("the task after %s: %s (%s)", task, v.why, v.name)
		s.Status, s.Proof = pawl.Done, v.why
	}
}

// doubt returns what an evaluator is asked about the current task.
func (r *tablesReader) doubt(out *format.Project, e *entry, s *format.Step, c evidence.Census, v rule) *format.Doubt {
	id, gates, resume := s.ID, slices.Clone(out.Gates), s.Resume
	if v.word == pawl.HumanReview {
		gates = gates[:len(gates)-1]
	}
	return &format.Doubt{
		Evidence: evidence.Evidence{
			Time: r.env.Now, Goal: out.Goal, Plan: out.Name, Agent: e.agent, LastAction: e.action, Files: c, StepsDone: len(e.completed), Steps: out.Count(), Allowed: v.open,
			Step: evidence.Step{ID: id, Name: s.Name, Goal: s.Goal}, Outcome: evidence.Outcome{Attempt: "lost"},
			Findings: []pawl.Finding{{Level: pawl.Warn, What: "rule " + v.name + ": " + v.why}},
		},
		Settle: func(p format.Project, word pawl.VerdictWord, by string, reasons []string) format.Project {
			chosen := rule{name: v.name, word: word, why: fmt.Sprintf("%s; %s chose %s: %s", v.why, by, word, strings.Join(reasons, "; "))}
			p.Doubt, p.Gates, p.Phases, p.Facts = nil, slices.Clone(gates), slices.Clone(p.Phases), maps.Clone(p.Facts)
			for i := range p.Phases {
				p.Phases[i].Steps = slices.Clone(p.Phases[i].Steps)
				for j := range p.Phases[i].Steps {
					if now := &p.Phases[i].Steps[j]; now.ID == id {
						now.Resume = strings.TrimPrefix(now.Resume, resume)
						e.apply(&p, now, chosen)
					}
				}
			}
			return p
		},
	}
}

// askIfActive adds a gate if the project was active a short time ago and nothing proves that its session has ended.
func (r *tablesReader) askIfActive(out *format.Project, e *entry) {
	step := out.Position.StepID
	if out.Status != pawl.StatusActive || step == "" || slices.ContainsFunc(out.Gates, func(g format.Gate) bool { return g.Answer == "" && g.Step == step }) {
		return
	}
	out.Gates = append(out.Gates, format.Gate{Gate: pawl.Gate{
		Step: step, Type: pawl.HumanVerify, Purpose: pawl.ForStart, Opened: e.updated,
		Ask: fmt.Sprintf("project_state says that project %s was active %s before the import, last action %q, and nothing proves that its session has ended. Next: %s. Has it ended?",
			e.project, max(r.env.Now.Sub(e.updated), 0).Round(time.Second), clip(e.action, 200), out.Next),
	}})
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
