package brief

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/shellwords"
)

// since lists the files that differ from the last checkpoint, or from the one that the reader knows.
func (w *writer) since() section {
	s := section{title: "Changed files", most: w.budget}
	if w.Since == nil {
		return s
	}
	c := w.Since.Checkpoint
	s.all = "pawl diff " + string(c.ID) + " --names"
	s.add("compared with: checkpoint " + w.checkpoint(c) + ": " + changed(w.Since.Files) + ownWrites(w.Since.Own))
	addEach(&s, w.Since.Changes, w.changeLine)
	s.total += w.Since.Files - len(w.Since.Changes)
	return s
}

func changed(n int) string {
	if n == 0 {
		return "no file differs"
	}
	return count(n, "path differs", "paths differ")
}

// ownWrites counts the files that pawl itself changed.
func ownWrites(n int) string {
	if n == 0 {
		return ""
	}
	return "; besides, pawl wrote " + count(n, "file", "files") + " of the mirror"
}

func (w *writer) changeLine(c Change) string {
	size := ""
	switch c.What {
	case "added":
		size = " (" + count(int(c.Is), "byte", "bytes") + ")"
	case "changed":
		size = " (" + strconv.FormatInt(c.Was, 10) + " → " + count(int(c.Is), "byte", "bytes") + ")"
	}
	return w.plain(c.What) + ": " + w.code(c.Path) + size
}

// forPeople is the title of the section that lists what waits for a person.
const forPeople = "Gates and blockers"

// asked lists what waits for a person: gates, reviews, blockers.
func (w *writer) asked() section {
	s := section{title: forPeople, all: "pawl gates"}
	for _, g := range w.State.OpenGates() {
		s.add(w.gate(g))
	}
	for _, st := range w.steps {
		if st.state != nil && st.state.Status == pawl.AwaitsReview {
			for _, name := range st.state.Unreviewed() {
				s.add("review: step " + w.code(string(st.ID)) + " needs a score of at least " +
					strconv.Itoa(st.state.Minimum[name]) + " of 100 from " + w.code(name) + ": " + w.onRun("pawl review "+string(st.ID)+" --by "+shellwords.Word(name)+" --score N", "--run"))
			}
		}
	}
	for _, b := range w.State.OpenBlockers() {
		text := "blocker " + strconv.Itoa(b.ID) + ": " + w.quote(b.Text) + w.ofStep(b.Step)
		if b.Needs != "" {
			text += "; needs " + w.quote(b.Needs)
		}
		s.add(text + "; when resolved: " + w.code("pawl unblock "+strconv.Itoa(b.ID)+" -m HOW"))
	}
	return s
}

func (w *writer) gate(g *pawl.GateState) string {
	id := string(g.ID)
	text := "gate: " + w.code(id) + " (" + w.plain(string(g.Type)) + w.ofStep(g.Step) + ") asks a person: " + w.quote(g.Ask)
	if g.Expect != "" {
		text += "; " + g.ExpectLabel() + ": " + w.quote(g.Expect)
	}
	for _, c := range g.Checks {
		if c.Exit != 0 {
			text += "; check " + w.code(c.Name) + " failed"
		}
	}
	if len(g.Shown) > 0 {
		text += "; to review: " + w.codes(slices.Sorted(maps.Keys(g.Shown)), maxOutputs)
	}
	if moved := w.Moved[g.ID]; moved != "" {
		text += "; what it shows has changed since: " + w.plain(moved)
	}
	if g.Type == pawl.DecisionFor {
		return text + "; only a person may choose: " + w.code("pawl answer "+id+" OPTION") + ", options: " + w.codes(g.Options, maxLeft)
	}
	return text + "; only a person may answer: " + w.code("pawl approve "+id) + " or " + w.code("pawl reject "+id+" -m WHY")
}

// The titles of what a brief hands over from others.
const (
	decisionsTitle = "Decisions"
	memoriesTitle  = "What was learned"
	finishedTitle  = "What is finished"
)

// decisions lists the decisions and the answered gates, newest first.
func (w *writer) decisions() section {
	s := section{title: decisionsTitle, all: ".pawl/runs/" + w.run + "/DECISIONS.md"}
	for _, d := range slices.Backward(w.State.Made) {
		text := "decided: "
		if d.Question != "" {
			text += w.quote(d.Question) + " → "
		}
		text += w.quote(d.Choice)
		if d.Why != "" {
			text += ", because " + w.quote(d.Why)
		}
		if d.By != "" {
			text += ", by " + w.code(d.By)
		}
		s.add(text + w.ofStep(d.Step))
	}
	for _, g := range slices.Backward(w.State.Gates) {
		if g.Answer != nil {
			s.add(w.answered(&g))
		}
	}
	return s
}

func (w *writer) answered(g *pawl.GateState) string {
	who := "a person"
	if g.Answer.Auto {
		who = "the plan's mode"
	}
	how := string(g.Answer.Answer)
	switch g.Answer.Answer {
	case pawl.Refused:
		how = "rejected it for good"
	case pawl.Chosen:
		how = "chose"
	}
	text := "answered: " + w.quote(g.Ask) + w.ofStep(g.Step) + ": " + who + " " + w.plain(how)
	if g.Answer.Option != "" {
		text += " " + w.quote(g.Answer.Option)
	}
	return text + w.because(g.Answer.Why)
}

// memories lists the notes of MEMORY.md.
func (w *writer) memories() section {
	s := section{title: memoriesTitle, all: "pawl memory"}
	for _, m := range w.Memories {
		if !m.Unverified {
			s.add("learned (" + w.plain(string(m.Kind)) + "): " + w.quote(m.Text))
		}
	}
	for _, m := range w.Memories {
		if m.Unverified {
			s.add("not checked: MEMORY.md (" + w.flat(cmp.Or(m.Source, "edited or pulled")) + ") says: " + w.quote(m.Text))
		}
	}
	return s
}

// elsewhere says that nothing in the run is verified, and who decides about it. It holds no text from the run.
func (w *writer) elsewhere() section {
	s := section{title: "A run from elsewhere"}
	s.add("not checked: run " + w.code(w.run) + " comes from elsewhere: " + w.flat(w.Elsewhere))
	s.add("next: nothing in this run, until a person has seen it and accepted it: " + w.code(w.Accept))
	return s
}

// finished lists the finished steps, newest first, with the state of their outputs.
func (w *writer) finished() section {
	s := section{title: finishedTitle, most: w.budget, all: w.command("pawl status", "")}
	addEach(&s, w.done, w.finishedStep)
	w.doneTasks(&s)
	return s
}

func (w *writer) finishedStep(st step) string {
	switch {
	case st.state.Condition != "":
		return "skipped: " + w.called(st) + w.because(pawl.ConditionFalse(st.state.Condition))
	case st.state.Tolerated():
		return "failed, and the run continued (continue_on_error): " + w.called(st) + w.because(st.state.Why)
	case st.state.Status == pawl.Skipped:
		return "skipped: " + w.called(st) + w.because(st.state.Why)
	case st.state.Status == pawl.AwaitsReview:
		return "done, awaiting review: " + w.called(st) + w.proof(st)
	}
	return "done: " + w.called(st) + w.proof(st)
}

// doneTasks lists the tasks that agents marked as done. Nothing has checked them.
func (w *writer) doneTasks(s *section) {
	tasks := w.State.Steps[pawl.TasksStep]
	if tasks == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(tasks.Named)) {
		if item := tasks.Named[id]; item.Status == pawl.ItemIsDone {
			s.add("marked done by its agent, not checked: " + w.quote(item.Title))
		}
	}
}

// newestFirst returns the steps whose work is done, newest first.
func newestFirst(steps []step) []step {
	done := slices.DeleteFunc(slices.Clone(steps), func(s step) bool {
		return !s.state.Finished() && (s.state == nil || s.state.Status != pawl.AwaitsReview)
	})
	slices.SortStableFunc(done, func(a, b step) int { return b.state.Ended.Compare(a.state.Ended) })
	return done
}

// proof returns a step's summary, and the state of its outputs.
func (w *writer) proof(s step) string {
	text := ""
	if s.state.Summary != "" {
		text = ": " + w.quote(s.state.Summary)
	}
	if s.state.Items != nil && s.state.Summary == "" {
		text += "; " + count(s.state.Items.Count, "item", "items")
	}
	switch {
	case s.state.From != nil:
		text += "; " + s.state.Adopted
	case s.state.Adopted != "":
		text += "; accepted as done, though its end was not observed" + w.because(s.state.Adopted)
	}
	if found := w.outputs(s.ID); found != "" {
		text += "; " + found
	}
	return text
}

// outputs describes the state of the outputs of finished work; empty if there are none.
func (w *writer) outputs(id pawl.StepID) string {
	p := w.Proofs[id]
	var found []string
	if p.Same > 0 {
		found = append(found, count(p.Same, "output", "outputs")+" unchanged")
	}
	if len(p.Differ) > 0 {
		found = append(found, "CHANGED: "+w.codes(p.Differ, maxOutputs))
	}
	if len(p.Missing) > 0 {
		found = append(found, "MISSING: "+w.codes(p.Missing, maxOutputs))
	}
	if p.Unchecked > 0 {
		found = append(found, count(p.Unchecked, "output", "outputs")+" not checked")
	}
	return strings.Join(found, ", ")
}

// artifacts lists the files that a notebook can load.
func (w *writer) artifacts() section {
	s := section{title: "Artifacts that can be loaded", most: w.budget, all: "pawl verify"}
	for _, st := range w.done {
		addEach(&s, w.Proofs[st.ID].Paths, func(path Path) string {
			return "artifact: " + w.code(path.Name) + " of " + w.code(string(st.ID)) + ", " + strconv.FormatInt(path.Size, 10) +
				" bytes, sha256 " + w.code(path.SHA256[:min(12, len(path.SHA256))]) + ": " + path.Is
		})
	}
	return s
}

// readMore lists commands and files with more detail.
func (w *writer) readMore(f fitted) section {
	s := section{title: "Where to read more"}
	if f.cut {
		s.add(w.leftOut(f))
	}
	if w.State == nil {
		s.add("more: " + w.code("pawl --help") + " lists the commands")
		return s
	}
	if w.Elsewhere != "" {
		return s
	}
	s.add("more: " + w.onRun("pawl status", "") + ", " + w.onRun("pawl log", "") + ", " + w.code("pawl diff") + "; each takes `--json`")
	if w.planned > 0 {
		s.add("files: " + w.code(".pawl/runs/"+w.run) + " contains the plan as run, and STATE.md")
	}
	return s
}

// leftOut names the omitted sections, and the command that shows everything.
func (w *writer) leftOut(f fitted) string {
	text := "cut: this brief was shortened to fit"
	if len(f.dropped) > 0 {
		var names []string
		for _, s := range f.dropped {
			names = append(names, s.title+" ("+strconv.Itoa(s.total)+")")
		}
		text += "; omitted sections: " + strings.Join(names, ", ")
	}
	command := "pawl brief --for human --budget 100000"
	if w.State != nil {
		command += " " + w.run
	}
	return text + "; to see more: " + w.code(command)
}
