package gyoshu

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/markers"
)

// stageState is what is known of one stage of a run.
type stageState struct {
	id           string
	order        int // of its first mention
	begun, ended time.Time
	begins       int
	marker       string // result in its last end marker; empty: none since it began
	progress     string
	line         string // of its first mention
	good         *Record
	interrupted  *Record // the newest checkpoint from the middle of the stage
	invalid      *Record // a saved checkpoint that is not valid
	why          string  // it is not
	unreadable   *Record // one of which nothing can be understood
	missing      bool    // a cell speaks of a checkpoint whose manifest is not there, or not any more
	cell         Pointer // of a checkpoint in the middle of it that has no manifest
	claim        string  // why it counts as finished, if a person agrees; see addClaims
	goal         string
	jobs         []Job
}

// stages collects the stages of a run from markers, checkpoints, cells and the queue, sorted by number.
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
				at(rec.Manifest.Stage).addRecord(rec, env)
			}
		}
	}
	for _, rec := range r.unread(run) {
		if stage := r.stageOf(rec); stage != "" {
			at(stage).unreadable = rec
		}
	}
	for _, p := range r.orphans(run) {
		if p.CutShort {
			at(p.Stage).cell = p
		} else {
			at(p.Stage).missing = true
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

// byNumber compares stages by number. Those without one come last, in their order.
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
		s.progress = markers.Message(m.Marker)
	}
}

// addRecord adds a checkpoint of the stage. They come oldest first, and those that Gyoshu does not load last.
func (s *stageState) addRecord(rec *Record, env format.Env) {
	s.line = cmp.Or(s.line, rec.Path)
	issues := rec.issues(env)
	switch {
	case len(issues) > 0 && !rec.Manifest.Status.unsafe():
		s.invalid, s.why = rec, issues[0]
	case len(issues) > 0:
	case rec.Manifest.Status.unsafe():
		s.interrupted = rec
	default:
		s.good = rec
	}
}

// issues returns the faults of a checkpoint, also of one that Gyoshu does not load. Gyoshu rejects some stage ids of its own
// documents, such as S02_eda, some planned reasons and a byte order mark; these are not faults.
func (r *Record) issues(env format.Env) []string {
	onlyOdd := r.Manifest != nil && r.Manifest.Stage != "" && len(r.Problems) == r.Manifest.odd
	if !r.Loads() && !onlyOdd {
		return []string{"Manifest failed to parse or validate"}
	}
	return r.faults(env)
}

// orphans returns the checkpoints of a run that have a cell and no manifest.
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

// lastValid returns the number of the last stage with a valid checkpoint, 0 for none.
func lastValid(stages []*stageState) int {
	last := 0
	for _, s := range stages {
		if number, _, ok := stageNumber(s.id); ok && s.good != nil {
			last = max(last, number)
		}
	}
	return last
}

// before reports whether the stage has a smaller number.
func (s *stageState) before(number int) bool {
	own, _, ok := stageNumber(s.id)
	return ok && own < number
}

// step returns the stage as a step. It is done if it has a valid checkpoint. A marker, or the cell of a missing checkpoint,
// is a hint that only counts before a valid checkpoint of a later stage, of number base, or in a completed run. An
// unreadable checkpoint proves nothing.
func (s *stageState) step(r *research, q *Queue, base int, runStatus string) format.Step {
	step := format.Step{ID: pawl.StepIDOf(s.id), Name: s.id, Goal: s.goal, Status: pawl.Pending, Native: s.marker, Started: s.begun, Ended: s.ended,
		Attempts: s.begins, Where: s.line}
	switch {
	case s.good != nil:
		s.finish(&step)
	case s.unreadable == nil && (s.marker == "success" || s.missing) && (runStatus == "completed" || s.before(base)):
		step.Status = pawl.Done
		step.Summary = "its own checkpoint is missing; later work shows that it was finished"
	case s.claim != "":
		step.Status, step.Summary = pawl.Done, "a person decides: "+s.claim
	case s.interrupted != nil:
		m := s.interrupted.Manifest
		step.Native, step.Ended = string(m.Status), m.Time()
		s.interrupt(&step, string(m.Reason), "checkpoint "+m.CheckpointID)
	case s.cell.ID != "":
		step.Native = string(Interrupted)
		s.interrupt(&step, s.cell.Reason, "the cell of checkpoint "+s.cell.ID)
	case s.marker == "failed":
		step.Status, step.Why = pawl.FailedForGood, "a marker says that it failed"
	case s.marker == "success":
		step.Why = "a marker says that it succeeded, but no checkpoint proves it"
	case s.marker == "interrupted":
		step.Why = "a marker says that it was interrupted"
	case s.begins > 0:
		step.Native, step.Why = "begun", "it was started, and its end is not recorded"
		step.Partial = s.partial()
	case s.missing:
		step.Why = "a cell refers to its checkpoint, but the manifest is missing"
	}
	if s.good == nil && s.invalid != nil {
		step.Native = cmp.Or(step.Native, string(s.invalid.Manifest.Status))
		step.Why = "its checkpoint " + s.invalid.ID + " is not valid: " + s.why
	}
	if s.good == nil && s.unreadable != nil {
		step.Why = "its checkpoint " + s.unreadable.ID + " cannot be read"
		step.Where = cmp.Or(step.Where, s.unreadable.Path)
	}
	for _, j := range s.jobs {
		s.addJob(&step, q, j, r.now)
	}
	if step.Status != pawl.Done {
		addLimits(&step)
	}
	s.require(&step, r.title)
	return step
}

// Gyoshu's default limits of a stage. No file records other ones.
const (
	usualStage   = 240 * time.Second
	graceOfStage = 30 * time.Second
	splitStage   = 180 * time.Second
)

// addLimits tells the agent of an unfinished stage its limits. They are not enforced: real stages take far longer, and an
// agent must not be killed for it.
func addLimits(step *format.Step) {
	step.Facts = map[string]string{"limit": fmt.Sprintf("%.0f s, and %.0f s of grace; split work of more than %.0f s, so that the finished part is kept",
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
	step.Why = "it was interrupted (" + cmp.Or(reason, "no reason given") + "), according to " + by
	step.Partial = s.partial()
	step.Resume = "the same stage starts over: a checkpoint in the middle of a stage cannot be resumed from"
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

// claims returns the artifacts of a manifest that have safe paths.
func (m *Manifest) claims() []format.Claim {
	var claims []format.Claim
	for _, a := range m.Artifacts {
		if CheckPath(a.Path) == "" {
			claims = append(claims, format.Claim{Path: a.Path, SHA256: a.SHA256, Size: a.Size})
		}
	}
	return claims
}
