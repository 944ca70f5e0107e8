package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
	"pawl/internal/supervise"
)

// statusReport is what `pawl status --json` prints.
type statusReport struct {
	Run      pawl.RunID     `json:"run"`
	Name     string         `json:"name"`
	Goal     string         `json:"goal,omitempty"`
	Kind     pawl.RunKind   `json:"kind"`
	Status   pawl.RunStatus `json:"status"`
	Why      string         `json:"why,omitempty"`
	Mode     pawl.Mode      `json:"mode"`
	Position pawl.Position  `json:"position"`
	Percent  int            `json:"progress_percent"`
	Created  time.Time      `json:"created_at"`
	Updated  time.Time      `json:"updated_at"`
	Epoch    pawl.Epoch     `json:"epoch"`
	Deaths   int            `json:"deaths"`
	Engine   *holderReport  `json:"engine,omitempty"`
	Steps    []stepReport   `json:"steps"`
	Gates    []gateReport   `json:"gates"`
	Blockers []pawl.Blocker `json:"blockers"`
	Usage    pawl.Usage     `json:"usage"`
	Seconds  float64        `json:"running_seconds"`
	Misfits  int            `json:"misfits,omitempty"`

	Sessions []sessionReport              `json:"sessions"`
	Doubts   []sessions.DoubtfulOperation `json:"in_doubt"` // tool calls of agents
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
	Unsaved   string          `json:"unsaved,omitempty"` // why there is no snapshot of the files as the step left them
	Seconds   float64         `json:"seconds"`
	Offers    []string        `json:"offers,omitempty"` // commands: what can be done about a step that failed
	StartedAt *time.Time      `json:"started_at"`
	EndedAt   *time.Time      `json:"ended_at"`
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
	Lost    bool        `json:"lost,omitempty"` // its supervisor died, and it is in doubt what became of it
}

func (a *app) statusCommand() *cobra.Command {
	return a.jsonFlag(a.reading("status [RUN]", "Say where a run stands", func(ctx context.Context, p *project.Project, r *runs.Run) error {
		report := reportOf(p, r)
		report.Sessions, report.Doubts = sessionsOf(r.State), doubtsOf(ctx, p, r.State)
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

// reading is a command that opens a run, by default the current one, and shows something of it.
func (a *app) reading(use, short string, show func(context.Context, *project.Project, *runs.Run) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.look(c.Context(), optional(args, 0))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			return show(c.Context(), p, r)
		},
	}
}

// refreshViews has the views say that the engine is dead, which it could not do itself. Where that cannot be written,
// this command has said it all the same.
func (a *app) refreshViews(p *project.Project, r *runs.Run) {
	if err := runs.WriteViews(p, r); err != nil {
		fmt.Fprintf(a.Err, "pawl: note: views: %v\n", err)
	}
}

// look opens a run for reading.
func (a *app) look(ctx context.Context, name string) (*project.Project, *runs.Run, error) {
	p, err := a.project()
	if err != nil {
		return nil, nil, err
	}
	r, err := a.open(ctx, p, name)
	return p, r, err
}

func reportOf(p *project.Project, r *runs.Run) statusReport {
	s := r.State
	holder, alive := p.EngineHolder()
	alive = alive && holder.Run == s.Run
	report := statusReport{
		Run: s.Run, Name: s.Name, Goal: s.Goal, Kind: s.Kind, Status: s.StatusNow(alive), Why: s.Why, Mode: s.Mode,
		Position: s.Position(r.Plan), Percent: s.Percent(r.Plan), Created: s.Created, Updated: s.Updated, Epoch: s.Epoch,
		Deaths: s.Deaths, Gates: []gateReport{}, Blockers: []pawl.Blocker{}, Steps: []stepReport{},
		Usage: s.Spent.Usage, Seconds: s.Spent.Seconds, Misfits: s.RejectedCount,
	}
	if alive {
		report.Engine = &holderReport{PID: holder.PID, Since: holder.Since}
	} else if s.Engine != nil {
		report.Deaths++ // the last one is known to be dead only from here on
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
	}
	for _, g := range s.OpenGates() {
		report.Gates = append(report.Gates, gateOf(g))
	}
	report.Blockers = append(report.Blockers, s.OpenBlockers()...)
	return report
}

// stepsWithoutPlan returns the steps that a run without a plan has had so far, in the order in which they began.
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
		report.Offers = offers(step.ID, st, s.LastGood)
	}
	report.StartedAt, report.EndedAt = pointer(st.Started), pointer(st.Ended)
	return report
}

// probe finds out which of a step's attempts nobody supervises any more.
func (r *stepReport) probe(p *project.Project, s *pawl.State) {
	for i, live := range s.Steps[r.ID].Live() {
		status, err := supervise.Probe(p.AttemptDir(live.AttemptRef, s.Run))
		r.Live[i].Lost = err == nil && status.State == supervise.Lost
	}
}

// says is the word for people for where a step stands.
func (r *stepReport) says() string {
	if len(r.Live) > 0 && !slices.ContainsFunc(r.Live, func(l liveReport) bool { return !l.Lost }) {
		return "in doubt"
	}
	return string(r.Status)
}

// offers says what can be done about a step that failed: another attempt, which is told why; undoing what was done since
// the checkpoint before it; handing it over, to a person or another agent.
func offers(id pawl.StepID, st *pawl.StepState, good *pawl.Checkpoint) []string {
	commands := []string{"pawl retry " + string(id)}
	if good != nil && good.Time.Before(st.Started) && good.Unsaved() == "" {
		commands = append(commands, "pawl rollback --to "+string(good.ID))
	}
	return append(commands, "pawl brief")
}

func pointer(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func printPosition(w io.Writer, pos pawl.Position) {
	if pos.Complete || pos.StepTotal == 0 {
		return
	}
	fmt.Fprintf(w, "position  phase %d of %d (%s), step %d of %d (%s)", pos.Phase, pos.PhaseTotal, pos.PhaseName, pos.Step, pos.StepTotal, pos.StepID)
	if pos.WaveTotal > 0 {
		fmt.Fprintf(w, ", wave %d of %d", pos.Wave, pos.WaveTotal)
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
	fmt.Fprintf(w, "activity  %s, running time %s\n", r.Updated.UTC().Format("2006-01-02 15:04:05 UTC"), cmp.Or(seconds(r.Seconds), "0s"))
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
		printGate(w, g)
	}
	for _, b := range r.Blockers {
		fmt.Fprintf(w, "\nblocker %d  %s\n  pawl unblock %d\n", b.ID, b.Text, b.ID)
	}
	printSessions(w, r.Sessions)
	printDoubts(w, r.Doubts)
	switch {
	case r.Status != pawl.StatusInterrupted && r.Status != pawl.StatusPaused:
	case r.Kind == pawl.DurableRun:
		fmt.Fprintln(w, "\nThe program that made this run goes on with it when it is started again.")
	default:
		fmt.Fprintf(w, "\npawl resume %s\n", r.Run)
	}
	return nil
}

func statusText(r statusReport) string {
	text := string(r.Status)
	if r.Engine != nil {
		text += fmt.Sprintf(" (engine %d)", r.Engine.PID)
	}
	if r.Why != "" {
		text += ": " + oneLine(r.Why)
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
		note := cmp.Or(s.Why, s.Summary)
		if s.Status == pawl.Running && s.Progress != nil {
			note = s.Progress.Text
		}
		if s.Unsaved != "" {
			note = noSnapshot(note, s.Unsaved)
		}
		rows = append(rows, []string{s.Phase, string(s.ID), s.says(), items, number(s.Attempts), seconds(s.Seconds), oneLine(note)})
	}
	return table(w, []string{"PHASE", "STEP", "STATUS", "ITEMS", "TRIES", "TIME", "NOTE"}, rows)
}

// noSnapshot adds to what is said of a step that its files were not kept, and why.
func noSnapshot(note, why string) string {
	why, _, _ = strings.Cut(why, "\n")
	return strings.TrimPrefix(note+"; snapshot: none ("+why+")", "; ")
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// seconds prints a running time for people: 0.3s, 42s, 3m10s.
func seconds(s float64) string {
	if s == 0 {
		return ""
	}
	d := time.Duration(s * float64(time.Second))
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// table prints rows in columns as wide as their content; the last column ends each line.
func table(w io.Writer, head []string, rows [][]string) error {
	widths := make([]int, len(head))
	all := append([][]string{head}, rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range all {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-len([]rune(cell))+2))
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// runReport is one line of `pawl runs`.
type runReport struct {
	Run     pawl.RunID     `json:"run"`
	Project string         `json:"project"`
	Status  pawl.RunStatus `json:"status"`
	Percent int            `json:"progress_percent"`
	Created time.Time      `json:"created_at"`
	Updated time.Time      `json:"updated_at"`
	Error   string         `json:"error,omitempty"`

	Archived bool `json:"archived,omitempty"`
}

func (a *app) runsCommand() *cobra.Command {
	var all, archived bool
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the runs of this project, newest first",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.runs(c.Context(), all, archived) },
	}
	c.Flags().BoolVar(&all, "all", false, "of every project that this user has")
	c.Flags().BoolVar(&archived, "archived", false, "those that were set aside")
	return a.jsonFlag(c)
}

func (a *app) runs(ctx context.Context, all, archived bool) error {
	projects, err := a.projects(all)
	if err != nil {
		return err
	}
	reports := []runReport{}
	for _, p := range projects {
		found, err := a.runReports(ctx, p, archived)
		if err != nil {
			return err
		}
		reports = append(reports, found...)
	}
	if a.json {
		return a.printJSON(reports)
	}
	rows := make([][]string, 0, len(reports))
	for _, r := range reports {
		rows = append(rows, []string{string(r.Run), string(r.Status), fmt.Sprintf("%d%%", r.Percent), stamp(r.Updated), cmp.Or(r.Error, r.Project)})
	}
	return table(a.Out, []string{"RUN", "STATUS", "DONE", "LAST ACTIVITY (UTC)", "PROJECT"}, rows)
}

func (a *app) runReports(ctx context.Context, p *project.Project, archived bool) ([]runReport, error) {
	if archived {
		return a.archivedReports(ctx, p)
	}
	runs, err := runs.Runs(p)
	if err != nil {
		return nil, err
	}
	var reports []runReport
	for _, run := range runs {
		reports = append(reports, a.runReport(ctx, p, run))
	}
	return reports, nil
}

// stamp prints a time in UTC, nothing where there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}

// projects returns this project, or all that the user's registry knows and that are still there.
func (a *app) projects(all bool) ([]*project.Project, error) {
	if !all {
		p, err := a.project()
		return []*project.Project{p}, err
	}
	entries, err := project.List()
	if err != nil {
		fmt.Fprintf(a.Err, "pawl: note: %v\n", err)
	}
	var projects []*project.Project
	for _, e := range entries {
		if !e.Live() {
			continue
		}
		p, err := project.Find(e.Path)
		if err != nil {
			fmt.Fprintf(a.Err, "pawl: note: %s: %v\n", e.Path, err)
			continue
		}
		projects = append(projects, p)
	}
	return projects, nil
}

// runReport says where one run stands. A damaged one is listed as such.
func (a *app) runReport(ctx context.Context, p *project.Project, run pawl.RunID) runReport {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return runReport{Run: run, Project: p.Root, Status: "unreadable", Error: err.Error()}
	}
	defer r.Log.Close()
	report := reportOf(p, r)
	return runReport{Run: run, Project: p.Root, Status: report.Status, Percent: report.Percent, Created: report.Created, Updated: report.Updated}
}
