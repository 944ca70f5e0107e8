package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/schema"
)

func attemptLives(dir string) bool { return engine.AttemptLives(dir) }

func printLine(w *bufio.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func (a *app) verifyCommand() *cobra.Command {
	var repair bool
	var as asOptions
	c := &cobra.Command{
		Use:   "verify [--as SYSTEM [PATH]]",
		Short: "Check journals, plans, outputs and snapshots; list every fault, change nothing",
		Long: "Check journals, plans, outputs and snapshots; list every fault, change nothing\n\nWith --repair, first mend what can be\n" +
			"mended of the snapshots: make their index anew and set aside what is damaged, naming the checkpoints that it concerns.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if as.system == "" && len(args) > 0 {
				return usageError("pawl verify --as SYSTEM "+args[0], "a folder is named with --as only")
			}
			if as != (asOptions{}) {
				return a.verifyAs(c.Context(), as, optional(args, 0))
			}
			findings, err := a.verify(c.Context(), repair)
			if err != nil {
				return err
			}
			return a.printFindings(findings, "damage found")
		},
	}
	c.Flags().BoolVar(&repair, "repair", false, "mend the snapshots first")
	c.Flags().StringVar(&as.system, "as", "", "check another system's files by its own rules: "+a.systems())
	c.Flags().StringVar(&as.criterion, "criterion", "", "with --step: look only at this one of them")
	c.Flags().StringVar(&as.step, "step", "", "with --as: look only whether this step meets the criteria of its own")
	return a.jsonFlag(c)
}

func (a *app) verify(ctx context.Context, repair bool) ([]pawl.Finding, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	var cfg engine.Snapshots // what is to be kept plays no part in what is there
	var findings []pawl.Finding
	if repair {
		if findings, err = engine.RepairSnapshots(ctx, p, cfg); err != nil {
			return nil, err
		}
	}
	runs, err := engine.Verify(ctx, p)
	if err != nil {
		return nil, err
	}
	kept, err := engine.VerifySnapshots(ctx, p, cfg)
	return slices.Concat(findings, runs, kept), err
}

// printFindings prints findings, and fails where one is bad.
func (a *app) printFindings(findings []pawl.Finding, failure string) error {
	if a.json {
		if findings == nil {
			findings = []pawl.Finding{}
		}
		if err := a.printJSON(findings); err != nil {
			return err
		}
	}
	bad, warn := 0, 0
	for _, f := range findings {
		switch f.Level {
		case pawl.Bad:
			bad++
		case pawl.Warn:
			warn++
		}
		if !a.json {
			a.printFinding(f)
		}
	}
	if !a.json {
		fmt.Fprintf(a.Out, "%d checked, %d warnings, %d faults\n", len(findings), warn, bad)
	}
	if bad > 0 {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s: %d", failure, bad)}
	}
	return nil
}

func (a *app) printFinding(f pawl.Finding) {
	fmt.Fprintf(a.Out, "%-4s  ", f.Level)
	if f.Where != "" {
		fmt.Fprintf(a.Out, "%s: ", f.Where)
	}
	fmt.Fprint(a.Out, f.What)
	if f.Evidence != "" {
		fmt.Fprintf(a.Out, " (%s)", f.Evidence)
	}
	fmt.Fprintln(a.Out)
	if f.Hint != "" {
		fmt.Fprintf(a.Out, "      %s\n", f.Hint)
	}
}

func (a *app) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this system guarantees, and what is missing",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			findings := append(engine.Guarantees(), tools()...)
			p, err := a.project()
			switch {
			case errors.Is(err, pawl.ErrNoProject):
				findings = append(findings, pawl.Finding{Level: pawl.OK, What: "no project here yet", Hint: "pawl init"})
			case err != nil:
				findings = append(findings, pawl.Finding{Level: pawl.Bad, What: err.Error(), Hint: pawl.HintOf(err)})
			default:
				findings = append(findings, a.projectFindings(p)...)
			}
			findings = append(findings, a.agentFindings(p)...)
			return a.printFindings(findings, "something is not in place")
		},
	}
	return a.jsonFlag(c)
}

func tools() []pawl.Finding {
	findings := []pawl.Finding{{Level: pawl.OK, What: "system " + runtime.GOOS + "/" + runtime.GOARCH}}
	for name, need := range map[string]string{"/bin/sh": "steps run in it", "git": "snapshots and evidence use it"} {
		path, err := exec.LookPath(name)
		if err != nil {
			findings = append(findings, pawl.Finding{Level: pawl.Warn, What: name + " is missing: " + need})
			continue
		}
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: name + " is there", Evidence: path})
	}
	slices.SortFunc(findings[1:], func(x, y pawl.Finding) int { return strings.Compare(x.What, y.What) })
	return findings
}

func (a *app) projectFindings(p *project.Project) []pawl.Finding {
	var findings []pawl.Finding
	if _, err := a.engineConfig(p); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Bad, What: err.Error()})
	}
	probe := filepath.Join(p.Home(), ".doctor")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Bad, What: "the project's .pawl cannot be written", Evidence: err.Error()})
	} else if err := os.Remove(probe); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "left behind: " + probe, Evidence: err.Error()})
	} else {
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: "project in " + p.Root + " can be written"})
	}
	if holder, alive := p.EngineHolder(); alive {
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: "an engine works here", Evidence: holder.String()})
	}
	return findings
}

func (a *app) planCommand() *cobra.Command {
	c := &cobra.Command{Use: "plan", Short: "Check a plan, or print its schema"}
	check := &cobra.Command{
		Use:   "check FILE",
		Short: "Say everything that is wrong with a plan",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := readPlanFile(args[0])
			if err != nil {
				return err
			}
			plan, err := pawl.ReadPlan(args[0], data)
			if faults, ok := errors.AsType[*pawl.PlanErrors](err); ok {
				return &pawl.Error{Kind: pawl.KindUsage, Err: faults} // without the hint to do what was just done
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(plan)
			}
			return a.printPlan(plan)
		},
	}
	schema := &cobra.Command{
		Use:   "schema",
		Short: "Print the plan format's JSON Schema, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := schema.Plan()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "%s\n", data)
			return err
		},
	}
	c.AddCommand(a.jsonFlag(check), schema)
	return c
}

// printPlan shows a plan's phases and waves.
func (a *app) printPlan(plan *pawl.Plan) error {
	fmt.Fprintf(a.Out, "plan %s is good: %s in %s\n", plan.Name, count(len(plan.Steps()), "step"), count(len(plan.Phases), "phase"))
	for i, phase := range plan.Phases {
		fmt.Fprintf(a.Out, "phase %d  %s\n", i+1, phase.Name)
		for j, wave := range plan.Waves(i) {
			ids := make([]string, len(wave))
			for k, id := range wave {
				ids[k] = string(id)
			}
			fmt.Fprintf(a.Out, "  wave %d  %s\n", j+1, strings.Join(ids, ", "))
		}
	}
	return nil
}

// statsReport is what `pawl stats --json` prints.
type statsReport struct {
	Run      pawl.RunID  `json:"run"`
	Wall     float64     `json:"wall_seconds"`
	Running  float64     `json:"running_seconds"`
	Lost     float64     `json:"lost_seconds"` // running time of attempts that came to nothing
	Attempts int         `json:"attempts"`
	Retries  int         `json:"retries"`
	Deaths   int         `json:"deaths"` // engines that died
	Usage    pawl.Usage  `json:"usage"`
	Steps    []stepStats `json:"steps"`
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
	const short = "Time against estimate, retries, cost, time lost to deaths"
	return a.jsonFlag(a.reading("stats [RUN]", short, func(_ context.Context, _ *project.Project, r *engine.Run) error {
		report := statsOf(r)
		if a.json {
			return a.printJSON(report)
		}
		return a.printStats(report)
	}))
}

func statsOf(r *engine.Run) statsReport {
	s := r.State
	report := statsReport{Run: s.Run, Wall: s.Updated.Sub(s.Created).Seconds(), Running: s.Spent.Seconds, Deaths: s.Deaths, Usage: s.Spent.Usage, Steps: []stepStats{}}
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
	fmt.Fprintf(a.Out, "%s\nwall time %s, running time %s, of it lost %s; attempts %d, retries %d, engine deaths %d",
		r.Run, seconds(r.Wall), orText(seconds(r.Running), "0s"), orText(seconds(r.Lost), "0s"), r.Attempts, r.Retries, r.Deaths)
	if r.Usage != (pawl.Usage{}) {
		fmt.Fprintf(a.Out, "; $%.2f, %d tokens", r.Usage.USD, r.Usage.Tokens)
	}
	fmt.Fprint(a.Out, "\n\n")
	rows := make([][]string, 0, len(r.Steps))
	for _, s := range r.Steps {
		rows = append(rows, []string{string(s.ID), seconds(s.Estimate), orText(seconds(s.Actual), "0.0s"), fmt.Sprint(s.Attempts), number(s.Items), seconds(s.Lost)})
	}
	return table(a.Out, []string{"STEP", "ESTIMATE", "ACTUAL", "ATTEMPTS", "ITEMS", "LOST"}, rows)
}
