package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// statsReport is what `pawl stats --json` prints.
type statsReport struct {
	Run      pawl.RunID  `json:"run"`
	Wall     float64     `json:"wall_seconds"`
	Running  float64     `json:"running_seconds"`
	Lost     float64     `json:"lost_seconds"` // time of attempts without a result
	Attempts int         `json:"attempts"`
	Retries  int         `json:"retries"`
	Deaths   int         `json:"deaths"` // engines that crashed
	Usage    pawl.Usage  `json:"usage"`
	Steps    []stepStats `json:"steps"`
}

// allReport is what `pawl stats --all --json` prints.
type allReport struct {
	Runs []runStats `json:"runs"` // newest first
	Sum  totals     `json:"sum"`
}

type runStats struct {
	Run    pawl.RunID     `json:"run"`
	Status pawl.RunStatus `json:"status"`
	Done   int            `json:"steps_done"`
	totals
}

type totals struct {
	Sessions int        `json:"sessions"` // engines and agent sessions
	Running  float64    `json:"running_seconds"`
	Lost     float64    `json:"lost_seconds"`
	Attempts int        `json:"attempts"`
	Retries  int        `json:"retries"`
	Deaths   int        `json:"deaths"`
	Usage    pawl.Usage `json:"usage"`
}

func (t *totals) add(o totals) {
	t.Sessions += o.Sessions
	t.Running += o.Running
	t.Lost += o.Lost
	t.Attempts += o.Attempts
	t.Retries += o.Retries
	t.Deaths += o.Deaths
	t.Usage = t.Usage.Add(o.Usage)
}

type stepStats struct {
	ID       pawl.StepID `json:"id"`
	Estimate float64     `json:"estimate_seconds"`
	Actual   float64     `json:"actual_seconds"`
	Attempts int         `json:"attempts"`
	Items    int         `json:"items,omitempty"`
	Lost     float64     `json:"lost_seconds,omitempty"`
	Usage    pawl.Usage  `json:"usage,omitzero"`
}

func (a *app) statsCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "stats [RUN]",
		Short: "Show time, retries and cost of a run, and time lost to crashes",
		Args:  atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return usageError("", "--all cannot be combined with RUN")
			}
			if all {
				return a.allStats(c.Context())
			}
			return a.stats(c.Context(), optional(args, 0))
		},
	}
	c.Flags().BoolVar(&all, "all", false, "show all runs of this project, one per line, with totals")
	return a.jsonFlag(c)
}

func (a *app) stats(ctx context.Context, name string) error {
	p, r, err := a.loadRun(ctx, name)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	report := statsOf(p, r)
	if a.json {
		return a.printJSON(report)
	}
	return a.printStats(report)
}

func statsOf(p *project.Project, r *runs.Run) statsReport {
	s := r.State
	report := statsReport{Run: s.Run, Wall: s.Updated.Sub(s.Created).Seconds(), Running: s.Spent.Seconds, Deaths: reportOf(p, r).Deaths, Usage: s.Spent.Usage, Steps: []stepStats{}}
	for _, step := range r.Plan.Steps() {
		st := s.Steps[step.ID]
		if st == nil || st.Attempts == 0 {
			continue
		}
		x := stepStats{ID: step.ID, Estimate: step.Estimate.Seconds(), Actual: st.Seconds, Attempts: st.Attempts, Lost: st.Lost, Usage: st.Usage}
		work := 1
		if st.Items != nil {
			x.Items, work = st.Items.Total, st.Items.Count
		}
		report.Attempts += st.Attempts
		report.Retries += max(0, st.Attempts-work)
		report.Lost += st.Lost
		report.Steps = append(report.Steps, x)
	}
	return report
}

func (a *app) printStats(r statsReport) error {
	fmt.Fprintf(a.Out, "%s\nelapsed %s, step time %s (%s lost); attempts: %d, retries: %d, engine crashes: %d",
		r.Run, cmp.Or(layout.Seconds(r.Wall), "0s"), cmp.Or(layout.Seconds(r.Running), "0s"), cmp.Or(layout.Seconds(r.Lost), "0s"), r.Attempts, r.Retries, r.Deaths)
	if r.Usage != (pawl.Usage{}) {
		fmt.Fprintf(a.Out, "; %s", costOf(r.Usage))
	}
	fmt.Fprint(a.Out, "\n\n")
	rows := make([][]string, 0, len(r.Steps))
	for _, s := range r.Steps {
		rows = append(rows, []string{string(s.ID), layout.Seconds(s.Estimate), cmp.Or(layout.Seconds(s.Actual), "0.0s"), fmt.Sprint(s.Attempts), layout.NonZero(s.Items), layout.Seconds(s.Lost)})
	}
	return layout.Table(a.Out, []string{"STEP", "ESTIMATE", "ACTUAL", "ATTEMPTS", "ITEMS", "LOST"}, rows)
}

// allStats prints the statistics of all runs of the project, sessions included.
func (a *app) allStats(ctx context.Context) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	runs, err := runs.List(p)
	if err != nil {
		return err
	}
	report := allReport{Runs: []runStats{}}
	for _, run := range runs {
		one, err := runStatsOf(ctx, p, run)
		if err != nil {
			a.printNotes([]string{fmt.Sprintf("run %s is omitted: %v", run, err)})
			continue
		}
		report.Runs = append(report.Runs, one)
		report.Sum.add(one.totals)
	}
	if a.json {
		return a.printJSON(report)
	}
	return a.printAllStats(report)
}

func runStatsOf(ctx context.Context, p *project.Project, run pawl.RunID) (runStats, error) {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return runStats{}, err
	}
	defer r.Log.Close()
	one := statsOf(p, r)
	done := 0
	for _, st := range r.State.Steps {
		if st.Status == pawl.Done {
			done++
		}
	}
	return runStats{run, reportOf(p, r).Status, done, totals{r.State.Engines + r.State.SessionCount(), one.Running, one.Lost, one.Attempts, one.Retries, one.Deaths, one.Usage}}, nil
}

func (a *app) printAllStats(r allReport) error {
	row := func(name, status, done string, t totals) []string {
		return []string{name, status, done, layout.NonZero(t.Sessions), cmp.Or(layout.Seconds(t.Running), "0s"), layout.Seconds(t.Lost), layout.NonZero(t.Attempts), layout.NonZero(t.Retries), layout.NonZero(t.Deaths), costOf(t.Usage)}
	}
	rows := [][]string{}
	for _, one := range r.Runs {
		rows = append(rows, row(string(one.Run), string(one.Status), layout.NonZero(one.Done), one.totals))
	}
	rows = append(rows, row(layout.Count(len(r.Runs), "run"), "", "", r.Sum))
	return layout.Table(a.Out, []string{"RUN", "STATUS", "STEPS DONE", "SESSIONS", "STEP TIME", "LOST", "ATTEMPTS", "RETRIES", "CRASHES", "COST"}, rows)
}

func costOf(u pawl.Usage) string {
	if u == (pawl.Usage{}) {
		return ""
	}
	return fmt.Sprintf("$%.2f, %d tokens", u.USD, u.Tokens)
}
