package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/layout"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
	"pawl/internal/supervise"
)

// statusReport is what `pawl status --json` prints.
type statusReport struct {
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
	Engine   *holderReport       `json:"engine,omitempty"`
	Steps    []stepReport        `json:"steps"`
	Gates    []layout.GateReport `json:"gates"`
	Blockers []pawl.Blocker      `json:"blockers"`
	Usage    pawl.Usage          `json:"usage"`
	Seconds  float64             `json:"running_seconds"`
	Misfits  int                 `json:"misfits,omitempty"`

	onRun    func(command string) string    // names the run in a command that needs it
	answered string                         // the answer from which a resume continues
	Sessions []sessionReport                `json:"sessions"`
	Doubts   []sessions.ReconciledOperation `json:"in_doubt"` // tool calls of agents without a recorded outcome
}

type holderReport struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

type stepReport struct {
	ID        pawl.StepID     `json:"id"`
	Name      string          `json:"name,omitempty"`
	Phase     string          `json:"phase"`
	Status    pawl.StepStatus `json:"status"`
	Why       string          `json:"why,omitempty"`
	Attempts  int             `json:"attempts"`
	Items     itemsReport     `json:"items"`
	Live      []liveReport    `json:"live,omitempty"`
	Progress  *pawl.Progress  `json:"progress,omitempty"`
	Summary   string          `json:"summary,omitempty"`
	Adopted   string          `json:"adopted,omitempty"`
	Unsaved   string          `json:"unsaved,omitempty"` // why the step has no snapshot
	Seconds   float64         `json:"seconds"`
	Offers    []string        `json:"offers,omitempty"` // commands that help with a failed step
	StartedAt *time.Time      `json:"started_at"`
	EndedAt   *time.Time      `json:"ended_at"`

	answered string // the answer to the step's gate, from which a resume continues
}

type itemsReport struct {
	Total  int `json:"total"`
	Done   int `json:"done"`
	Failed int `json:"failed"`
}

type liveReport struct {
	Item    pawl.ItemID `json:"item,omitempty"`
	Attempt int         `json:"attempt"`
	Started time.Time   `json:"started_at"`
	Lost    bool        `json:"lost,omitempty"` // its supervisor crashed; the outcome is unknown
}

func (a *app) statusCommand() *cobra.Command {
	return a.jsonFlag(a.readRunCommand("status [RUN]", "Show the status of a run", func(ctx context.Context, p *project.Project, r *runs.Run) error {
		report := reportOf(p, r)
		report.nameRun(hints.Namer(ctx, p, r.State.Run))
		report.Sessions, report.Doubts = sessionsOf(r.State), toolCallsInDoubt(ctx, p, r.State)
		if report.Status == pawl.StatusInterrupted {
			a.refreshViews(p, r)
		}
		if report.Status == pawl.StatusInterrupted || interop.MirrorFailed(p, r.State) {
			a.refreshMirror(ctx, p, r)
		}
		if a.json {
			return a.printJSON(report)
		}
		return printStatus(a.Out, report)
	}))
}

// readRunCommand builds a command that loads a run, by default the current one, and shows something of it.
func (a *app) readRunCommand(use, short string, show func(context.Context, *project.Project, *runs.Run) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.loadRun(c.Context(), optional(args, 0))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			return hints.For(c.Context(), p, r.State.Run, show(c.Context(), p, r))
		},
	}
}

// refreshViews writes the views of a run whose engine crashed. A failure is only noted, since the command prints the status.
func (a *app) refreshViews(p *project.Project, r *runs.Run) {
	if err := runs.WriteViews(p, r); err != nil {
		fmt.Fprintf(a.Err, "pawl: note: views: %v\n", err)
	}
}

// loadRun loads a run for reading.
func (a *app) loadRun(ctx context.Context, name string) (*project.Project, *runs.Run, error) {
	p, err := a.project()
	if err != nil {
		return nil, nil, err
	}
	r, err := a.loadNamedRun(ctx, p, name)
	return p, r, err
}

func reportOf(p *project.Project, r *runs.Run) statusReport {
	s := r.State
	holder, alive := p.EngineHolder()
	alive = alive && holder.Run == s.Run
	report := statusReport{
		Run: s.Run, Name: s.Name, Goal: s.Goal, Kind: s.Kind, Status: s.StatusNow(alive), Why: s.Why, Mode: s.Mode,
		Position: s.Position(r.Plan), Percent: s.Percent(r.Plan), Created: s.Created, Updated: s.Updated, Epoch: s.Epoch,
		Deaths: s.Deaths, Gates: []layout.GateReport{}, Blockers: []pawl.Blocker{}, Steps: []stepReport{},
		Usage: s.Spent.Usage, Seconds: s.Spent.Seconds, Misfits: s.RejectedCount,
	}
	if alive {
		report.Engine = &holderReport{PID: holder.PID, Since: holder.Since}
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
func stepsWithoutPlan(s *pawl.State) []stepReport {
	var reports []stepReport
	for id := range s.Steps {
		reports = append(reports, stepOf(&pawl.Phase{}, &pawl.Step{ID: id}, s))
	}
	slices.SortFunc(reports, func(a, b stepReport) int {
		return cmp.Or(s.Steps[a.ID].Started.Compare(s.Steps[b.ID].Started), strings.Compare(string(a.ID), string(b.ID)))
	})
	return reports
}

func stepOf(phase *pawl.Phase, step *pawl.Step, s *pawl.State) stepReport {
	report := stepReport{ID: step.ID, Name: step.Name, Phase: phase.Name, Status: pawl.Pending}
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
		report.Items = itemsReport{Total: st.Items.Total, Done: st.Items.Count, Failed: len(st.Items.Failed)}
	}
	for _, l := range st.Live() {
		report.Live = append(report.Live, liveReport{Item: l.Item, Attempt: l.Attempt, Started: l.Started})
	}
	if st.Status == pawl.FailedForGood {
		report.Offers = failedStepCommands(step, st, s.LastGood)
	}
	report.StartedAt, report.EndedAt = layout.TimeOrNil(st.Started), layout.TimeOrNil(st.Ended)
	return report
}

// probe marks the attempts of a step whose supervisor has crashed.
func (r *stepReport) probe(p *project.Project, s *pawl.State) {
	for i, live := range s.Steps[r.ID].Live() {
		status, err := supervise.Probe(p.AttemptDir(live.AttemptRef, s.Run))
		r.Live[i].Lost = err == nil && status.State == supervise.Lost
	}
}

// statusWord returns the status of a step for the table. It is unknown if the supervisors of all its attempts crashed.
func (r *stepReport) statusWord() string {
	if len(r.Live) > 0 && !slices.ContainsFunc(r.Live, func(l liveReport) bool { return !l.Lost }) {
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

// nameRun names the run in the commands that would use another run without its name.
func (r *statusReport) nameRun(onRun func(command string) string) {
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

func printPosition(w io.Writer, pos pawl.Position) {
	if pos.Complete || pos.StepTotal == 0 {
		return
	}
	fmt.Fprintf(w, "position  phase %d of %d (%s), step %d of %d (%s)", pos.Phase, pos.PhaseTotal, pos.PhaseName, pos.Step, pos.StepTotal, pos.StepID)
	if pos.WaveTotal > 0 {
		fmt.Fprintf(w, ", level %d of %d", pos.Wave, pos.WaveTotal)
	}
	if pos.ItemTotal > 0 {
		fmt.Fprintf(w, ", item %d of %d", pos.Item, pos.ItemTotal)
	}
	fmt.Fprintln(w)
}

func printStatus(w io.Writer, r statusReport) error {
	fmt.Fprintf(w, "%s  %s  %d%%\n", r.Run, statusText(r), r.Percent)
	if r.Goal != "" {
		fmt.Fprintf(w, "goal      %s\n", r.Goal)
	}
	printPosition(w, r.Position)
	fmt.Fprintf(w, "activity  %s, %s of step time\n", layout.UTCWithZone(r.Updated), cmp.Or(layout.Seconds(r.Seconds), "0s"))
	if len(r.Steps) > 0 || r.Kind != pawl.SessionRun {
		fmt.Fprintln(w)
		if err := stepTable(w, r.Steps); err != nil {
			return err
		}
	}
	for _, s := range r.Steps {
		if len(s.Offers) > 0 {
			fmt.Fprintf(w, "\nstep %s failed  %s\n  %s\n", s.ID, s.Why, strings.Join(s.Offers, "\n  "))
		}
	}
	for _, g := range r.Gates {
		fmt.Fprintln(w)
		layout.PrintGate(w, g)
	}
	for _, b := range r.Blockers {
		fmt.Fprintf(w, "\nblocker %d  %s\n  %s\n", b.ID, b.Text, r.onRun(fmt.Sprintf("pawl unblock %d", b.ID)))
	}
	printSessions(w, r.Sessions)
	printInDoubt(w, r.Doubts)
	switch {
	case r.Status != pawl.StatusInterrupted && r.Status != pawl.StatusPaused:
	case r.Kind == pawl.DurableRun:
		fmt.Fprintln(w, "\nTo resume this run, start the program that created it.")
	default:
		fmt.Fprintf(w, "\npawl resume %s\n", r.Run)
	}
	return nil
}

func statusText(r statusReport) string {
	text := string(r.Status)
	if r.Engine != nil {
		text += fmt.Sprintf(" (engine pid %d)", r.Engine.PID)
	}
	if r.answered != "" && r.Status == pawl.StatusInterrupted {
		return "ready to resume: " + r.answered
	}
	if r.Why != "" {
		text += ": " + layout.OneLine(r.Why)
	}
	return text
}

func stepTable(w io.Writer, steps []stepReport) error {
	rows := make([][]string, 0, len(steps))
	for _, s := range steps {
		items := ""
		if s.Items.Total > 0 {
			items = fmt.Sprintf("%d/%d", s.Items.Done, s.Items.Total)
			if s.Items.Failed > 0 {
				items += fmt.Sprintf(" (%d failed)", s.Items.Failed)
			}
		}
		note := cmp.Or(s.answered, s.Why, s.Summary)
		if s.Status == pawl.Running && s.Progress != nil {
			note = s.Progress.Text
		}
		if s.Unsaved != "" {
			note = layout.WithoutSnapshot(note, s.Unsaved)
		}
		rows = append(rows, []string{s.Phase, string(s.ID), s.statusWord(), items, layout.NonZero(s.Attempts), layout.Seconds(s.Seconds), layout.OneLine(note)})
	}
	return layout.Table(w, []string{"PHASE", "STEP", "STATUS", "ITEMS", "ATTEMPTS", "TIME", "NOTE"}, rows)
}
