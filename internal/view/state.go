package view

import (
	"strconv"
	"strings"

	"pawl"
)

// stateFile says where the run stands.
func (v *run) stateFile() []byte {
	p := v.head("Run " + string(v.Run))
	v.sayFacts(p)
	v.sayAsked(p)
	v.sayBlocked(p)
	v.sayRunning(p)
	v.sayNext(p)
	v.saySteps(p)
	return p.Bytes()
}

func (v *run) sayFacts(p *page) {
	p.say("\n")
	p.fact("Plan", inline(v.Name))
	p.fact("Goal", inline(v.Goal))
	p.fact("Status", string(v.status), because(v.Why))
	if len(v.plan.Phases) > 0 {
		percent := v.Percent(v.plan)
		p.fact("Position", where(v.Position(v.plan)))
		p.fact("Progress", "`", bar(percent), " ", number(percent), "%`")
	}
	p.fact("Last activity", at(v.Updated), " (event ", number(v.Seq), ")")
	p.fact("Mode", inline(string(v.Mode)))
	if e := v.Engine; e != nil && !v.Ended() {
		p.fact("Engine", "process ", number(e.PID), " has the run. If it is gone, the run was interrupted: `pawl resume ", string(v.Run), "`")
	}
	p.fact("Spent", spent(v.Spent.Seconds, v.Spent.Usage))
	if v.Deaths > 0 {
		p.fact("Interruptions survived", number(v.Deaths))
	}
	if c := v.LastSave; c != nil {
		p.fact("Last checkpoint", code(string(c.ID)), " (", inline(string(c.Kind)), ") ", at(c.Time))
	}
	if v.RejectedCount > 0 {
		p.fact("Events that did not fit", number(v.RejectedCount), "; see `pawl verify`")
	}
	p.fact("To do", v.hint())
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + inline(why)
}

// where returns a position in words: Phase 2 of 3 (Build) · step 4 of 9 (`convert`) · item 20 of 180.
func where(pos pawl.Position) string {
	if pos.Complete {
		return "all " + number(pos.StepTotal) + " steps are finished"
	}
	text := "Phase " + number(pos.Phase) + " of " + number(pos.PhaseTotal) + " (" + inline(pos.PhaseName) + ")" +
		" · step " + number(pos.Step) + " of " + number(pos.StepTotal) + " (" + code(string(pos.StepID)) + ")"
	if pos.ItemTotal > 0 {
		text += " · item " + number(pos.Item) + " of " + number(pos.ItemTotal)
	}
	return text
}

func spent(seconds float64, usage pawl.Usage) string {
	var parts []string
	if t := took(seconds); t != "" {
		parts = append(parts, t+" of work")
	}
	if usage.USD != 0 {
		parts = append(parts, "$"+strconv.FormatFloat(usage.USD, 'f', 2, 64))
	}
	if usage.Tokens != 0 {
		parts = append(parts, number(usage.Tokens)+" tokens")
	}
	return strings.Join(parts, " · ")
}

// hint returns what a person can do now, with the command.
func (v *run) hint() string {
	run := string(v.Run)
	switch v.status {
	case pawl.StatusCompleted:
		return "nothing; `pawl stats " + run + "` says what it took"
	case pawl.StatusFailed:
		return "`pawl retry STEP --run " + run + "`, then `pawl resume " + run + "`"
	case pawl.StatusWaiting:
		return "see below what is asked"
	case pawl.StatusActive:
		return "nothing; `pawl watch " + run + "` shows it live"
	}
	return "`pawl resume " + run + "` goes on from here"
}

// sayAsked says what waits for a person, with the commands that answer it.
func (v *run) sayAsked(p *page) {
	gates, reviews := v.OpenGates(), v.inReview()
	if len(gates)+len(reviews) == 0 {
		return
	}
	p.say("\n## Waiting for a person\n")
	for _, g := range gates {
		v.sayGate(p, g)
	}
	for _, s := range reviews {
		p.say("\n### Review of step ", code(string(s.ID)), "\n\n")
		for _, name := range s.state.Unreviewed() {
			p.say("- ", code("pawl review "+string(s.ID)+" --by "+word(name)+" --score N"), " (at least ", number(s.state.Minimum[name]), " of 100 is wanted)\n")
		}
	}
}

func (v *run) sayBlocked(p *page) {
	open := v.OpenBlockers()
	if len(open) == 0 {
		return
	}
	p.say("\n## Blockers\n\n")
	for _, b := range open {
		p.say("- ", number(b.ID), ". ", inline(b.Text), ofStep(b.Step))
		if b.Needs != "" {
			p.say("; needs: ", inline(b.Needs))
		}
		p.say("; once it is cleared: `pawl unblock ", number(b.ID), "`\n")
	}
}

func ofStep(id pawl.StepID) string {
	if id == "" {
		return ""
	}
	return " (step " + code(string(id)) + ")"
}

func (v *run) sayRunning(p *page) {
	live := v.Live()
	if len(live) == 0 {
		return
	}
	title := "Running"
	if v.Engine == nil {
		title = "Started, and not seen to end"
	}
	p.say("\n## ", title, "\n")
	p.table("Step", "Attempt", "Since", "Progress")
	for _, a := range live {
		p.row(cell(a.Name()), number(a.Attempt), at(a.Started), progress(a.Progress))
	}
}

func progress(g *pawl.Progress) string {
	if g == nil {
		return ""
	}
	text := inline(g.Text)
	switch {
	case g.Done != nil && g.Total != nil:
		text += " (" + decimal(*g.Done) + " of " + decimal(*g.Total) + ")"
	case g.Done != nil:
		text += " (" + decimal(*g.Done) + "%)"
	}
	return strings.TrimSpace(text)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// maxNext is how many of the next steps are named.
const maxNext = 10

func (v *run) sayNext(p *page) {
	next := v.next()
	if v.Ended() || len(next) == 0 {
		return
	}
	p.say("\n## Next\n\n")
	for _, s := range next[:min(len(next), maxNext)] {
		p.say("- ", s.title(), "\n")
	}
	if more := len(next) - maxNext; more > 0 {
		p.say("- and ", number(more), " more\n")
	}
}

// title returns the step's id, with its name where that says more.
func (s step) title() string {
	if s.Name == "" || s.Name == string(s.ID) {
		return cell(string(s.ID))
	}
	return cell(string(s.ID)) + " " + inline(s.Name)
}

func (v *run) saySteps(p *page) {
	if len(v.steps) == 0 {
		return
	}
	p.Grow(128 * len(v.steps))
	p.say("\n## Steps\n")
	p.table("", "Step", "Status", "Items", "Attempts", "Time", "Note")
	for _, s := range v.steps {
		st := s.state
		if st == nil {
			st = &pawl.StepState{Status: pawl.Pending}
		}
		p.row(mark(st.Status), s.title(), string(st.Status), items(st.Items), count(st.Attempts), took(st.Seconds), note(st))
	}
}

func mark(status pawl.StepStatus) string {
	switch status {
	case pawl.Done:
		return "✅"
	case pawl.Running:
		return "▶️"
	case pawl.AwaitsGate, pawl.AwaitsReview:
		return "✋"
	case pawl.FailedForGood:
		return "❌"
	case pawl.Skipped:
		return "⏭️"
	}
	return "⏳"
}

func items(it *pawl.ItemsState) string {
	if it == nil {
		return ""
	}
	text := number(it.Count) + " of " + number(it.Total)
	if len(it.Failed) > 0 {
		text += ", " + number(len(it.Failed)) + " failed"
	}
	return text
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return number(n)
}

// note returns the one thing that is most worth knowing about a step.
func note(st *pawl.StepState) string {
	switch {
	case len(st.Changed) > 0:
		return "changed from outside: " + inline(strings.Join(st.Changed, ", "))
	case st.Why != "":
		return inline(st.Why)
	case st.Retries.Live == nil && st.Retries.Last != nil && !st.Finished():
		return "attempt " + number(st.Retries.Last.Attempt) + " " + inline(string(st.Retries.Last.Outcome)) + because(st.Retries.Last.Why)
	case st.Adopted != "":
		return "adopted: " + inline(st.Adopted)
	}
	return inline(firstLine(st.Summary))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
