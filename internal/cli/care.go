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
	"pawl/internal/history"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/schema"
)

func attemptLives(dir string) bool { return runs.AttemptAlive(dir) }

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
	c.MarkFlagsMutuallyExclusive("repair", "as")
	c.Flags().StringVar(&as.criterion, "criterion", "", "with --step: look only at this one of them")
	c.Flags().StringVar(&as.step, "step", "", "with --as: look only whether this step meets the criteria of its own")
	return a.jsonFlag(c)
}

func (a *app) verify(ctx context.Context, repair bool) ([]pawl.Finding, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	var findings []pawl.Finding
	if repair {
		if findings, err = history.RepairSnapshots(ctx, p); err != nil {
			return nil, err
		}
	}
	runs, err := resume.Verify(ctx, p)
	if err != nil {
		return nil, err
	}
	kept, err := history.VerifySnapshots(ctx, p)
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
			findings := append(resume.Guarantees(), tools()...)
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
			plan, err := planfile.Read(args[0], data)
			if faults, ok := errors.AsType[*planfile.Errors](err); ok {
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
	fmt.Fprintf(a.Out, "plan %s is valid: %s in %s\n", plan.Name, count(len(plan.Steps()), "step"), count(len(plan.Phases), "phase"))
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
