// Package trustview collects and prints what a person sees before trusting a project or adopting a run.
package trustview

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/config"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/trust"
)

// Project is what "pawl trust" shows of a project before it asks.
type Project struct {
	Project  string       `json:"project"` // path
	Trusted  bool         `json:"trusted"`
	Reason   string       `json:"reason,omitempty"`   // why it is not trusted
	Settings []string     `json:"settings,omitempty"` // settings that name a command, a URL or a model
	Runs     []Run        `json:"runs,omitempty"`
	ToAdopt  []pawl.RunID `json:"to_adopt,omitempty"` // runs that need "pawl adopt" too
	Memories int          `json:"memories,omitempty"` // entries of MEMORY.md
	Since    *time.Time   `json:"since,omitempty"`    // of a trusted one
}

// Run is a run in a Project.
type Run struct {
	Run    pawl.RunID     `json:"run"`
	Status pawl.RunStatus `json:"status"`

	Plan   string `json:"plan,omitempty"`   // of an unfinished run: the plan file that "pawl resume" executes
	Mirror string `json:"mirror,omitempty"` // of an unfinished run: the system whose files pawl would write, and their path
}

// RunOf returns a run as "pawl trust" shows it; state is nil if it is unreadable.
func RunOf(id pawl.RunID, status pawl.RunStatus, state *pawl.State) Run {
	r := Run{Run: id, Status: status}
	if state == nil || state.Status == pawl.StatusCompleted {
		return r
	}
	if state.Plan.File != "" {
		r.Plan = cmp.Or(state.Plan.Source, path.Join(project.Folder, "runs", string(id), state.Plan.File))
	}
	if m := state.Mirror; m != nil {
		r.Mirror = strings.TrimSpace(m.System + " " + m.Path)
	}
	return r
}

// ProjectOf collects what pawl would use of a project: its settings, these runs, and its memories. What cannot be read is left out.
func ProjectOf(p *project.Project, made []Run, toAdopt []pawl.RunID) Project {
	r := Project{Project: p.Root, Trusted: p.Trust.Trusted(), Reason: p.Trust.Reason, Settings: config.Withheld(p), Runs: made, ToAdopt: toAdopt}
	if r.Trusted {
		r.Since = &p.Trust.Since
		if len(r.Settings) > 0 {
			r.Reason = "you trust it, but you have not allowed the evaluator in " + ".pawl/config.yaml" + " as it is now"
		}
	}
	memories, _ := p.OwnMemories()
	r.Memories = len(memories)
	return r
}

// Print prints what pawl would use from then on.
func (r Project) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", r.Project, r.Reason)
	fmt.Fprintln(w, "If you trust it, pawl uses from now on:")
	for _, s := range r.Settings {
		fmt.Fprintf(w, "  setting  %s\n", s)
	}
	if r.Trusted { // only the settings are new
		return
	}
	for _, run := range r.Runs {
		from := ""
		if slices.Contains(r.ToAdopt, run.Run) {
			from = ", from elsewhere"
		}
		fmt.Fprintf(w, "  run      %s (%s%s)\n", run.Run, run.Status, from)
		if run.Plan != "" {
			fmt.Fprintf(w, "  plan     %s, which that run executes\n", oneline.Path(run.Plan))
		}
		if run.Mirror != "" {
			fmt.Fprintf(w, "  mirror   %s, which that run writes\n", oneline.Path(run.Mirror))
		}
	}
	fmt.Fprintf(w, "  memory   %s of MEMORY.md\n", layout.Count(r.Memories, "entry"))
	if len(r.ToAdopt) > 0 {
		fmt.Fprintln(w, "A run from elsewhere stays unverified. Before you resume one, also adopt it: "+r.Adopt())
	}
}

// Adopt returns the command that adopts a run, the only one or any.
func (r Project) Adopt() string {
	if len(r.ToAdopt) == 1 {
		return "pawl adopt " + string(r.ToAdopt[0])
	}
	return "pawl adopt RUN"
}

// Trusted is a line of "pawl trust --list".
type Trusted struct {
	Path    string    `json:"path"`
	Project string    `json:"project"`
	How     string    `json:"how"`
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason,omitempty"` // why it does not count at the moment
}

// TrustedOf returns the lines of projects.
func TrustedOf(all []trust.Standing) []Trusted {
	lines := make([]Trusted, 0, len(all))
	for _, s := range all {
		lines = append(lines, Trusted{s.Path, s.Project, s.How, s.Since, s.Reason})
	}
	return lines
}

// PrintTrusted prints the lines.
func PrintTrusted(w io.Writer, lines []Trusted) {
	if len(lines) == 0 {
		fmt.Fprintln(w, "no trusted projects")
	}
	for _, l := range lines {
		fmt.Fprintf(w, "%s  %s %s", l.Path, l.How, l.Since.Local().Format(time.DateOnly))
		if l.Reason != "" {
			fmt.Fprintf(w, "  (does not count: %s)", l.Reason)
		}
		fmt.Fprintln(w)
	}
}
