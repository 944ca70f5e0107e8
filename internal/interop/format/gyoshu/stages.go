package gyoshu

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// stageState is all that is known of one stage of a run.
type stageState struct {
	id           string
	order        int // in which it is first spoken of
	begun, ended time.Time
	begins       int
	marker       string // how its last end marker says that it ended; empty: there is none since it began
	progress     string
	line         string // where it is spoken of first
	good         *Record
	cut          *Record // the newest that was taken in the middle of it
	spoilt       *Record // a saved one that is not valid
	why          string  // it is not
	unread       *Record // one of which nothing can be understood
	gone         bool    // a cell speaks of a checkpoint whose manifest is not there, or not any more
	cell         Pointer // of a checkpoint in the middle of it that has no manifest
	goal         string
	jobs         []Job
}

// stages gathers what markers, checkpoints, cells and the queue say of a run's stages, in the order of their numbers.
func (r *research) stages(run string, env format.Env, q *Queue) []*stageState {
	known := map[string]*stageState{}
	at := func(id string) *stageState {
		if known[id] == nil {
			known[id] = &stageState{id: id, order: len(known)}
		}
		return known[id]
	}
	for _, m := range r.markers(run) {
		if id := m.Attributes["id"]; m.Type == "STAGE" && m.Subtype != nil && id != "" {
			at(id).apply(m, notebookPath(r.title))
		}
	}
	for _, loads := range []bool{true, false} {
		for _, rec := range slices.Backward(r.records) {
			if rec.Run == run && rec.Loads() == loads && rec.Manifest != nil && rec.Manifest.Stage != "" {
				at(rec.Manifest.Stage).weigh(rec, env)
			}
		}
	}
	for _, rec := range r.unread(run) {
		if stage := r.stageOf(rec); stage != "" {
			at(stage).unread = rec
		}
	}
	for _, p := range r.orphans(run) {
		if p.CutShort {
			at(p.Stage).cell = p
		} else {
			at(p.Stage).gone = true
		}
	}
	if stage, goal := r.objective(run); stage != "" {
		at(stage).goal = goal
	}
	if q != nil {
		for _, j := range q.Jobs {
			if j.Stage != "" {
				at(j.Stage).jobs = append(at(j.Stage).jobs, j)
			}
		}
	}
	return slices.SortedFunc(maps.Values(known), byNumber)
}

// byNumber puts stages in the order of their numbers, and those without one behind, as they came.
func byNumber(a, b *stageState) int {
	m, _, hasM := stageNumber(a.id)
	n, _, hasN := stageNumber(b.id)
	switch {
	case hasM && hasN:
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(a.order, b.order))
	case hasM:
		return -1
	case hasN:
		return 1
	}
	return cmp.Compare(a.order, b.order)
}

// apply applies a marker to the stage's state.
func (s *stageState) apply(m cellMarker, notebook string) {
	s.line = cmp.Or(s.line, place(notebook, m.cell.Line()))
	switch *m.Subtype {
	case "begin":
		s.begun, s.ended, s.marker = m.cell.Time, time.Time{}, ""
		s.begins++
	case "end":
		s.ended, s.marker = m.cell.Time, cmp.Or(m.Attributes["status"], "success")
	case "progress":
		s.progress = cmp.Or(m.Attributes["msg"], m.Content, m.Attributes["pct"])
	}
}

// weigh takes in a checkpoint of the stage: the oldest first, and those that Gyoshu does not load last.
func (s *stageState) weigh(rec *Record, env format.Env) {
	s.line = cmp.Or(s.line, rec.Path)
	issues := rec.issues(env)
	switch {
	case len(issues) > 0 && !rec.Manifest.Status.unsafe():
		s.spoilt, s.why = rec, issues[0]
	case len(issues) > 0:
	case rec.Manifest.Status.unsafe():
		s.cut = rec
	default:
		s.good = rec
	}
}

// issues returns what is wrong with a checkpoint, be it that Gyoshu does not load it. That it does not take a stage's id, such as
// S02_eda of its own documents, a reason of its own plan, or a byte order mark, is no reason to think that what it says is not so.
func (r *Record) issues(env format.Env) []string {
	onlyOdd := r.Manifest != nil && r.Manifest.Stage != "" && len(r.Problems) == r.Manifest.odd
	if !r.Loads() && !onlyOdd {
		return []string{"Manifest failed to parse or validate"}
	}
	return r.faults(env)
}

// orphans returns the checkpoints of a run that cells speak of and that have no manifest.
func (r *research) orphans(run string) []Pointer {
	if r.notebook == nil {
		return nil
	}
	known := make(map[string]bool, len(r.records))
	for _, rec := range r.records {
		known[rec.Path] = true
	}
	var found []Pointer
	for _, c := range r.notebook.Cells {
		rec, ok := placeOf(c.Pointer.Manifest)
		if ok && rec.Title == r.title && rec.Run == run && !known[rec.Path] && c.Pointer.Stage != "" {
			found = append(found, c.Pointer)
		}
	}
	return found
}

// base returns the number of the last stage that has a valid checkpoint, 0 for none.
func base(stages []*stageState) int {
	last := 0
	for _, s := range stages {
		if number, _, ok := stageNumber(s.id); ok && s.good != nil {
			last = max(last, number)
		}
	}
	return last
}

// before reports whether the stage comes before that number.
func (s *stageState) before(number int) bool {
	own, _, ok := stageNumber(s.id)
	return ok && own < number
}

// step returns the stage as a step. It is done if a valid checkpoint says so. A marker, or the cell of a checkpoint that is
// gone, is a hint: it is believed where a valid checkpoint of a later stage, of number base, or the record of a completed
// run stands behind it. Of a checkpoint that is there and cannot be read nothing is believed.
func (s *stageState) step(r *research, q *Queue, base int, runStatus string) format.Step {
	step := format.Step{ID: pawl.StepIDOf(s.id), Name: s.id, Goal: s.goal, Status: pawl.Pending, Native: s.marker, Started: s.begun, Ended: s.ended,
		Attempts: s.begins, Where: s.line}
	switch {
	case s.good != nil:
		s.finish(&step)
	case s.unread == nil && (s.marker == "success" || s.gone) && (runStatus == "completed" || s.before(base)):
		step.Status = pawl.Done
		step.Summary = "its own checkpoint is not there; what comes after it says that it was finished"
	case s.cut != nil:
		m := s.cut.Manifest
		step.Native, step.Ended = string(m.Status), m.Time()
		s.interrupt(&step, string(m.Reason), "checkpoint "+m.CheckpointID)
	case s.cell.ID != "":
		step.Native = string(Interrupted)
		s.interrupt(&step, s.cell.Reason, "the cell of checkpoint "+s.cell.ID)
	case s.marker == "failed":
		step.Status, step.Why = pawl.FailedForGood, "a marker says that it failed"
	case s.marker == "success":
		step.Why = "a marker says that it succeeded, and no checkpoint proves it"
	case s.marker == "interrupted":
		step.Why = "a marker says that it was interrupted"
	case s.begins > 0:
		step.Native, step.Why = "begun", "it was begun, and nothing says how it ended"
		step.Partial = s.partial()
	case s.gone:
		step.Why = "a cell speaks of its checkpoint, and there is no manifest"
	}
	if s.good == nil && s.spoilt != nil {
		step.Native = cmp.Or(step.Native, string(s.spoilt.Manifest.Status))
		step.Why = "its checkpoint " + s.spoilt.ID + " is not valid: " + s.why
	}
	if s.good == nil && s.unread != nil {
		step.Why = "its checkpoint " + s.unread.ID + " is there, and cannot be read"
		step.Where = cmp.Or(step.Where, s.unread.Path)
	}
	for _, j := range s.jobs {
		s.addJob(&step, q, j, r.now)
	}
	if step.Status != pawl.Done {
		limit(&step)
	}
	return step
}

// Gyoshu's limits of a stage that says nothing else: no file of its keeps what a stage was given.
const (
	usualStage   = 240 * time.Second
	graceOfStage = 30 * time.Second
	splitStage   = 180 * time.Second
)

// limit tells who carries a stage out that is not done what its limits are. They are not enforced: real stages last far longer,
// and what an agent has begun is not to be cut off for it.
func limit(step *format.Step) {
	step.Facts = map[string]string{"limit": fmt.Sprintf("%.0f s and %.0f s more; work of more than %.0f s is to be split, so that what is finished stays",
		usualStage.Seconds(), graceOfStage.Seconds(), splitStage.Seconds())}
}

func (s *stageState) finish(step *format.Step) {
	m := s.good.Manifest
	step.Status, step.Native = pawl.Done, string(m.Status)
	step.Summary = "checkpoint " + m.CheckpointID
	if !s.good.Loads() {
		step.Summary += ", which Gyoshu cannot load"
	}
	if step.Ended.IsZero() {
		step.Ended = m.Time()
	}
	step.Claims = m.claims()
}

func (s *stageState) interrupt(step *format.Step, reason, by string) {
	step.Why = "it was cut off (" + cmp.Or(reason, "it is not said why") + "), as " + by + " says"
	step.Partial = s.partial()
	step.Resume = "the same stage begins again: a checkpoint in the middle of one is no base"
}

func (s *stageState) partial() *format.Partial {
	if s.progress == "" {
		return nil
	}
	return &format.Partial{Last: s.progress}
}

func (s *stageState) addJob(step *format.Step, q *Queue, j Job, now time.Time) {
	status, why := q.item(j, now)
	step.Items = append(step.Items, format.Item{ID: j.ID, Name: j.Kind, Status: status, Native: j.Status})
	if why != "" && step.Why == "" {
		step.Why = "job " + j.ID + ": " + why
	}
	if status == pawl.ItemRunning && step.Status == pawl.Pending {
		step.Status, step.Agent = pawl.Running, j.Worker
	}
}

// claims returns a manifest's artifacts whose paths are such as a project's file can have.
func (m *Manifest) claims() []format.Claim {
	var claims []format.Claim
	for _, a := range m.Artifacts {
		if CheckPath(a.Path) == "" {
			claims = append(claims, format.Claim{Path: a.Path, SHA256: a.SHA256, Size: a.Size})
		}
	}
	return claims
}
