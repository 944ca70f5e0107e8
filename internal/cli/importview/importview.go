// Package importview prints what an import of another system's files would create.
package importview

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/interop/format"
)

// Report is what `pawl import --dry-run --json` prints.
type Report struct {
	format.Project
	Pending  []pawl.StepID  `json:"pending"`
	Findings []pawl.Finding `json:"findings"`
	Others   []Other        `json:"others,omitempty"` // other runs in the files
}

// Other is a run of the same system in the same project.
type Other struct {
	Place    string         `json:"place"` // PATH to import it
	Name     string         `json:"name"`
	Status   pawl.RunStatus `json:"status"`
	Percent  int            `json:"progress_percent"`
	Position pawl.Position  `json:"position"`
	Next     string         `json:"next,omitempty"`
}

// Of returns the report of a dry run. others are the places of the other runs, which read reads.
func Of(reading format.Project, findings []pawl.Finding, others []string, read func(place string) (format.Project, []pawl.Finding)) Report {
	report := Report{Project: reading, Pending: Pending(reading), Findings: append([]pawl.Finding{}, findings...)}
	for _, place := range others {
		r, _ := read(place)
		report.Others = append(report.Others, Other{Place: place, Name: r.Name, Status: r.Status, Percent: r.Percent, Position: r.Position, Next: r.Next})
	}
	return report
}

// Pending returns the unfinished steps.
func Pending(r format.Project) []pawl.StepID {
	ids := []pawl.StepID{}
	for _, phase := range r.Phases {
		for _, s := range phase.Steps {
			if s.Status != pawl.Done && s.Status != pawl.Skipped {
				ids = append(ids, s.ID)
			}
		}
	}
	return ids
}

// Print prints the report. problems prints the findings that are not ok.
func (r Report) Print(w io.Writer, problems func([]pawl.Finding)) error {
	fmt.Fprintf(w, "%s  %s (%s)  %d%%, %d of %s done\n", cmp.Or(r.Name, r.System), r.Status, cmp.Or(r.Native, "no native status"), r.Percent,
		r.Count()-len(Pending(r.Project)), layout.Count(r.Count(), "step"))
	for _, line := range [][2]string{{"goal", r.Goal}, {"resume", r.Resume}, {"next", r.Next}} {
		if line[1] != "" {
			fmt.Fprintf(w, "%-9s %s\n", line[0], layout.OneLine(line[1]))
		}
	}
	if !r.Updated.IsZero() {
		fmt.Fprintf(w, "activity  %s\n", layout.UTCWithZone(r.Updated))
	}
	var rows [][]string
	for _, phase := range r.Phases {
		for _, s := range phase.Steps {
			rows = append(rows, []string{phase.Name, string(s.ID), string(s.Status), layout.NonZero(len(s.Items)), layout.OneLine(nameOf(s))})
		}
	}
	fmt.Fprintln(w)
	if err := layout.Table(w, []string{"PHASE", "STEP", "STATUS", "ITEMS", "NAME"}, rows); err != nil {
		return err
	}
	if err := printCheckpoints(w, r.Checkpoints); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s, %s, %s, %s\n", layout.Count(len(r.Gates), "gate"), layout.Count(len(r.Memories), "note"), layout.Count(len(r.Decisions), "decision"), layout.Count(len(r.Blockers), "blocker"))
	problems(r.Findings)
	return printOthers(w, r.Others)
}

// nameOf returns the name of a step; without one, the first line of its goal. An unfinished step's last progress follows.
func nameOf(s format.Step) string {
	first, _, _ := strings.Cut(s.Goal, "\n")
	name := cmp.Or(s.Name, first)
	if s.Partial != nil && s.Partial.Last != "" {
		name += " (last progress: " + s.Partial.Last + ")"
	}
	return name
}

// maxListedCheckpoints limits the list of another system's checkpoints.
const maxListedCheckpoints = 20

// printCheckpoints lists the newest checkpoints of another system, oldest first.
func printCheckpoints(w io.Writer, saved []format.Checkpoint) error {
	if len(saved) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	if more := len(saved) - maxListedCheckpoints; more > 0 {
		fmt.Fprintf(w, "%s before these are not listed\n", layout.Count(more, "checkpoint"))
		saved = saved[more:]
	}
	var rows [][]string
	for _, c := range saved {
		at, valid := "", "valid"
		if !c.Time.IsZero() {
			at = layout.UTC(c.Time)
		}
		if !c.Valid {
			valid = "invalid"
		}
		rows = append(rows, []string{layout.OneLine(c.ID), string(c.Step), cmp.Or(c.Native, string(c.Kind)), at, valid})
	}
	return layout.Table(w, []string{"CHECKPOINT", "STEP", "KIND", "TIME", "FOUND"}, rows)
}

func printOthers(w io.Writer, others []Other) error {
	if len(others) == 0 {
		return nil
	}
	var rows [][]string
	for _, o := range others {
		rows = append(rows, []string{o.Place, o.Name, string(o.Status), fmt.Sprintf("%d%%", o.Percent), layout.OneLine(o.Next)})
	}
	fmt.Fprintln(w, "\nOther runs (import one by its PATH):")
	return layout.Table(w, []string{"PATH", "NAME", "STATUS", "DONE", "NEXT"}, rows)
}

// PrintPrompt prints the system's own continuation prompt.
func (r Report) PrintPrompt(w io.Writer) error {
	if r.Prompt == "" {
		return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("%s has no continuation prompt for this state", r.System)}
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(r.Prompt, "\n"))
	return err
}
