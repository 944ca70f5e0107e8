// Package statusview collects and prints the status of a run.
package statusview

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
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
	Gates    []layout.GateReport `json:"gates"`
	Blockers []pawl.Blocker      `json:"blockers"`
	Usage    pawl.Usage          `json:"usage"`
	Seconds  float64             `json:"running_seconds"`
	Misfits  int                 `json:"misfits,omitempty"`
	Full     *disk.Space         `json:"disk_full,omitempty"` // the disk that holds .pawl, if it is full

	onRun    func(command string) string    // names the run in a command that needs it
	answered string                         // the answer from which a resume continues
	Sessions []Session                      `json:"sessions"`
	Doubts   []sessions.ReconciledOperation `json:"in_doubt"` // tool calls of agents without a recorded outcome
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
	Status    pawl.StepStatus `json:"status"`
	Why       string          `json:"why,omitempty"`
	Attempts  int             `json:"attempts"`
	Items     Items           `json:"items"`
	Live      []Live          `json:"live,omitempty"`
	Progress  *pawl.Progress  `json:"progress,omitempty"`
	Summary   string          `json:"summary,omitempty"`
	Adopted   string          `json:"adopted,omitempty"`
	Unsaved   string          `json:"unsaved,omitempty"` // why the step has no snapshot
	Seconds   float64         `json:"seconds"`
	Offers    []string        `json:"offers,omitempty"` // commands that help with a failed step
	StartedAt *time.Time      `json:"started_at"`
	EndedAt   *time.Time      `json:"ended_at"`

	review   string // the commands that give the missing reviews
	answered string // the answer to the step's gate, from which a resume continues
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
}

// Of returns the status of a run. Its steps name commands without the run; see NameRun.
func Of(p *project.Project, r *runs.Run) Report {
	s := r.State
	holder, alive := p.EngineHolder()
	alive = alive && holder.Run == s.Run
	report := Report{
		Run: s.Run, Name: s.Name, Goal: s.Goal, Kind: s.Kind, Status: s.StatusNow(alive), Why: s.Why, Mode: s.Mode,
		Position: s.Position(r.Plan), Percent: s.Percent(r.Plan), Created: s.Created, Updated: s.Updated, Epoch: s.Epoch,
		Deaths: s.Deaths, Gates: []layout.GateReport{}, Blockers: []pawl.Blocker{}, Steps: []Step{},
		Usage: s.Spent.Usage, Seconds: s.Spent.Seconds, Misfits: s.RejectedCount,
	}
	if space, err := disk.SpaceOf(p.Home()); err == nil && space.Full() {
		report.Full = &space
	}
	if alive {
		report.Engine = &Holder{PID: holder.PID, Since: holder.Since}
	} else if s.Engine != nil {
		report.Deaths++ // the last engine crashed and recorded no end
	}
	for i := range r.Plan.Phases {
		for j := range r.Plan.Phases[i].Steps {
			report.Steps = append(report.Steps, stepOf(&r.Plan.Phases[i], &r.Plan.Phases[i].Steps[j], s))
		}
	}
	if len(r.Plan.Phases) == 0 {
		report.Steps = append(report.Steps, stepsWithoutPlan(s)...)
	}
	for i := range report.Steps {
		report.Steps[i].probe(p, s)
		if s.Engine != nil { // it crashed, or uses the answer right now
			report.Steps[i].answered = ""
		}
	}
	if g := s.AnsweredLast(); g != nil && s.Engine == nil {
		report.answered = g.AnswerText()
	}
	for _, g := range s.OpenGates() {
		report.Gates = append(report.Gates, layout.GateReportOf(g))
	}
	report.Blockers = append(report.Blockers, s.OpenBlockers()...)
	return report
}

// stepsWithoutPlan returns the steps of a run without a plan, in the order in which they started.
func stepsWithoutPlan(s *pawl.State) []Step {
	var reports []Step
	for id := range s.Steps {
		reports = append(reports, stepOf(&pawl.Phase{}, &pawl.Step{ID: id}, s))
	}
	slices.SortFunc(reports, func(a, b Step) int {
		return cmp.Or(s.Steps[a.ID].Started.Compare(s.Steps[b.ID].Started), strings.Compare(string(a.ID), string(b.ID)))
	})
	return reports
}

func stepOf(phase *pawl.Phase, step *pawl.Step, s *pawl.State) Step {
	report := Step{ID: step.ID, Name: step.Name, Phase: phase.Name, Status: pawl.Pending}
	st := s.Steps[step.ID]
	if st == nil {
		return report
	}
	report.Status, report.Why, report.Attempts, report.Progress = st.Status, st.Why, st.Attempts, st.Progress
	report.Summary, report.Adopted, report.Unsaved, report.Seconds = st.Summary, st.Adopted, st.Unsaved, st.Seconds
	if g := s.AnsweredGate(step.ID); g != nil && report.Why == "" {
		report.answered = g.AnswerText() + "; pawl resume continues"
	}
	if report.Why == "" && st.Retries.Last != nil && !st.Finished() {
		report.Why = st.Retries.Last.Why
	}
	if st.Items != nil {
		report.Items = Items{Total: st.Items.Total, Done: st.Items.Count, Failed: len(st.Items.Failed)}
	}
	for _, l := range st.Live() {
		report.Live = append(report.Live, Live{Item: l.Item, Attempt: l.Attempt, Started: l.Started})
	}
	if st.Status == pawl.AwaitsReview {
		report.review = strings.Join(layout.ReviewCommands(step.ID, st), "; ")
	}
	if st.Status == pawl.FailedForGood {
		report.Offers = failedStepCommands(step, st, s.LastGood)
	}
	report.StartedAt, report.EndedAt = layout.TimeOrNil(st.Started), layout.TimeOrNil(st.Ended)
	return report
}

// probe marks the attempts of a step whose supervisor has crashed.
func (r *Step) probe(p *project.Project, s *pawl.State) {
	for i, live := range s.Steps[r.ID].Live() {
		status, err := supervise.Probe(p.AttemptDir(live.AttemptRef, s.Run))
		r.Live[i].Lost = err == nil && status.State == supervise.Lost
	}
}

// statusWord returns the status of a step for the table. It is unknown if the supervisors of all its attempts crashed.
func (r *Step) statusWord() string {
	if len(r.Live) > 0 && !slices.ContainsFunc(r.Live, func(l Live) bool { return !l.Lost }) {
		return "unknown"
	}
	return string(r.Status)
}

// failedStepCommands returns commands that help with a failed step: another attempt, going on without it, its errors, a
// rollback to the checkpoint before it, a brief to hand it over.
func failedStepCommands(step *pawl.Step, st *pawl.StepState, good *pawl.Checkpoint) []string {
	id := string(step.ID)
	commands := []string{"pawl retry " + id, "pawl skip " + id}
	switch item := firstFailed(st.Items); {
	case st.Attempts == 0 || step.Gate != nil: // it has no output
	case item != "":
		commands = append(commands, "pawl output "+id+" --item "+item+" --stderr")
	case step.Foreach == nil:
		commands = append(commands, "pawl output "+id+" --stderr")
	}
	if good != nil && good.Time.Before(st.Started) && good.Unsaved() == "" {
		commands = append(commands, "pawl rollback --to "+string(good.ID))
	}
	return append(commands, "pawl brief")
}

// NameRun names the run in the commands that would use another run without its name.
func (r *Report) NameRun(onRun func(command string) string) {
	r.onRun = onRun
	for i := range r.Gates {
		r.Gates[i] = r.Gates[i].With(onRun)
	}
	for _, s := range r.Steps {
		for i := range s.Offers {
			s.Offers[i] = onRun(s.Offers[i])
		}
	}
}

// firstFailed returns the first failed item of a step as pawl output takes it; "" for none.
func firstFailed(items *pawl.ItemsState) string {
	if items == nil || len(items.Failed) == 0 {
		return ""
	}
	first := items.Failed[slices.Min(slices.Collect(maps.Keys(items.Failed)))]
	return string(first.Item)
}
