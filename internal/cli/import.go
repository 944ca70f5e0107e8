package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/project"
)

type importOptions struct {
	dry     bool
	fresh   bool
	yes     bool
	agent   string
	project string
}

func (a *app) importCommand() *cobra.Command {
	o := importOptions{agent: string(pawl.ClaudeCode)}
	c := &cobra.Command{
		Use:   "import SYSTEM [PATH]",
		Short: "Make a run of another system's files, and go on with it",
		Long: "Make a run of another system's files, and go on with it\n\nSYSTEM is " + a.systems() + ". PATH is the folder that its files are in (default: the project), or a dump or database of projectstate.\n" +
			"What it says was done is believed only as far as the files that it claims are there. Its files are not changed.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.importFrom(c.Context(), args[0], optional(args, 1), o)
		},
	}
	c.Flags().BoolVar(&o.dry, "dry-run", false, "only say what is found: run, position, work that is left, the newest checkpoints, findings")
	c.Flags().BoolVar(&o.fresh, "fresh", false, "do not go on with it: set its state aside, in its own archive")
	c.Flags().BoolVar(&o.yes, "yes", false, "do not ask on a terminal what its system asks: go on with it")
	c.MarkFlagsMutuallyExclusive("dry-run", "fresh")
	c.Flags().StringVar(&o.agent, "agent", o.agent, "who is to do what is not done")
	c.Flags().StringVar(&o.project, "project", "", "which one, where the files hold several: its id, how that begins, or its name; needed where none of them is active")
	return a.jsonFlag(c)
}

// importReport is what `pawl import --dry-run --json` prints.
type importReport struct {
	format.Project
	Pending  []pawl.StepID  `json:"pending"`
	Findings []pawl.Finding `json:"findings"`
	Others   []otherReport  `json:"others,omitempty"` // runs that are there too
}

// otherReport is a run of the same system in the same project.
type otherReport struct {
	Place    string         `json:"place"` // to be given as PATH
	Name     string         `json:"name"`
	Status   pawl.RunStatus `json:"status"`
	Percent  int            `json:"progress_percent"`
	Position pawl.Position  `json:"position"`
	Next     string         `json:"next,omitempty"`
}

func (a *app) importFrom(ctx context.Context, system, path string, o importOptions) error {
	codec, err := a.codecFor(system, o.project)
	if err != nil {
		return err
	}
	if agents := pawl.AgentNames[:len(pawl.AgentNames)-1]; !slices.Contains(agents, pawl.AgentName(o.agent)) { // without AnyCommand
		return usageError("", "--agent: no agent %q: use %s", o.agent, joined(agents))
	}
	dir, err := a.foreignDir(path)
	if err != nil {
		return err
	}
	folder, place, err := a.foreignAt(ctx, codec, dir)
	if err != nil {
		return err
	}
	reading, findings := folder.Read(place)
	if reading.Name == "" && len(reading.Phases) == 0 {
		return a.nothingRead(system, dir, o.project, folder.Projects(), findings)
	}
	root, err := a.foreignPlace("")
	if err != nil {
		return err
	}
	if place == "" {
		reading = inProject(root, dir, reading)
	}
	if o.dry {
		return a.printReading(reported(root, folder, place, reading, findings))
	}
	if there := folder.Projects(); o.project == "" && len(there) > 1 && !atWork(reading) {
		return usageError("pawl import "+system+" --project ID, with one of "+strings.Join(there, ", "),
			"of the %d projects here none is active: say which one it is to be", len(there))
	}
	if afresh, err := a.afresh(ctx, codec, dir, folder, o); err != nil || afresh {
		return err
	}
	if place != "" {
		dir = root
	}
	made, err := a.makeRun(ctx, reading, findings, dir, cmp.Or(place, firstPlace(folder)), o.agent)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(made)
	}
	fmt.Fprintf(a.Out, "pawl resume %s\n", made.Run)
	return nil
}

// codecFor returns the codec of a system, of one of the projects that its files hold where one is named.
func (a *app) codecFor(system, project string) (format.Format, error) {
	codec, err := a.codec(system)
	if err != nil || project == "" {
		return codec, err
	}
	if codec.Select == nil {
		return codec, usageError("", "--project: the files of %s hold one project", system)
	}
	return codec.Select(project), nil
}

// atWork reports whether somebody is at work on what was read, or was cut off.
func atWork(r format.Project) bool {
	return r.Status == pawl.StatusActive || r.Status == pawl.StatusInterrupted
}

// reported returns what a dry run says of a reading of the project at root.
func reported(root string, folder *interop.Folder, place string, reading format.Project, findings []pawl.Finding) importReport {
	reading, found := interop.CheckClaims(root, reading)
	report := importReport{Project: reading, Pending: pending(reading), Findings: slices.Concat([]pawl.Finding{}, findings, found)}
	if places := folder.Places(); place == "" && len(places) > 1 {
		report.Others = othersIn(folder, places[1:])
	}
	return report
}

// nothingRead says why nothing was read: there is no such project among those that are there, there is nothing, or it could not
// be read.
func (a *app) nothingRead(system, dir, project string, there []string, findings []pawl.Finding) error {
	if project != "" && len(there) > 0 {
		return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("no project %s; there are %s", project, strings.Join(there, ", ")),
			Hint: "pawl import " + system + " --project " + there[0]}
	}
	a.printWorst(findings)
	for _, f := range findings {
		if f.Level == pawl.Bad {
			return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("no files of %s could be read: %s", system, f.Where), Hint: f.Hint}
		}
	}
	return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("no files of %s in %s", system, dir), Hint: "pawl import " + system + " PATH"}
}

// inProject returns the reading of a folder as the project sees it, where that lies in the project.
func inProject(root, dir string, reading format.Project) format.Project {
	info, err := os.Stat(dir)
	rel, relErr := filepath.Rel(root, dir)
	if err != nil || relErr != nil || !info.IsDir() || rel == "." || !filepath.IsLocal(rel) {
		return reading
	}
	return reading.In(filepath.ToSlash(rel))
}

// firstPlace returns where the work lies in a folder that is read of it; empty where there is but one.
func firstPlace(folder *interop.Folder) string {
	if places := folder.Places(); len(places) > 0 {
		return places[0]
	}
	return ""
}

// makeRun makes a run of what was read, and says so.
func (a *app) makeRun(ctx context.Context, reading format.Project, findings []pawl.Finding, dir, place, agent string) (interop.Imported, error) {
	p, err := a.projectOrInit()
	if err != nil {
		return interop.Imported{}, err
	}
	a.register(p)
	codec, err := a.codec(reading.System)
	if err != nil {
		return interop.Imported{}, err
	}
	if reading.Status == pawl.StatusActive {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: cmp.Or(reading.Resume, "somebody may still be at work on it"), Where: pathIn(p, dir),
			Hint: "see that nobody is, before pawl resume"})
	}
	made, err := interop.Import(ctx, p, me(), interop.Source{
		Project: reading, Path: pathIn(p, dir), Place: place, Findings: findings, Agent: pawl.AgentName(agent), Version: a.version, Provable: codec.CheckCriterion != nil,
	})
	if err != nil || a.json {
		return made, err
	}
	a.printWorst(made.Findings)
	fmt.Fprintf(a.Out, "run %s made of %s: %d of %s done\n", made.Run, reading.System, len(made.Done), count(reading.Count(), "step"))
	return made, nil
}

// madeOf returns the unfinished run of this project that was made of a reading already; empty where there is none.
func (a *app) madeOf(ctx context.Context, reading format.Project, dir, place string) (pawl.RunID, error) {
	p, err := a.projectOrInit()
	if err != nil {
		return "", err
	}
	return interop.UnfinishedRun(ctx, p, interop.Source{Project: reading, Path: pathIn(p, dir), Place: place})
}

// foreignDir returns the folder, or the file, that another system's files are in.
func (a *app) foreignDir(path string) (string, error) {
	dir, err := a.foreignPlace(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", usageError("", "no such file or folder: %s", path)
	}
	return dir, nil
}

// foreignPlace is foreignDir where nothing may be yet.
func (a *app) foreignPlace(path string) (string, error) {
	if path == "" {
		if p, err := a.project(); err == nil {
			return p.Root, nil
		}
		return a.here()
	}
	if !filepath.IsAbs(path) {
		here, err := a.here()
		if err != nil {
			return "", err
		}
		path = filepath.Join(here, path)
	}
	return resolved(path)
}

// resolved follows the links in as much of an absolute path as there is.
func resolved(path string) (string, error) {
	full, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return full, err
	}
	above, err := resolved(filepath.Dir(path))
	return filepath.Join(above, filepath.Base(path)), err
}

// foreignAt opens the folder that a run's files are in: that of the project, where the system knows several runs in it and
// dir is the place of one of them, else dir itself.
func (a *app) foreignAt(ctx context.Context, codec format.Format, dir string) (*interop.Folder, string, error) {
	root, err := a.foreignDir("")
	if err != nil {
		return nil, "", err
	}
	rel, err := filepath.Rel(root, dir)
	if codec.Places != nil && err == nil && rel != "." && filepath.IsLocal(rel) {
		folder, err := a.openForeign(ctx, codec, root)
		if err != nil {
			return nil, "", err
		}
		for _, place := range folder.Places() {
			if rel = filepath.ToSlash(rel); place == rel || path.Dir(place) == rel {
				return folder, place, nil
			}
		}
	}
	folder, err := a.openForeign(ctx, codec, dir)
	return folder, "", err
}

// openForeign opens a folder with another system's files. What the project's journals say counts for its own files, and
// for none that lie elsewhere.
func (a *app) openForeign(ctx context.Context, codec format.Format, dir string) (*interop.Folder, error) {
	p, err := a.project()
	if err != nil || !filepath.IsLocal(pathIn(p, dir)) {
		p = nil
	}
	folder, err := interop.OpenFolder(ctx, p, codec, dir)
	if err != nil || p == nil {
		return folder, err
	}
	c, err := config.Read(p.Config())
	folder.SetLiveness(time.Duration(c.Warning), time.Duration(c.Stalled))
	return folder, err
}

func othersIn(folder *interop.Folder, places []string) []otherReport {
	var others []otherReport
	for _, place := range places {
		r, _ := folder.Read(place)
		others = append(others, otherReport{Place: place, Name: r.Name, Status: r.Status, Percent: r.Percent, Position: r.Position, Next: r.Next})
	}
	return others
}

func pathIn(p *project.Project, dir string) string {
	if rel, err := filepath.Rel(p.Root, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}

func pending(r format.Project) []pawl.StepID {
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

// printWorst prints the findings that are not good, each once.
func (a *app) printWorst(findings []pawl.Finding) {
	for _, f := range findings {
		if f.Level != pawl.OK && !slices.Contains(a.told, f) {
			a.told = append(a.told, f)
			a.printFinding(f)
		}
	}
}

func (a *app) printReading(r importReport) error {
	if a.json {
		return a.printJSON(r)
	}
	fmt.Fprintf(a.Out, "%s  %s (%s)  %d%%, %d of %s done\n", cmp.Or(r.Name, r.System), r.Status, cmp.Or(r.Native, "no status of its own"), r.Percent,
		r.Count()-len(pending(r.Project)), count(r.Count(), "step"))
	for _, line := range [][2]string{{"goal", r.Goal}, {"resume", r.Resume}, {"next", r.Next}} {
		if line[1] != "" {
			fmt.Fprintf(a.Out, "%-9s %s\n", line[0], oneLine(line[1]))
		}
	}
	if !r.Updated.IsZero() {
		fmt.Fprintf(a.Out, "activity  %s\n", stamp(r.Updated))
	}
	var rows [][]string
	for _, phase := range r.Phases {
		for _, s := range phase.Steps {
			rows = append(rows, []string{phase.Name, string(s.ID), string(s.Status), number(len(s.Items)), oneLine(cmp.Or(s.Name, s.Goal))})
		}
	}
	fmt.Fprintln(a.Out)
	if err := table(a.Out, []string{"PHASE", "STEP", "STATUS", "ITEMS", "NAME"}, rows); err != nil {
		return err
	}
	if err := a.printSaved(r.Checkpoints); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "\n%s, %s, %s, %s\n", count(len(r.Gates), "gate"), count(len(r.Memories), "thing")+" learned", count(len(r.Decisions), "decision"), count(len(r.Blockers), "blocker"))
	a.printWorst(r.Findings)
	return a.printOthers(r.Others)
}

// mostSaved is how many of another system's checkpoints are listed.
const mostSaved = 20

// printSaved lists the newest checkpoints that another system took, the oldest first.
func (a *app) printSaved(saved []format.Checkpoint) error {
	if len(saved) == 0 {
		return nil
	}
	fmt.Fprintln(a.Out)
	if more := len(saved) - mostSaved; more > 0 {
		fmt.Fprintf(a.Out, "%s before these\n", count(more, "checkpoint"))
		saved = saved[more:]
	}
	var rows [][]string
	for _, c := range saved {
		at, valid := "", "valid"
		if !c.Time.IsZero() {
			at = stamp(c.Time)
		}
		if !c.Valid {
			valid = "not valid"
		}
		rows = append(rows, []string{oneLine(c.ID), string(c.Step), cmp.Or(c.Native, string(c.Kind)), at, valid})
	}
	return table(a.Out, []string{"CHECKPOINT", "STEP", "KIND", "TIME", "FOUND"}, rows)
}

func (a *app) printOthers(others []otherReport) error {
	if len(others) == 0 {
		return nil
	}
	var rows [][]string
	for _, o := range others {
		rows = append(rows, []string{o.Place, o.Name, string(o.Status), fmt.Sprintf("%d%%", o.Percent), oneLine(o.Next)})
	}
	fmt.Fprintln(a.Out, "\nThere are others; one is imported by its path:")
	return table(a.Out, []string{"PATH", "NAME", "STATUS", "DONE", "NEXT"}, rows)
}
