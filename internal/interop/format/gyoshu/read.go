package gyoshu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// activityWindow is how long after its last activity a run may still be alive: longer than any stage takes.
const activityWindow = 10 * time.Minute

// read reads a run of a research, or the newest with "".
func read(r *research, run string, env format.Env) (format.Project, []pawl.Finding) {
	run = cmp.Or(run, r.newest)
	q := r.queues[run]
	res := resume(r.records, run, env)
	entry := r.front().run(run)
	native := ""
	if entry != nil {
		native = entry.Status
	}
	out := format.Project{System: System, Name: r.title, ID: run, Native: native, Facts: map[string]string{}, Mode: pawl.Guided}
	steps := []format.Step{}
	stages := r.stages(run, env, q)
	if native != "completed" {
		r.addClaims(run, stages)
	}
	for _, s := range stages {
		steps = append(steps, s.step(r, q, lastValid(stages), native))
	}
	steps = append(steps, r.loopStep(run, steps)...)
	out.Phases = []format.Phase{{Name: r.title, Steps: steps}}
	out.Updated = r.activity(run)
	r.readFront(&out, entry)
	r.readLoop(&out, run)
	r.readResume(&out, res)
	r.setContinuation(&out, run, res, env)
	out.Snapshot = r.snapshot(run, native == "completed", res, env)
	r.readMarkers(&out, run)
	r.readSaved(&out, run, env)
	r.askUnread(&out, run)
	r.askClaims(&out, stages)
	out.Status = r.status(&out, native)
	out.Position, out.Percent = position(r.title, steps, native == "completed")
	found := slices.DeleteFunc(r.examine(env), func(f pawl.Finding) bool { return f.Level == pawl.OK })
	if res.base != nil && native != "completed" {
		found = append(found, res.base.drift()...)
	}
	return out, found
}

// status returns the status of the run: one that has not ended is interrupted, unless something of it was written just now.
func (r *research) status(out *format.Project, native string) pawl.RunStatus {
	switch {
	case native == "completed":
		return pawl.StatusCompleted
	case native == "failed":
		return pawl.StatusFailed
	case !out.Updated.IsZero() && r.now.Sub(out.Updated) < activityWindow:
		return pawl.StatusActive
	}
	return pawl.StatusInterrupted
}

func (r *research) readFront(out *format.Project, entry *RunEntry) {
	f := r.front()
	if f == nil {
		return
	}
	out.Created, out.Goal = f.Created, f.Goal
	if entry != nil {
		out.Created = entry.Started
		fact(out, "notes", entry.Notes)
	}
	fact(out, "research status", f.Status)
	fact(out, "tags", strings.Join(f.Tags, ", "))
	for _, c := range f.Accept {
		fact(out, "criterion "+c.ID, strings.TrimSpace(c.Kind+" "+c.Text))
	}
}

func fact(out *format.Project, name, text string) {
	if text != "" {
		out.Facts[name] = text
	}
}

// readLoop reads the state of the loop if it belongs to this run.
func (r *research) readLoop(out *format.Project, run string) {
	l := r.loopOf(run)
	if l == nil {
		return
	}
	if l.Active {
		out.Mode = pawl.Autopilot
	}
	fact(out, "iteration", fmt.Sprintf("%d of %d", l.Iteration, l.Most))
	fact(out, "cycle", fmt.Sprintf("%d of %d", l.Budgets.Cycle, l.Budgets.MostCycles))
	fact(out, "tool calls", fmt.Sprintf("%d of %d", l.Budgets.Calls, l.Budgets.MostCalls))
	fact(out, "attempt", fmt.Sprintf("%d of %d", l.Attempt, l.MostTries))
	fact(out, "last decision", string(l.Decision))
	fact(out, "next objective", l.Next)
	fact(out, "goal gate", l.GoalReached)
	fact(out, "session", l.Session)
	fact(out, "used up", strings.Join(l.Exceeded(r.now), ", "))
	if l.Trust != nil {
		fact(out, "trust score", number(*l.Trust))
	}
	if l.Decision == Blocked || l.GoalReached == "BLOCKED" {
		out.Blockers = append(out.Blockers, pawl.Blocker{Text: "Gyoshu's loop is blocked", Needs: cmp.Or(l.Next, "a person's decision"), Opened: out.Updated})
	}
}

// readResume determines the resume point, by Gyoshu's rule.
func (r *research) readResume(out *format.Project, res resumption) {
	if out.Native == "completed" {
		out.Resume = "it is completed"
		return
	}
	if res.base == nil {
		out.Resume, out.Next = res.issue, res.next
		return
	}
	stage := res.base.Manifest.Stage
	out.Resume = "resumable from checkpoint " + res.base.ID + " (" + stage + ")"
	if warning := res.base.warning(); warning != "" {
		out.Resume += "; " + warning
	}
	switch {
	case res.next == "":
		out.Next = "the stage after " + stage
	case strings.HasSuffix(res.next, "_"):
		out.Next = nextStage(out.Phases[0].Steps, stage)
	default:
		out.Next = res.next + ", which was started and interrupted"
	}
}

// nextStage returns the first unfinished stage or, if all known ones are done, the prefix of the next one's id.
func nextStage(steps []format.Step, newest string) string {
	last := newest
	for _, s := range steps {
		if s.Status != pawl.Done {
			return s.Name
		}
		if number, _, ok := stageNumber(s.Name); ok && number < lastStage {
			last = s.Name
		}
	}
	return NextStage(last) + "…, which comes after " + last
}

// readMarkers reads memories, decisions and objectives from markers, which are only hints.
func (r *research) readMarkers(out *format.Project, run string) {
	kinds := map[string]pawl.MemoryKind{"INSIGHT": pawl.Pattern, "PATTERN": pawl.Pattern, "FINDING": pawl.Pattern, "LIMITATION": pawl.Gotcha}
	var next []string
	for _, m := range r.markers(run) {
		switch kind := kinds[m.Type]; {
		case m.Content == "":
		case kind != "":
			if memory := (pawl.Memory{Kind: kind, Text: m.Content}); !slices.Contains(out.Memories, memory) {
				out.Memories = append(out.Memories, memory)
			}
		case m.Type == "DECISION":
			out.Decisions = append(out.Decisions, pawl.Decision{Choice: m.Content, Time: m.cell.Time})
		case m.Type == "OBJECTIVE":
			out.Goal = cmp.Or(out.Goal, m.Content)
		case m.Type == "NEXT_STEP":
			next = append(next, m.Content)
		}
	}
	fact(out, "next steps", strings.Join(next, "; "))
	if promise := r.promise(run); promise != "" {
		fact(out, "promise", promise)
		if promise == "BLOCKED" && len(out.Blockers) == 0 {
			out.Blockers = append(out.Blockers, pawl.Blocker{Text: "Gyoshu reported that it is blocked", Opened: out.Updated})
		}
	}
}

// promise returns the last promise of a run's loop, COMPLETE, BLOCKED or BUDGET_EXHAUSTED, "" if there is none.
func (r *research) promise(run string) string {
	if r.notebook == nil {
		return ""
	}
	last := ""
	for i, of := range r.runOfCells() {
		if of == run {
			last = cmp.Or(promiseIn(r.notebook.Cells[i].Stdout), last)
		}
	}
	return last
}

// promiseIn returns the last promise in a text: <promise> GYOSHU_AUTO_COMPLETE </promise>, in any case.
func promiseIn(text string) string {
	const begin, end = "<PROMISE>", "</PROMISE>"
	text = strings.ToUpper(text)
	for i := strings.LastIndex(text, begin); i >= 0; i = strings.LastIndex(text[:i], begin) {
		tag, _, closed := strings.Cut(text[i+len(begin):], end)
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "GYOSHU_AUTO_")
		if closed && slices.Contains([]string{"COMPLETE", "BLOCKED", "BUDGET_EXHAUSTED"}, tag) {
			return tag
		}
	}
	return ""
}

// readSaved lists the run's checkpoints, oldest first, and the environment of the newest.
func (r *research) readSaved(out *format.Project, run string, env format.Env) {
	for _, rec := range slices.Backward(r.records) {
		if rec.Run != run {
			continue
		}
		c := format.Checkpoint{ID: rec.ID, Kind: pawl.CheckpointStep, Where: rec.Path, Valid: len(rec.issues(env)) == 0}
		if m := rec.Manifest; m != nil {
			c.Native, c.Time, c.Reason, c.Claims = string(m.Status), m.Time(), string(m.Reason), m.claims()
			if m.Stage != "" {
				c.Step = pawl.StepIDOf(m.Stage)
			}
			if m.Status.unsafe() {
				c.Kind = pawl.CheckpointEmergency
			}
			fact(out, "python", m.Python.Path)
			fact(out, "platform", m.Python.Platform)
			fact(out, "packages", strings.Join(m.Python.Packages, ", "))
		}
		out.Checkpoints = append(out.Checkpoints, c)
	}
	slices.SortStableFunc(out.Checkpoints, func(a, b format.Checkpoint) int { return a.Time.Compare(b.Time) })
}

// position returns the position of the run among the known stages. No file has the plan, so others may follow, and the
// position is not complete before the run is.
func position(title string, steps []format.Step, completed bool) (pawl.Position, int) {
	pos := pawl.Position{Phase: 1, PhaseTotal: 1, PhaseName: title, StepTotal: len(steps), Complete: completed}
	done := 0
	for _, s := range steps {
		if s.Status == pawl.Done {
			done++
		}
	}
	if pos.Complete = completed && done == len(steps); pos.Complete {
		pos.Step = len(steps)
		return pos, 100
	}
	i := slices.IndexFunc(steps, func(s format.Step) bool { return s.Status != pawl.Done })
	if i < 0 {
		i = len(steps) - 1
	}
	if i < 0 {
		return pos, 0
	}
	pos.Step, pos.StepID, pos.StepName = i+1, steps[i].ID, steps[i].Name
	return pos, min(100*done/len(steps), 99)
}

func place(path string, line int) string { return path + ":" + strconv.Itoa(line) }
