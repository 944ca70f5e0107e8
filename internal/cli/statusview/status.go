// Package statusview collects and prints the status of a run.
package statusview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/discover"
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/sessions"
	"pawl/internal/shellwords"
	"pawl/internal/stepenv"
	"pawl/internal/supervise"
)

// Report is what `pawl status --json` prints.
type Report struct {
	Run      pawl.RunID          `json:"run"`
	Name     string              `json:"name"`
	Goal     string              `json:"goal,omitempty"`
	Kind     pawl.RunKind        `json:"kind"`
	Status   pawl.RunStatus      `json:"status"`
	Why      string              `json:"why,omitempty"`
	Mode     pawl.Mode           `json:"mode"`
	Position pawl.Position       `json:"position"`
	Percent  int                 `json:"progress_percent"`
	Created  time.Time           `json:"created_at"`
	Updated  time.Time           `json:"updated_at"`
	Epoch    pawl.Epoch          `json:"epoch"`
	Deaths   int                 `json:"deaths"`
	Engine   *Holder             `json:"engine,omitempty"`
	Steps    []Step              `json:"steps"`
	Handlers []Step              `json:"handlers,omitempty"`    // on_success and on_failure, once they have started
	Unsent   []Undelivered       `json:"undelivered,omitempty"` // notices that could not be sent, oldest first
	Gates    []layout.GateReport `json:"gates"`
	Blockers []pawl.Blocker      `json:"blockers"`
	Usage    pawl.Usage          `json:"usage"`
	Seconds  float64             `json:"running_seconds"`
	Misfits  int                 `json:"misfits,omitempty"`
	Full     *disk.Space         `json:"disk_full,omitempty"` // the disk that holds .pawl, if it is full

	Params  map[string]pawl.ShownParam `json:"params,omitempty"`
	Restore *pawl.RestoreState         `json:"restore,omitempty"` // the interrupted restore of the project's files

	Importable []discover.Found `json:"importable,omitempty"` // unfinished work of other systems that no run was imported from

	Unverified bool `json:"unverified,omitempty"` // the run was made elsewhere, or the project is not trusted

	Standing   string `json:"standing"`              // the status and its reason, for people
	Next       string `json:"next,omitempty"`        // the command that continues the run
	ParamsLine string `json:"params_line,omitempty"` // the parameters in one line, without secrets

	onRun    func(command string) string    // names the run in a command that needs it
	Sessions []Session                      `json:"sessions"`
	Doubts   []sessions.ReconciledOperation `json:"in_doubt"` // tool calls of agents without a recorded outcome
}

// AddRestore adds the interrupted restore of the project's files, which any run's journal may have.
func (r *Report) AddRestore(ctx context.Context, p *project.Project) error {
	if _, alive := p.EngineHolder(); alive {
		return nil
	}
	var err error
	r.Restore, _, err = runs.UnfinishedRestore(ctx, p)
	return err
}

// Holder is the engine of a run.
type Holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// Step is the status of a step.
type Step struct {
	ID        pawl.StepID     `json:"id"`
	Name      string          `json:"name,omitempty"`
	Phase     string          `json:"phase"`
	Notebook  string          `json:"notebook,omitempty"` // file that gets the outputs of its cells
	Needs     []pawl.StepID   `json:"needs,omitempty"`    // as the plan says; steps of a later phase also wait for the phase before
	Status    pawl.StepStatus `json:"status"`
	Why       string          `json:"why,omitempty"`
	Attempts  int             `json:"attempts"`
	Items     Items           `json:"items"`
	Live      []Live          `json:"live,omitempty"`
	Progress  *pawl.Progress  `json:"progress,omitempty"`
	Summary   string          `json:"summary,omitempty"`
	Adopted   string          `json:"adopted,omitempty"`
	From      *pawl.Earlier   `json:"from,omitempty"`    // the attempt of an earlier run whose result was adopted
	Unsaved   string          `json:"unsaved,omitempty"` // why the step has no snapshot
	Seconds   float64         `json:"seconds"`
	Condition string          `json:"condition,omitempty"` // that was false, so that pawl skipped the step
	Continued bool            `json:"continued,omitempty"` // it failed, and the run continues (continue_on_error)
	Service   *Service        `json:"service,omitempty"`
	Killed    int             `json:"killed,omitempty"`    // processes that its attempts left running, and that pawl terminated
	Leftovers []string        `json:"leftovers,omitempty"` // the first of them, of the newest attempt with any
	Offers    []string        `json:"offers,omitempty"`    // commands that help with a failed step
	StartedAt *time.Time      `json:"started_at"`
	EndedAt   *time.Time      `json:"ended_at"`

	Unreviewed []string `json:"unreviewed,omitempty"` // reviewers whose score is missing
	Unsettled  bool     `json:"unsettled,omitempty"`  // all its attempts have ended, but no engine has recorded that
	Note       string   `json:"note,omitempty"`       // what a resume does with the step and why, or the commands that give the missing reviews

	note    string                                         // the answer to the step's gate, or what is left of its attempts; it comes before then
	then    string                                         // what a resume does about it
	reviews func(onRun func(command string) string) string // returns the commands that give the missing reviews; nil for none
}

// Service is the status of a service.
type Service struct {
	Ready bool          `json:"ready"`
	Since *time.Time    `json:"ready_since,omitempty"`
	Until pawl.Lifetime `json:"until,omitempty"`
	Ends  string        `json:"ends,omitempty"` // why pawl ends it now

	Waiting *pawl.ServiceWait `json:"waiting,omitempty"` // while it is not ready: how long, and the last try of its check

	NotReady string `json:"not_ready,omitempty"` // the same for people
}

// serviceOf returns the status of a step that is a service, or nil.
func serviceOf(step *pawl.Step, st *pawl.StepState) *Service {
	if step.Service == nil {
		return nil
	}
	service := &Service{Until: step.Service.Until}
	if st == nil || st.Retries.Live == nil {
		return service
	}
	if live := st.Serving(); live != nil {
		service.Ready, service.Since = true, &live.Ready
	}
	live := st.Retries.Live
	service.Ends = live.Released
	if live.Ready.IsZero() {
		service.Waiting, service.NotReady = live.Waiting, live.NotReady(step.Service.Timeout, time.Now())
	}
	return service
}

// text says how a running service stands.
func (s *Service) text() string {
	switch {
	case s.Ends != "":
		return "service is ending: " + s.Ends
	case s.Ready:
		return "service ready since " + layout.UTCWithZone(*s.Since)
	}
	return strings.TrimSuffix("service is starting, "+s.NotReady, ", ")
}

// Undelivered is a notice that could not be sent.
type Undelivered struct {
	Notice string          `json:"notice"`
	Kind   pawl.NoticeKind `json:"kind"`
	To     string          `json:"to"`
	Error  string          `json:"error"`
	Time   time.Time       `json:"time"`
}

// Items counts the items of a foreach step.
type Items struct {
	Total  int `json:"total"`
	Done   int `json:"done"`
	Failed int `json:"failed"`
}

// Live is a running attempt.
type Live struct {
	Item    pawl.ItemID `json:"item,omitempty"`
	Attempt int         `json:"attempt"`
	Started time.Time   `json:"started_at"`
	Lost    bool        `json:"lost,omitempty"` // its supervisor crashed; the outcome is unknown

	Warnings []string `json:"warnings,omitempty"` // about the cell that runs
}

// Of returns the status of a run. Its steps name commands without the run; see NameRun.
func Of(p *project.Project, r *runs.Run) Report {
	s := r.State
	holder, alive := p.EngineHolder()
	alive = alive && holder.WorksOn(s)
	report := Report{
		Run: s.Run, Name: s.Name, Goal: s.Goal, Kind: s.Kind, Status: s.StatusIn(r.Plan, alive), Why: s.Why, Mode: s.Mode,
		Position: s.Position(r.Plan), Percent: s.Percent(r.Plan), Created: s.Created, Updated: s.Updated, Epoch: s.Epoch,
		Deaths: s.Deaths, Gates: []layout.GateReport{}, Blockers: []pawl.Blocker{}, Steps: []Step{},
		Usage: s.Spent.Usage, Seconds: s.Spent.Seconds, Misfits: s.RejectedCount,
		Params: r.Plan.ShownParams(s.Given),
	}
	if line := stepenv.ParamsLine(r.Plan, s.Given); line != "" {
		report.ParamsLine = redact.OfProcess().Text(line)
	}
	report.Next = runs.ContinueCommand(s)
	report.Standing = standing(p, r, alive)
	if space, err := disk.SpaceOf(p.Home()); err == nil && space.Full() {
		report.Full = &space
	}
	if alive {
		report.Engine = &Holder{PID: holder.PID, Since: holder.Since}
	} else if s.Engine != nil {
		report.Deaths++ // the last engine crashed and recorded no end
	}
	good := &finder{run: r}
	report.Steps = slices.Grow(report.Steps, report.Position.StepTotal)
	for i := range r.Plan.Phases {
		for j := range r.Plan.Phases[i].Steps {
			report.Steps = append(report.Steps, stepOf(&r.Plan.Phases[i], &r.Plan.Phases[i].Steps[j], good))
		}
	}
	if len(r.Plan.Phases) == 0 {
		report.Steps = append(report.Steps, stepsWithoutPlan(good)...)
	}
	report.addEnd(p, r)
	for i := range report.Steps {
		report.Steps[i].probe(p, s)
		if alive { // it acts on all of this by itself
			report.Steps[i].note, report.Steps[i].then = "", ""
		}
	}
	if s.Rollback != nil { // until it ends, no step can be retried or skipped
		for i := range report.Steps {
			report.Steps[i].Offers = nil
		}
	}
	for _, g := range s.OpenGates() {
		report.Gates = append(report.Gates, layout.GateReportOf(r.Plan, s, g))
	}
	report.Blockers = append(report.Blockers, s.OpenBlockers()...)
	if report.Unverified = r.RequireOwn(p) != nil; report.Unverified {
		report.dropAnswers()
	}
	return report
}

// addEnd adds the handlers that have started, and the notices that could not be sent.
func (r *Report) addEnd(p *project.Project, run *runs.Run) {
	for _, step := range run.Plan.Handlers() {
		if st := run.State.Steps[step.ID]; st == nil || st.Status == pawl.Pending && st.Retries.Failures == 0 { // it was reopened
			continue
		}
		h := stepOf(&pawl.Phase{}, step, &finder{run: run})
		h.probe(p, run.State)
		if h.Offers = nil; h.Status == pawl.FailedForGood {
			h.Offers = []string{"pawl retry " + string(step.ID), "pawl output " + string(step.ID) + " --stderr"}
		}
		r.Handlers = append(r.Handlers, h)
	}
	for _, n := range run.State.Notices {
		if n.Error != "" {
			r.Unsent = append(r.Unsent, Undelivered{n.Notice, n.Kind, n.To, n.Error, n.Time})
		}
	}
}

// dropAnswers removes what says that a resume continues from an answer.
func (r *Report) dropAnswers() {
	if strings.HasPrefix(r.Standing, pawl.ReadyToResume) {
		r.Standing = string(r.Status)
	}
	for i := range r.Steps {
		r.Steps[i].note, r.Steps[i].then = "", ""
	}
}

// addReview adds what a step that awaits its review needs.
func (s *Step) addReview(st *pawl.StepState) {
	if low := st.ScoredTooLow(); low != "" {
		s.note, s.then = low, "pawl resume reruns the step"
		return
	}
	s.Unreviewed = st.Unreviewed()
	step := s.ID
	s.reviews = func(onRun func(string) string) string {
		return strings.Join(runs.ReviewCommands(step, st, onRun), "; ")
	}
}

// stepsWithoutPlan returns the steps of a run without a plan, in the order in which they started.
func stepsWithoutPlan(good *finder) []Step {
	var reports []Step
	s := good.run.State
	for id := range s.Steps {
		reports = append(reports, stepOf(&pawl.Phase{}, &pawl.Step{ID: id}, good))
	}
	slices.SortFunc(reports, func(a, b Step) int {
		return cmp.Or(s.Steps[a.ID].Started.Compare(s.Steps[b.ID].Started), strings.Compare(string(a.ID), string(b.ID)))
	})
	return reports
}

func stepOf(phase *pawl.Phase, step *pawl.Step, good *finder) Step {
	s := good.run.State
	report := Step{ID: step.ID, Name: step.Name, Phase: phase.Name, Notebook: step.Notebook(), Needs: step.Needs, Status: pawl.Pending}
	st := s.Steps[step.ID]
	report.Service = serviceOf(step, st)
	if st == nil {
		return report
	}
	report.Killed, report.Leftovers = st.Killed, st.Leftovers
	report.Status, report.Why, report.Attempts, report.Progress = st.Status, st.Why, st.Attempts, st.Progress
	report.Condition, report.Continued = st.Condition, st.Tolerated()
	report.Summary, report.Adopted, report.From, report.Unsaved, report.Seconds = st.Summary, st.Adopted, st.From, st.Unsaved, st.Seconds
	if why := s.RerunText(step.ID); why != "" && !st.Finished() && st.Status != pawl.FailedForGood {
		report.Why = why
	}
	if g := s.AnsweredGate(step.ID); g != nil {
		report.note, report.then = g.AnswerText(), g.After()
	} else if g := s.WithdrawnGate(step.ID); g != nil {
		report.note, report.then = g.WithdrawnText(), "pawl resume asks again"
	}
	if report.Why == "" && st.Retries.Last != nil && !st.Finished() {
		report.Why = earlier(st)
	}
	if st.Items != nil {
		report.Items = Items{Total: st.Items.Size(), Done: st.Items.Count, Failed: len(st.Items.Failed)}
	}
	for _, l := range st.Live() {
		report.Live = append(report.Live, Live{Item: l.Item, Attempt: l.Attempt, Started: l.Started, Warnings: l.Warnings})
	}
	if halted := s.Status == pawl.StatusPaused || s.Status == pawl.StatusStopped; halted && st.Status == pawl.Running && len(report.Live) == 0 {
		report.Status = pawl.Pending // a foreach step that was begun
	}
	if st.Status == pawl.AwaitsReview {
		report.addReview(st)
	}
	if st.Status == pawl.FailedForGood {
		report.Offers = failedStepCommands(step, st, good.before(st.Started))
	}
	report.StartedAt, report.EndedAt = layout.TimeOrNil(st.Started), layout.TimeOrNil(st.Ended)
	return report
}

// earlier says why the last attempt at a step ended that has not finished. If another one is running, it names the attempt.
func earlier(st *pawl.StepState) string {
	last := st.Retries.Last
	if last.Why == "" || st.Status != pawl.Running || last.Item != "" {
		return last.Why
	}
	return fmt.Sprintf("attempt %d: %s", last.Attempt, last.Why)
}

// probe marks the attempts of a step whose supervisor has crashed, and notes if none of them is alive.
func (r *Step) probe(p *project.Project, s *pawl.State) {
	alive, lost, how := 0, 0, "ended while no engine was running"
	for i, live := range s.Steps[r.ID].Live() {
		status, err := supervise.Probe(p.AttemptDir(live.AttemptRef, s.Run))
		r.Live[i].Lost = err == nil && status.Under(live.Boot).State == supervise.Lost
		if exit := status.ExitSealed(live.Seal); exit != nil && exit.Reason == pawl.ReasonAbort {
			how = resume.EndedText(exit)
		}
		switch {
		case r.Live[i].Lost:
			lost++
		case err != nil || status.State == supervise.Live:
			alive++
		}
	}
	if r.Service != nil && alive == 0 {
		r.Service.Ready, r.Service.Since, r.Service.Waiting = false, nil, nil
	}
	switch r.Unsettled = len(r.Live) > 0 && alive == 0; {
	case !r.Unsettled || r.then != "":
	case lost > 0:
		r.note, r.then = "its supervisor died", "pawl explain "+string(r.ID)+" shows the verdict"
	default:
		r.note, r.then = how, "pawl explain "+string(r.ID)+" shows the verdict"
	}
}

// statusWord returns the status of a step for the table. It is unknown if none of its attempts is alive, and one crashed.
func (r *Step) statusWord() string {
	switch {
	case r.Continued:
		return pawl.FailedAllowed
	case !r.Unsettled:
		return string(r.Status)
	case slices.ContainsFunc(r.Live, func(l Live) bool { return l.Lost }):
		return "unknown"
	}
	return "ended"
}

// CheckGates notes which open gates ask about something that has changed since. It reads what they show.
func (r *Report) CheckGates(p *project.Project, run *runs.Run) {
	for i, g := range run.State.OpenGates() {
		r.Gates[i].Note = gateNote(p, run, g)
	}
}

// gateNote says that the question of an open gate has changed since it was asked; "" if not, or if checking would take long.
func gateNote(p *project.Project, r *runs.Run, g *pawl.GateState) string {
	size := int64(0)
	for _, c := range g.Shown {
		size += c.Size
	}
	if size > resume.MaxHashed {
		return ""
	}
	changed, err := runs.GateChanges(p, r, g)
	switch {
	case err != nil:
		return "cannot check whether it still shows the same: " + err.Error()
	case len(changed) > 0:
		return "its content has changed: " + layout.OneLine(oneline.Paths(changed)) + "; an answer is refused, and pawl resume asks again"
	case resume.GateEdited(p, r, g):
		return "the plan was edited since: an answer counts for the question above; pawl resume shows the new plan and asks"
	}
	return ""
}

// finder finds the last good checkpoint of a run before a step started.
type finder struct {
	run  *runs.Run
	read bool
	good []pawl.Checkpoint // of the journal, which is read once, if the state does not suffice
}

// before returns the checkpoint, nil if there is none. The one that was taken for the start has the same time.
func (f *finder) before(start time.Time) *pawl.Checkpoint {
	if good := f.run.State.LastGood; good == nil || !good.Time.After(start) {
		return good
	}
	if !f.read {
		f.good, f.read = history.GoodCheckpoints(f.run.Log), true
	}
	for _, c := range slices.Backward(f.good) {
		if !c.Time.After(start) {
			return &c
		}
	}
	return nil
}

// failedStepCommands returns commands that help with a failed step: another attempt, going on without it, its errors, a
// rollback to the checkpoint before it, a brief to hand it over.
func failedStepCommands(step *pawl.Step, st *pawl.StepState, good *pawl.Checkpoint) []string {
	id := string(step.ID)
	commands := []string{"pawl retry " + id, "pawl skip " + id}
	if st.Tolerated() {
		commands = commands[:1]
	}
	switch item := firstFailed(st.Items); {
	case st.Attempts == 0 || step.Gate != nil: // it has no output
	case item != "":
		commands = append(commands, "pawl output "+id+" --item "+item+" --stderr")
	case step.Foreach == nil:
		commands = append(commands, "pawl output "+id+" --stderr")
	}
	if good != nil && !st.Started.IsZero() && good.Unsaved() == "" {
		commands = append(commands, "pawl rollback --to "+string(good.ID))
	}
	return append(commands, "pawl brief")
}

// NameRun changes the commands that the report suggests: it names the run in those that would use another run without its name.
func (r *Report) NameRun(onRun func(command string) string) {
	r.onRun = onRun
	if r.Next != "" {
		r.Next = onRun(r.Next)
	}
	for i := range r.Gates {
		r.Gates[i] = r.Gates[i].With(onRun)
	}
	for _, steps := range [][]Step{r.Steps, r.Handlers} {
		for i := range steps {
			steps[i].nameRun(onRun)
		}
	}
}

// nameRun is NameRun for a step.
func (r *Step) nameRun(onRun func(command string) string) {
	r.Offers = layout.Changed(r.Offers, onRun)
	switch {
	case r.then != "":
		r.Note = strings.TrimPrefix(r.note+"; "+runs.Then(r.then, onRun), "; ")
	case r.reviews != nil:
		r.Note = r.reviews(onRun)
	}
}

// firstFailed returns the first failed item of a step as pawl output takes it; "" for none.
func firstFailed(items *pawl.ItemsState) string {
	if items == nil || len(items.Failed) == 0 {
		return ""
	}
	first := items.Failed[slices.Min(slices.Collect(maps.Keys(items.Failed)))]
	if first.Value != "" && pawl.ItemIDOf(first.Value) == first.Item { // not cut
		return shellwords.Word(first.Value)
	}
	return string(first.Item)
}
