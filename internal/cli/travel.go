package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// checkpointReport is a checkpoint as commands print it.
type checkpointReport struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Run        pawl.RunID          `json:"run"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Step       pawl.StepID         `json:"step,omitempty"`
	Item       pawl.ItemID         `json:"item,omitempty"`
	Why        string              `json:"why,omitempty"`
	Seq        pawl.Seq            `json:"seq,omitempty"`
	Time       time.Time           `json:"time,omitzero"`
	Snapshot   string              `json:"snapshot"` // kept, pruned or none
	None       string              `json:"none,omitempty"`
	Tree       string              `json:"tree,omitempty"`
	Files      int                 `json:"files"`
	Bytes      int64               `json:"bytes"`
	Added      int64               `json:"added_bytes"`
	LeftOut    int                 `json:"left_out"`
	Live       []pawl.AttemptRef   `json:"live,omitempty"`
	Head       *snapshot.Head      `json:"head,omitempty"`
}

func checkpointOf(c engine.SavedCheckpoint) checkpointReport {
	r := checkpointReport{
		Checkpoint: c.ID, Run: c.Run, Kind: c.Kind, Step: c.Step, Item: c.Item, Why: c.Why, Seq: c.Seq, Time: c.Time,
		Live: c.Live, Snapshot: "none", None: c.Unsaved(),
	}
	if s := c.Snapshot; s != nil && s.Record != "" {
		r.Snapshot, r.Tree, r.Files, r.Bytes, r.Added, r.LeftOut = "pruned", s.Tree, s.Files, s.Bytes, s.Added, s.LeftOut
	}
	if c.Record != nil {
		r.Snapshot, r.Head = "kept", c.Record.Head
	}
	return r
}

// traveller is what a command of this file works with.
type traveller struct {
	project *project.Project
	config  engine.Config
	store   *snapshot.Store
}

// travel opens the project and its snapshots for a command.
func (a *app) travel(ctx context.Context, do func(t *traveller) error) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	store, err := engine.OpenSnapshots(ctx, p, cfg.Snapshots)
	if err != nil {
		return err
	}
	return errors.Join(do(&traveller{project: p, config: cfg, store: store}), store.Close())
}

// find returns a checkpoint by its name.
func (t *traveller) find(ctx context.Context, name string) (engine.SavedCheckpoint, error) {
	return engine.FindCheckpoint(ctx, t.project, t.store, name)
}

// whole does something with the files of a checkpoint. Where the latest is asked for and its snapshot is damaged, it is
// done with the good one before, and that is said. elsewhere is for what does not look at all of it before it begins.
func (a *app) whole(ctx context.Context, t *traveller, name string, elsewhere bool, do func(engine.SavedCheckpoint) error) error {
	saved, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	for {
		if name == engine.Latest && elsewhere && saved.Record != nil {
			err = t.store.Whole(ctx, *saved.Record)
		}
		if err == nil {
			err = do(saved)
		}
		if name != engine.Latest || !engine.NotWhole(err) {
			return err
		}
		before, findErr := engine.GoodBefore(ctx, t.project, t.store, saved)
		if findErr != nil || before.ID == "" {
			return errors.Join(err, findErr)
		}
		a.sayNotes([]string{fmt.Sprintf("checkpoint %s cannot be used: %v\nthe one before it is: %s", saved.ID, err, before.ID)})
		saved, err = before, nil
	}
}

// inside returns paths that the user named, seen from the project's root.
func (a *app) inside(p *project.Project, paths []string) ([]string, error) {
	here, err := a.here()
	if err != nil {
		return nil, err
	}
	if here, err = filepath.Abs(here); err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range paths {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(here, path)
		}
		rel, err := filepath.Rel(p.Root, full)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, usageError("", "%s is not in the project %s", path, p.Root)
		}
		found = append(found, filepath.ToSlash(rel))
	}
	return found, nil
}

func (a *app) checkpointCommand() *cobra.Command {
	var message string
	c := &cobra.Command{
		Use:     "checkpoint",
		Short:   "Keep all files as they are now",
		Example: "  pawl checkpoint -m 'before the big refactoring'",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if insideStep() {
				return tell(pawl.Line{Checkpoint: &pawl.Checkpoint{Why: message}})
			}
			return a.checkpoint(c.Context(), message)
		},
	}
	c.Flags().StringVarP(&message, "message", "m", "", "what it is for")
	return a.jsonFlag(c)
}

func (a *app) checkpoint(ctx context.Context, message string) error {
	p, err := a.projectOrInit()
	if err != nil {
		return err
	}
	a.register(p)
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	saved, err := engine.CheckpointNow(ctx, p, cfg.Snapshots, me(), message, a.version)
	if errors.Is(err, snapshot.ErrQuota) {
		return &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "pawl prune"}
	}
	if err != nil {
		return err
	}
	report := checkpointOf(saved)
	if a.json {
		return a.printJSON(report)
	}
	fmt.Fprintf(a.Out, "checkpoint %s: %d files, %s; %s new; %d left out\n", report.Checkpoint, report.Files, inBytes(report.Bytes), inBytes(report.Added), report.LeftOut)
	return nil
}

// inBytes writes a number of bytes for people.
func inBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for ; value >= 1024 && unit < len(units)-1; unit++ {
		value /= 1024
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

func (a *app) checkpointsCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "checkpoints [RUN]",
		Short: "List checkpoints, the newest last",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.travel(c.Context(), func(t *traveller) error {
				runs, err := t.runs(c.Context(), optional(args, 0), all)
				if err != nil {
					return err
				}
				found, err := engine.Checkpoints(c.Context(), t.project, t.store, runs...)
				if err != nil {
					return err
				}
				return a.printCheckpoints(found, len(runs) > 1)
			})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "of all runs, those set aside too")
	return a.jsonFlag(c)
}

func (t *traveller) runs(ctx context.Context, name string, all bool) ([]pawl.RunID, error) {
	if all {
		return engine.AllRuns(t.project)
	}
	run, err := engine.FindRun(ctx, t.project, name)
	return []pawl.RunID{run}, err
}

func (a *app) printCheckpoints(found []engine.SavedCheckpoint, withRun bool) error {
	reports := []checkpointReport{}
	for _, c := range found {
		reports = append(reports, checkpointOf(c))
	}
	if a.json {
		return a.printJSON(reports)
	}
	for _, r := range reports {
		fmt.Fprintf(a.Out, "%s  %s  %-17s %-28s %s", r.Checkpoint, r.Time.UTC().Format("2006-01-02 15:04:05"), r.Kind, r.content(), r.about())
		if withRun {
			fmt.Fprintf(a.Out, "  (%s)", r.Run)
		}
		fmt.Fprintln(a.Out)
	}
	if len(reports) == 0 {
		fmt.Fprintln(a.Out, "no checkpoint yet")
	}
	return nil
}

// content says in a few words what a checkpoint has of the files.
func (r checkpointReport) content() string {
	switch {
	case r.Snapshot == "kept":
		return fmt.Sprintf("%d files, %s", r.Files, inBytes(r.Bytes))
	case r.None != "":
		return "none: " + r.None
	case r.Snapshot == "pruned":
		return "pruned"
	}
	return "no files"
}

// about says what a checkpoint is about.
func (r checkpointReport) about() string {
	name := pawl.AttemptRef{Step: r.Step, Item: r.Item}.Name()
	why, _, _ := strings.Cut(r.Why, "\n")
	return strings.TrimSpace(name + "  " + why)
}

func (a *app) showCommand() *cobra.Command {
	var leftOut bool
	c := &cobra.Command{
		Use:     "show CHECKPOINT [FILE]",
		Short:   "Show a checkpoint, or a file as it was then",
		Long:    "Show a checkpoint, or a file as it was then\n\nA checkpoint is named by its id, the beginning of it, \"latest\", or a step.",
		Example: "  pawl show latest\n  pawl show 3f2a91c0 src/main.go",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.travel(c.Context(), func(t *traveller) error {
				saved, err := t.find(c.Context(), args[0])
				if err != nil {
					return err
				}
				if len(args) == 2 {
					return a.showFile(t, saved, args[1])
				}
				return a.showCheckpoint(t, saved, leftOut)
			})
		},
	}
	c.Flags().BoolVar(&leftOut, "left-out", false, "list what is not in it, and why")
	return a.jsonFlag(c)
}

func (a *app) showFile(t *traveller, saved engine.SavedCheckpoint, name string) error {
	record, err := saved.Files()
	if err != nil {
		return err
	}
	paths, err := a.inside(t.project, []string{name})
	if err != nil {
		return err
	}
	e, err := t.store.At(record, paths[0])
	switch {
	case err != nil:
		return err
	case e == nil:
		return usageError("pawl show "+string(saved.ID), "%s was not there", paths[0])
	case e.Kind == snapshot.Folder:
		return a.showFolder(t, *e)
	case e.Kind == snapshot.Link:
		_, err = fmt.Fprintf(a.Out, "%s\n", e.Target)
		return err
	}
	return t.store.Content(*e, a.Out)
}

func (a *app) showFolder(t *traveller, folder snapshot.Entry) error {
	entries, err := t.store.List(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		mark := ""
		if e.Kind == snapshot.Folder {
			mark = "/"
		}
		fmt.Fprintf(a.Out, "%04o  %12d  %s%s\n", e.Mode, e.Size, e.Name, mark)
	}
	return nil
}

func (a *app) showCheckpoint(t *traveller, saved engine.SavedCheckpoint, leftOut bool) error {
	r := checkpointOf(saved)
	var list []snapshot.LeftOut
	if leftOut {
		record, err := saved.Files()
		if err != nil {
			return err
		}
		if list, err = t.store.LeftOutOf(record); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(struct {
			checkpointReport
			List []snapshot.LeftOut `json:"left_out_paths,omitempty"`
		}{r, list})
	}
	fact := func(name, format string, args ...any) {
		fmt.Fprintf(a.Out, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(a.Out, "checkpoint %s\n", r.Checkpoint)
	fact("run", "%s", r.Run)
	fact("kind", "%s", r.Kind)
	if about := r.about(); about != "" {
		fact("about", "%s", about)
	}
	fact("taken", "%s, event %d", r.Time.UTC().Format("2006-01-02 15:04:05 UTC"), r.Seq)
	fact("files", "%s", r.content())
	if r.Snapshot == "kept" {
		fact("added", "%s to the store", inBytes(r.Added))
		fact("left out", "%d", r.LeftOut)
	}
	if r.Head != nil {
		fact("git", "%s", r.Head)
	}
	for _, live := range r.Live {
		fact("live", "attempt %d of %s", live.Attempt, live.Name())
	}
	for _, l := range list {
		fmt.Fprintf(a.Out, "%s  (%s)\n", l.Path, l.Why)
	}
	return nil
}

func (a *app) restoreCommand() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore CHECKPOINT [PATH…]",
		Short: "Bring files back to what they were",
		Long: "Bring files back to what they were\n\nAt a checkpoint: all, or only the paths named. What is there now is kept as a checkpoint\n" +
			"first. Ignored files are never removed, and git's own files never touched.",
		Example: "  pawl restore latest --dry-run\n  pawl restore 3f2a91c0 src/ --yes\n  pawl restore build --to /tmp/as-it-was",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.travel(c.Context(), func(t *traveller) error {
				paths, err := a.inside(t.project, args[1:])
				if err != nil {
					return err
				}
				return a.whole(c.Context(), t, args[0], o.to != "", func(saved engine.SavedCheckpoint) error {
					if err := t.knows(saved, paths); err != nil {
						return err
					}
					if o.to != "" {
						return a.export(c.Context(), t, saved, paths, o.to)
					}
					return a.restore(c.Context(), t, saved, paths, o)
				})
			})
		},
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "also where git stands at another commit than then")
	c.Flags().StringVar(&o.to, "to", "", "write into this folder instead, which must be empty or not there")
	return a.jsonFlag(c)
}

type restoreOptions struct {
	dryRun, yes, otherHead bool
	to                     string
}

// restoreReport is what `pawl restore --json` prints.
type restoreReport struct {
	Checkpoint pawl.CheckpointID `json:"checkpoint"`
	Before     pawl.CheckpointID `json:"before,omitempty"` // what was there
	DryRun     bool              `json:"dry_run,omitempty"`
	Changes    []changeReport    `json:"changes"`
	Kept       []string          `json:"kept"` // ignored, so they stay
	To         string            `json:"to,omitempty"`
}

// knows refuses paths at which nothing was then and nothing is now: they are not what the user meant.
func (t *traveller) knows(saved engine.SavedCheckpoint, paths []string) error {
	record, err := saved.Files()
	if err != nil {
		return err
	}
	for _, path := range paths {
		e, err := t.store.At(record, path)
		if err != nil {
			return err
		}
		if _, missing := os.Lstat(filepath.Join(t.project.Root, path)); e == nil && missing != nil {
			return usageError(fmt.Sprintf("pawl show %s .", saved.ID), "%s was not there at checkpoint %s, and is not there now", path, saved.ID)
		}
	}
	return nil
}

func (a *app) export(ctx context.Context, t *traveller, saved engine.SavedCheckpoint, paths []string, to string) error {
	record, err := saved.Files()
	if err != nil {
		return err
	}
	folder, err := a.fromHere(to)
	if err == nil {
		err = engine.MustBeEmpty(folder)
	}
	if err != nil {
		return err
	}
	changes, err := t.store.Export(ctx, record, paths, folder)
	if err != nil {
		return err
	}
	report := restoreReport{Checkpoint: saved.ID, Changes: reportChanges(changes), Kept: []string{}, To: to}
	if a.json {
		return a.printJSON(report)
	}
	fmt.Fprintf(a.Out, "%d files and links written to %s\n", countFiles(changes), to)
	return nil
}

func countFiles(changes []snapshot.Change) int {
	n := 0
	for _, c := range changes {
		if c.New != nil && c.New.Kind != snapshot.Folder {
			n++
		}
	}
	return n
}

func (a *app) restore(ctx context.Context, t *traveller, saved engine.SavedCheckpoint, paths []string, o restoreOptions) (err error) {
	r, err := engine.PrepareRestore(ctx, t.project, t.store, saved, paths, o.otherHead || o.dryRun, a.version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	report := restoreReport{Checkpoint: saved.ID, DryRun: o.dryRun, Changes: reportChanges(r.Changes), Kept: r.Kept}
	if !a.json {
		a.printRestore(report)
	}
	switch {
	case o.dryRun, len(r.Changes) == 0:
	default:
		if !o.yes {
			if err := a.confirm(fmt.Sprintf("Change %d paths to what they were at checkpoint %s?", len(report.Changes), saved.ID)); err != nil {
				return err
			}
		}
		if report.Before, err = r.Do(ctx, me()); err != nil {
			return err
		}
	}
	if a.json {
		if report.Kept == nil {
			report.Kept = []string{}
		}
		return a.printJSON(report)
	}
	if report.Before != "" {
		fmt.Fprintf(a.Out, "restored; what was there is checkpoint %s\n", report.Before)
	}
	return nil
}

func (a *app) printRestore(r restoreReport) {
	out := bufio.NewWriter(a.Out)
	defer out.Flush()
	for _, c := range r.Changes {
		fmt.Fprintf(out, "%-8s %s\n", restoring[c.Change], c.Path)
	}
	for _, path := range r.Kept {
		fmt.Fprintf(out, "%-8s %s (ignored then)\n", "stays", path)
	}
	if len(r.Changes) == 0 {
		fmt.Fprintln(out, "all is as it was then")
	}
}

// restoring are the words for what a restore does.
var restoring = map[string]string{"added": "bring", "removed": "remove", "changed": "change", "mode": "mode", "type": "replace"}

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff [FROM [TO]] [-- PATH…]",
		Short: "Show what changed between two checkpoints, or since one",
		Long: "Show what changed between two checkpoints, or since one\n\nSince the newest, if none is named; as a patch that git apply\n" +
			"takes. Paths come after --.",
		Example: "  pawl diff\n  pawl diff build --stat\n  pawl diff 3f2a91c0 latest -- src/",
		Args: func(c *cobra.Command, args []string) error {
			if named := namedOf(c, args); named > 2 {
				return fmt.Errorf("at most two checkpoints; paths come after --")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.travel(c.Context(), func(t *traveller) error {
				named := namedOf(c, args)
				return a.diff(c.Context(), t, args[:named], args[named:], o)
			})
		},
	}
	c.Flags().BoolVar(&o.names, "names", false, "only the names")
	c.Flags().BoolVar(&o.stat, "stat", false, "only how much changed")
	return a.jsonFlag(c)
}

// namedOf returns how many arguments stand before --.
func namedOf(c *cobra.Command, args []string) int {
	if dash := c.ArgsLenAtDash(); dash >= 0 {
		return dash
	}
	return len(args)
}

type diffOptions struct{ names, stat bool }

// changeReport is one path that differs.
type changeReport struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, removed, changed, mode, type
	Kind   string `json:"kind"`   // file, folder, link: what it is now, or was
	Old    *side  `json:"old,omitempty"`
	New    *side  `json:"new,omitempty"`
}

type side struct {
	Mode   string `json:"mode,omitempty"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"` // of a file up to 8 MiB; of a larger one's blocks' ids
	Target string `json:"target,omitempty"`
}

// reportChanges leaves out folders, but for those in which nothing is.
func reportChanges(changes []snapshot.Change) []changeReport {
	reports := []changeReport{}
	for i, c := range changes {
		e := c.New
		if e == nil {
			e = c.Old
		}
		leads := i+1 < len(changes) && strings.HasPrefix(changes[i+1].Path, c.Path+"/")
		if e.Kind == snapshot.Folder && leads && (c.Old == nil || c.New == nil) {
			continue
		}
		reports = append(reports, changeReport{Path: c.Path, Change: c.What(), Kind: e.Kind.String(), Old: sideOf(c.Old), New: sideOf(c.New)})
	}
	return reports
}

func sideOf(e *snapshot.Entry) *side {
	if e == nil {
		return nil
	}
	s := &side{Size: e.Size, Target: e.Target}
	if e.Kind != snapshot.Link {
		s.Mode = fmt.Sprintf("%04o", e.Mode)
	}
	if e.Kind == snapshot.File || e.Kind == snapshot.Blocks {
		s.SHA256 = e.ID.String()
	}
	return s
}

func (a *app) diff(ctx context.Context, t *traveller, named, paths []string, o diffOptions) (err error) {
	name := "latest"
	if len(named) > 0 {
		name = named[0]
	}
	from, err := t.snapshot(ctx, name)
	if err != nil {
		return err
	}
	var to *snapshot.Record
	if len(named) > 1 {
		if to, err = t.snapshot(ctx, named[1]); err != nil {
			return err
		}
	}
	if paths, err = a.inside(t.project, paths); err != nil {
		return err
	}
	compared, err := t.store.Compare(ctx, *from, to, paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compared.Close()) }()
	return a.printDiff(compared, o)
}

func (t *traveller) snapshot(ctx context.Context, name string) (*snapshot.Record, error) {
	saved, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	record, err := saved.Files()
	return &record, err
}

func (a *app) printDiff(compared *snapshot.Comparison, o diffOptions) error {
	reports := reportChanges(compared.Changes)
	out := bufio.NewWriter(a.Out)
	switch {
	case a.json:
		return a.printJSON(reports)
	case o.names:
		for _, r := range reports {
			fmt.Fprintf(out, "%s\n", r.Path)
		}
	case o.stat:
		stats, err := compared.Stat()
		if err != nil {
			return err
		}
		printStat(out, stats)
	default:
		if err := compared.Patch(out); err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	return out.Flush()
}

func printStat(out *bufio.Writer, stats []snapshot.Stat) {
	width, added, removed := 0, 0, 0
	for _, s := range stats {
		width = max(width, len(s.Path))
	}
	for _, s := range stats {
		if s.Binary {
			fmt.Fprintf(out, "%-*s  binary, %s\n", width, s.Path, signed(s.Bytes))
			continue
		}
		fmt.Fprintf(out, "%-*s  +%d -%d\n", width, s.Path, s.Added, s.Removed)
		added, removed = added+s.Added, removed+s.Removed
	}
	fmt.Fprintf(out, "%s changed, %s added, %d removed\n", count(len(stats), "path"), count(added, "line"), removed)
}

func signed(n int64) string {
	if n < 0 {
		return "-" + inBytes(-n)
	}
	return "+" + inBytes(n)
}
