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

// longAsked is how long people may take before they are asked again.
const longAsked = 24 * time.Hour

// escalated makes blockers of what people are asked for: of each task that waits for it, and is not done.
func (r *teamReader) escalated() {
	for _, e := range r.asked {
		r.fact("escalation."+e.id, strings.TrimSpace(e.title+" ("+e.native+", "+e.owner+")"))
		if e.native != "pending" {
			continue
		}
		if !e.at.IsZero() && r.now.Sub(e.at) > longAsked {
			r.Find(pawl.Warn, report.Where(r.message("human-escalations"), e.line), "ask again", "%s has been waiting for an answer from %s since %s", e.id, orSomebody(e.owner), stamp(e.at))
		}
		for _, j := range r.jobs {
			if slices.Contains(e.tasks, j.task) && !j.finished() && !r.blocks(j.id, e.title) {
				r.out.Blockers = append(r.out.Blockers, pawl.Blocker{Text: e.id + ": " + e.title, Step: j.id, Needs: e.needs, Opened: e.at})
			}
		}
	}
}

// blocks reports whether a task's own checkpoint says already what it waits for.
func (r *teamReader) blocks(id pawl.StepID, text string) bool {
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

// inbox tells an agent what waits in its inbox: before it is dispatched that is to be empty.
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
	return fmt.Sprintf("\n\nMessages wait in the inbox of %s, %s. Heed them first, and acknowledge each there:", j.agent, file) + text
}

// mail tells of messages that wait: before an agent is dispatched its inbox is to be empty.
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
