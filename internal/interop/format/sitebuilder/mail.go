package sitebuilder

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
)

// reminderAge is the age from which an open escalation is reported again.
const reminderAge = 24 * time.Hour

// addEscalations adds a blocker for each unfinished task that waits for a pending escalation.
func (r *teamReader) addEscalations() {
	for _, e := range r.asked {
		r.fact("escalation."+e.id, strings.TrimSpace(e.title+" ("+e.native+", "+e.owner+")"))
		if e.native != "pending" {
			continue
		}
		if !e.at.IsZero() && r.now.Sub(e.at) > reminderAge {
			r.Find(pawl.Warn, report.Where(r.message("human-escalations"), e.line), "ask again", "%s has been waiting for an answer from %s since %s", e.id, orSomebody(e.owner), stamp(e.at))
		}
		for _, j := range r.jobs {
			if slices.Contains(e.tasks, j.task) && !j.finished() && !r.hasBlocker(j.id, e.title) {
				r.out.Blockers = append(r.out.Blockers, pawl.Blocker{Text: e.id + ": " + e.title, Step: j.id, Needs: e.needs, Opened: e.at})
			}
		}
	}
}

// hasBlocker reports whether a task's own checkpoint already has this blocker.
func (r *teamReader) hasBlocker(id pawl.StepID, text string) bool {
	return slices.ContainsFunc(r.out.Blockers, func(b pawl.Blocker) bool {
		return b.Step == id && oneline.Clip(oneLine(strings.TrimPrefix(text, "FAILED: ")), 200) == oneline.Clip(oneLine(b.Text), 200)
	})
}

func orSomebody(owner string) string {
	if owner == "" {
		return "somebody"
	}
	return owner
}

// inbox tells an agent about open messages in its inbox, which must be empty before it is dispatched.
func (r *teamReader) inbox(j *job) string {
	if j.agent == "" || j.finished() {
		return ""
	}
	file, text := r.message("inbox-"+j.agent), ""
	for _, m := range r.messages {
		if m.file == file && m.open(r.now) {
			text += "\n- " + strings.TrimSuffix(strings.TrimSpace(m.id+" "+m.subject+": "+m.body), ":")
		}
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("\n\nThe inbox of %s, %s, has unread messages. First follow them, and acknowledge each one there:", j.agent, file) + text
}

// mail reports open messages: an agent's inbox must be empty before it is dispatched.
func (r *teamReader) mail() {
	inbox := r.base + "messages/inbox-"
	waiting := map[string][]string{}
	for _, m := range r.messages {
		if m.native != "pending" {
			continue
		}
		box, in := strings.CutPrefix(m.file, inbox)
		switch {
		case !m.open(r.now):
			r.Warn(report.Where(m.file, m.line), "%s has expired without an answer", m.id)
		case in:
			box = strings.TrimSuffix(box, ".md")
			waiting[box] = append(waiting[box], strings.TrimSpace(m.id+" "+m.subject))
		}
	}
	for box, all := range waiting {
		r.fact("inbox."+box, fmt.Sprintf("%d pending: %s", len(all), strings.Join(all, "; ")))
	}
}
