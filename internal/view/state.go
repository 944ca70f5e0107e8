package view

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/shellwords"
)

// stateFile describes the status of the run.
func (v *run) stateFile() []byte {
	p := v.newPage("Run " + string(v.Run))
	v.addFacts(p)
	v.addWaiting(p)
	v.addBlockers(p)
	v.addRunning(p)
	v.addNext(p)
	v.addSteps(p)
	return p.Bytes()
}

func (v *run) addFacts(p *page) {
	p.add("\n")
	p.fact("Plan", inline(v.Name))
	p.fact("Goal", inline(v.Goal))
	v.addStatus(p)
	if len(v.plan.Phases) > 0 {
		percent := v.Percent(v.plan)
		p.fact("Position", formatPosition(v.Position(v.plan)))
		p.fact("Progress", "`", progressBar(percent), " ", number(percent), "%`")
	}
	p.fact("Last activity", formatTime(v.Updated), " (event ", number(v.Seq), ")")
	p.fact("Mode", inline(string(v.Mode)))
	if e := v.Engine; e != nil && !v.Ended() {
		p.fact("Engine", "pid ", number(e.PID), ". If this process no longer exists, the run was interrupted: `pawl resume ", string(v.Run), "`")
	}
	p.fact("Spent", spent(v.Spent.Seconds, v.Spent.Usage))
	if v.Deaths > 0 {
		p.fact("Interruptions survived", number(v.Deaths))
	}
	if c := v.LastSave; c != nil {
		p.fact("Last checkpoint", code(string(c.ID)), " (", inline(string(c.Kind)), ") ", formatTime(c.Time))
	}
	if v.RejectedCount > 0 {
		p.fact("Rejected events", number(v.RejectedCount), "; see `pawl verify`")
	}
	p.fact("To do", v.hint())
}

// addStatus adds the status. A view cannot tell whether the agent of a session is alive.
func (v *run) addStatus(p *page) {
	if v.Kind == pawl.SessionRun && !v.Ended() {
		p.fact("Status", "session without a plan; `pawl status` shows whether its agent is alive")
		return
	}
	word, why := v.StandingIn(v.plan, v.Engine != nil)
	p.fact("Status", word, because(why))
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + inline(why)
}

// formatPosition returns a position such as Phase 2 of 3 (Build) · step 4 of 9 (`convert`) · item 20 of 180.
func formatPosition(pos pawl.Position) string {
	if pos.Complete {
		return "all " + number(pos.StepTotal) + " steps finished"
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
	if t := formatSeconds(seconds); t != "" {
		parts = append(parts, t+" of step time")
	}
	if usage.USD != 0 {
		parts = append(parts, "$"+strconv.FormatFloat(usage.USD, 'f', 2, 64))
	}
	if usage.Tokens != 0 {
		parts = append(parts, number(usage.Tokens)+" tokens")
	}
	return strings.Join(parts, " · ")
}

// hint returns what a person can do next, with the command.
func (v *run) hint() string {
	run := string(v.Run)
	if v.Rollback != nil && v.status != pawl.StatusWaiting {
		return "`pawl rollback` continues the rollback"
	}
	if v.Restore != nil {
		return "`pawl restore` finishes the restore"
	}
	switch v.status {
	case pawl.StatusCompleted:
		return "nothing; `pawl stats " + run + "` shows time and cost"
	case pawl.StatusFailed:
		for _, s := range v.steps {
			if s.state.FailsRun() {
				return code("pawl retry "+string(s.ID)+" --run "+run) + ", then `pawl resume " + run + "`"
			}
		}
		return "`pawl retry STEP --run " + run + "`, then `pawl resume " + run + "`"
	case pawl.StatusWaiting:
		return "answer or resolve what is listed below"
	case pawl.StatusActive:
		return "nothing; `pawl watch " + run + "` follows the run"
	}
	return "`pawl resume " + run + "`"
}

// addWaiting lists the gates and reviews that wait for a person, with the commands that answer them.
func (v *run) addWaiting(p *page) {
	gates, reviews := v.OpenGates(), v.inReview()
	if len(gates)+len(reviews) == 0 {
		return
	}
	p.add("\n## Waiting for a person\n")
	for _, g := range gates {
		v.addGate(p, g)
	}
	for _, s := range reviews {
		p.add("\n### Review of step ", code(string(s.ID)), "\n\n")
		for _, name := range s.state.Unreviewed() {
			p.add("- ", code("pawl review "+string(s.ID)+" --by "+shellwords.Word(name)+" --score N"), " (minimum: ", number(s.state.Minimum[name]), " of 100)\n")
		}
	}
}

func (v *run) addBlockers(p *page) {
	open := v.OpenBlockers()
	if len(open) == 0 {
		return
	}
	p.add("\n## Blockers\n\n")
	for _, b := range open {
		p.add("- Blocker ", number(b.ID), ": ", inline(b.Text), ofStep(b.Step))
		if b.Needs != "" {
			p.add("; needs: ", inline(b.Needs))
		}
		p.add("; when resolved: `pawl unblock ", number(b.ID), " -m HOW`\n")
	}
}

func ofStep(id pawl.StepID) string {
	if id == "" {
		return ""
	}
	return " (step " + code(string(id)) + ")"
}

func (v *run) addRunning(p *page) {
	live := v.Live()
	if len(live) == 0 {
		return
	}
	title := "Running"
	if v.Engine == nil {
		title = "Started, no end recorded"
	}
	p.add("\n## ", title, "\n")
	p.table("Step", "Attempt", "Since", "Progress")
	for _, a := range live {
		text := progress(a.Progress)
		for _, warning := range a.Warnings {
			text += "; warning: " + inline(warning)
		}
		text = strings.TrimPrefix(text, "; ")
		if live := v.Steps[a.Step].Serving(); live != nil {
			text = "service, ready since " + formatTime(live.Ready)
		} else if a.Waiting != nil {
			text = inline("service, " + a.Waiting.Text())
		}
		p.row(cell(a.Name()), number(a.Attempt), formatTime(a.Started), text)
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

// maxNext is the maximum number of next steps listed.
const maxNext = 10

func (v *run) addNext(p *page) {
	next := v.next()
	if v.Ended() || len(next) == 0 {
		return
	}
	p.add("\n## Next\n\n")
	for _, s := range next[:min(len(next), maxNext)] {
		p.add("- ", s.title(), "\n")
	}
	if more := len(next) - maxNext; more > 0 {
		p.add("- and ", number(more), " more\n")
	}
}

// title returns the step's id, followed by its name if that differs.
func (s step) title() string {
	if s.Name == "" || s.Name == string(s.ID) {
		return cell(string(s.ID))
	}
	return cell(string(s.ID)) + " " + inline(s.Name)
}

func (v *run) addSteps(p *page) {
	if len(v.steps) == 0 {
		return
	}
	p.Grow(128 * len(v.steps))
	p.add("\n## Steps\n")
	p.table("", "Step", "Status", "Items", "Attempts", "Time", "Note")
	for _, s := range v.steps {
		st := s.state
		if st == nil {
			st = &pawl.StepState{Status: pawl.Pending}
		}
		p.row(mark(st), s.title(), st.StatusText(), items(st.Items), count(st.Attempts), formatSeconds(st.Seconds), v.note(s.ID, st))
	}
}

func mark(st *pawl.StepState) string {
	if st.Tolerated() {
		return "⚠️"
	}
	switch st.Status {
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
	text := number(it.Count) + " of " + number(it.Size())
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

// note returns the most important remark about a step.
func (v *run) note(id pawl.StepID, st *pawl.StepState) string {
	why, gate := v.RerunText(id), v.WithdrawnGate(id)
	switch {
	case len(st.Changed) > 0:
		return "edited or deleted since: " + inline(strings.Join(st.Changed, ", "))
	case gate != nil:
		return inline(gate.WithdrawnText())
	case why != "" && st.Status == pawl.Pending:
		return inline(why)
	case st.Condition != "":
		return inline(pawl.ConditionFalse(st.Condition))
	case st.Status == pawl.Skipped:
		return inline(st.Why)
	case st.Tolerated():
		return inline(st.Why) + " (continue_on_error)"
	case st.Why != "":
		return inline(st.Why)
	case st.Retries.Live == nil && st.Retries.Last != nil && !st.Finished():
		return "attempt " + number(st.Retries.Last.Attempt) + " " + outcome(st.Retries.Last.Outcome) + because(st.Retries.Last.Why)
	case st.From != nil:
		return inline(st.Adopted)
	case st.Adopted != "":
		return "accepted as done: " + inline(st.Adopted)
	}
	return inline(firstLine(st.Summary))
}

// outcome returns how an attempt ended, in the words that users read.
func outcome(o pawl.Outcome) string {
	switch o {
	case pawl.Lost:
		return "crashed"
	case pawl.NotStarted:
		return "crashed before it started"
	case pawl.Aborted:
		return "stopped"
	}
	return inline(string(o))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
