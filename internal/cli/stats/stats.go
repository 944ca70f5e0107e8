// Package stats computes and prints the statistics of runs: time, retries, crashes and cost.
package stats

import (
	"cmp"
	"fmt"
	"io"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/statusview"
	"pawl/internal/runs"
)

// Report is what `pawl stats --json` prints.
type Report struct {
	Run      pawl.RunID `json:"run"`
	Wall     float64    `json:"wall_seconds"`
	Running  float64    `json:"running_seconds"`
	Lost     float64    `json:"lost_seconds"` // time of attempts without a result
	Attempts int        `json:"attempts"`
	Retries  int        `json:"retries"`
	Deaths   int        `json:"deaths"` // engines that crashed
	Usage    pawl.Usage `json:"usage"`
	Steps    []Step     `json:"steps"`
}

// All is what `pawl stats --all --json` prints.
type All struct {
	Runs []Run  `json:"runs"` // newest first
	Sum  Totals `json:"sum"`
}

// Run is a line of All.
type Run struct {
	Run    pawl.RunID     `json:"run"`
	Status pawl.RunStatus `json:"status"`
	Done   int            `json:"steps_done"`
	Totals

	Unverified bool `json:"unverified,omitempty"` // it was made elsewhere
}

// Totals are the numbers of one run, or of all.
type Totals struct {
	Sessions int        `json:"sessions"` // engines and agent sessions
	Running  float64    `json:"running_seconds"`
	Lost     float64    `json:"lost_seconds"`
	Attempts int        `json:"attempts"`
	Retries  int        `json:"retries"`
	Deaths   int        `json:"deaths"`
	Usage    pawl.Usage `json:"usage"`
}

func (t *Totals) add(o Totals) {
	t.Sessions += o.Sessions
	t.Running += o.Running
	t.Lost += o.Lost
	t.Attempts += o.Attempts
	t.Retries += o.Retries
	t.Deaths += o.Deaths
	t.Usage = t.Usage.Add(o.Usage)
}

// Step is a line of Report.
type Step struct {
	ID       pawl.StepID `json:"id"`
	Estimate float64     `json:"estimate_seconds"`
	Actual   float64     `json:"actual_seconds"`
	Attempts int         `json:"attempts"`
	Items    int         `json:"items,omitempty"`
	Lost     float64     `json:"lost_seconds,omitempty"`
	Usage    pawl.Usage  `json:"usage,omitzero"`
}

// Of returns the statistics of a run that has had this many crashed engines.
func Of(r *runs.Run, deaths int) Report {
	s := r.State
	report := Report{Run: s.Run, Wall: s.Updated.Sub(s.Created).Seconds(), Running: s.Spent.Seconds, Deaths: deaths, Usage: s.Spent.Usage, Steps: []Step{}}
	for _, step := range r.Plan.Steps() {
		st := s.Steps[step.ID]
		if st == nil || st.Attempts == 0 {
			continue
		}
		x := Step{ID: step.ID, Estimate: step.Estimate.Seconds(), Actual: st.Seconds, Attempts: st.Attempts, Lost: st.Lost, Usage: st.Usage}
		work := 1
		if st.Items != nil {
			x.Items, work = st.Items.Size(), st.Items.Count
		}
		report.Attempts += st.Attempts
		report.Retries += max(0, st.Attempts-work)
		report.Lost += st.Lost
		report.Steps = append(report.Steps, x)
	}
	return report
}

// Print prints the report with a table of the steps.
func (r Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\nelapsed %s, step time %s (%s lost); attempts: %d, retries: %d, engine crashes: %d",
		r.Run, cmp.Or(layout.Seconds(r.Wall), "0s"), cmp.Or(layout.Seconds(r.Running), "0s"), cmp.Or(layout.Seconds(r.Lost), "0s"), r.Attempts, r.Retries, r.Deaths)
	if r.Usage != (pawl.Usage{}) {
		fmt.Fprintf(w, "; %s", costOf(r.Usage))
	}
	fmt.Fprint(w, "\n\n")
	rows := make([][]string, 0, len(r.Steps))
	for _, s := range r.Steps {
		rows = append(rows, []string{string(s.ID), layout.Seconds(s.Estimate), cmp.Or(layout.Seconds(s.Actual), "0.0s"), fmt.Sprint(s.Attempts), layout.NonZero(s.Items), layout.Seconds(s.Lost)})
	}
	return layout.Table(w, []string{"STEP", "ESTIMATE", "ACTUAL", "ATTEMPTS", "ITEMS", "LOST"}, rows)
}

// Add adds a run, with its present status, to the list and to the sum.
func (all *All) Add(r *runs.Run, now statusview.Report) {
	one := Of(r, now.Deaths)
	done := 0
	for _, st := range r.State.Steps {
		if st.Status == pawl.Done {
			done++
		}
	}
	sum := Totals{r.State.Engines + r.State.SessionCount(), one.Running, one.Lost, one.Attempts, one.Retries, one.Deaths, one.Usage}
	all.Runs = append(all.Runs, Run{r.State.Run, now.Status, done, sum, now.Unverified})
	all.Sum.add(sum)
}

// Print prints a table with a line per run, and the sum.
func (r All) Print(w io.Writer) error {
	row := func(name, status, done string, t Totals) []string {
		return []string{name, status, done, layout.NonZero(t.Sessions), cmp.Or(layout.Seconds(t.Running), "0s"), layout.Seconds(t.Lost), layout.NonZero(t.Attempts), layout.NonZero(t.Retries), layout.NonZero(t.Deaths), costOf(t.Usage)}
	}
	rows := [][]string{}
	for _, one := range r.Runs {
		status := string(one.Status)
		if one.Unverified {
			status += " (unverified)"
		}
		rows = append(rows, row(string(one.Run), status, layout.NonZero(one.Done), one.Totals))
	}
	rows = append(rows, row(layout.Count(len(r.Runs), "run"), "", "", r.Sum))
	return layout.Table(w, []string{"RUN", "STATUS", "STEPS DONE", "SESSIONS", "STEP TIME", "LOST", "ATTEMPTS", "RETRIES", "CRASHES", "COST"}, rows)
}

func costOf(u pawl.Usage) string {
	if u == (pawl.Usage{}) {
		return ""
	}
	return fmt.Sprintf("$%.2f, %d tokens", u.USD, u.Tokens)
}
