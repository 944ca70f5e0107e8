package sitebuilder

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/lazyregexp"
	"pawl/internal/oneline"
	"pawl/internal/textedit"
)

// request is something that a task needs from a person before it can continue.
type request struct {
	title, priority, action string

	at time.Time
}

// raisedBy is who raised an escalation that pawl may change.
const raisedBy = "pawl"

// escalate tells people what the run's tasks wait for: each thing is an escalation of its own, once, pending as long as it is
// waited for and resolved then. Those of others stay, but for one that a person has cleared as a blocker of this run.
func (w *teamWriter) escalate() {
	name := w.message("human-escalations")
	if f := w.files.File(name); f != nil {
		w.reader.readEscalations(f)
	}
	said := w.reader.asked
	var edits []textedit.Edit
	var more strings.Builder
	last := 0
	for _, k := range w.works {
		if k.state == nil || k.imported {
			continue
		}
		wanted := w.requests(k)
		for _, e := range said {
			if !slices.Equal(e.tasks, tasksIn(k.task)) || e.by != raisedBy {
				continue
			}
			same := slices.IndexFunc(wanted, func(a request) bool { return a.title == e.title && a.at.Unix() == e.at.Unix() })
			switch {
			case same >= 0:
				wanted = slices.Delete(wanted, same, same+1)
			case e.native == "pending":
				edits = append(edits, e.resolve())
			}
		}
		for _, a := range wanted {
			if last == 0 {
				last = w.lastNumber()
			}
			last++
			more.WriteString(a.entry(last, k.task))
		}
	}
	for _, e := range said {
		if e.by != raisedBy && e.native == "pending" && w.cleared(e) {
			edits = append(edits, e.resolve())
		}
	}
	if len(edits) > 0 {
		w.files.Put(name, textedit.Apply(w.files.Data(name), edits))
	}
	if more.Len() > 0 {
		w.below(name, "ACTIVE ESCALATIONS", "# Human Escalations\n", strings.TrimSuffix(more.String(), "\n"))
	}
}

// numbered is one escalation, or several: ESC-001/003.
var numbered = lazyregexp.New(`\bESC-(\d{1,6}(?:/\d{1,6})*)`)

// lastNumber returns the last number that any file of the team has for an escalation: agents write of some that stand in no list.
func (w *teamWriter) lastNumber() int {
	last := 0
	for _, f := range w.files.Files() {
		if !strings.HasPrefix(f.Path, w.base) {
			continue
		}
		for _, m := range numbered.FindAllSubmatch(f.Data, -1) {
			for number := range strings.SplitSeq(string(m[1]), "/") {
				n, _ := strconv.Atoi(number)
				last = max(last, n)
			}
		}
	}
	return last
}

// importedEscalation matches a blocker that was imported from somebody else's escalation.
var importedEscalation = lazyregexp.New(`^ESC-\d+: `)

// requests returns what a task of the run needs from a person.
func (w *teamWriter) requests(k *taskStep) []request {
	var all []request
	add := func(text, priority, action string, at time.Time) {
		all = append(all, request{title: oneline.Clip(oneLine(text), 200), priority: priority, action: oneLine(action), at: at.Truncate(time.Second)})
	}
	for _, g := range w.State.OpenGates() {
		if g.Step == k.ID {
			add(g.Ask, "HIGH", "Look at it and answer: pawl gates", g.Opened)
		}
	}
	if k.state.Attempts == 0 || k.state.Finished() {
		return all // what was blocked before the run began stands as it was found
	}
	open, _ := w.blockers(k.ID)
	for _, b := range open {
		if !importedEscalation.MatchString(b.Text) {
			add(b.Text, "CRITICAL", strings.TrimPrefix(b.Needs+"; then: pawl unblock "+strconv.Itoa(b.ID), "; then: "), b.Opened)
		}
	}
	if k.state.Status == pawl.FailedForGood {
		add("FAILED: "+cmp.Or(k.state.Why, "it failed"), "HIGH", "Find out why, then: pawl retry "+string(k.ID), k.state.Ended)
	}
	return all
}

// cleared reports whether all blockers that the run had of an escalation were cleared.
func (w *teamWriter) cleared(e escalation) bool {
	known := false
	for _, b := range w.State.Blockers {
		if strings.HasPrefix(b.Text, e.id+": ") {
			if known = true; b.Cleared.IsZero() {
				return false
			}
		}
	}
	return known
}

// entry returns an escalation as the team's own look.
func (a request) entry(number int, task string) string {
	return fmt.Sprintf("### ESC-%03d: %s\n\n| Field | Value |\n|-------|-------|\n| **Timestamp** | %s |\n| **Priority** | %s |\n"+
		"| **Blocking Tasks** | %s |\n| **Raised By** | %s |\n| **Status** | PENDING |\n\n**Action Required**:\n1. %s\n\n---\n\n",
		number, a.title, stamp(a.at), a.priority, inTable(task), raisedBy, a.action)
}

// resolve returns the edit by which an escalation is resolved.
func (e escalation) resolve() textedit.Edit {
	if from, to, ok := cellAt(e.statusLine, 1); ok {
		return textedit.Edit{From: from, To: to, Text: "RESOLVED"}
	}
	return textedit.Edit{From: e.statusLine.From, To: e.statusLine.To, Text: "**Status**: RESOLVED"}
}
