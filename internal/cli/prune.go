package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/history"
	"pawl/internal/snapshot"
)

func (a *app) pruneCommand() *cobra.Command {
	var keep int
	var dry bool
	var as string
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete old snapshots and free their space",
		Long: "Delete old snapshots and free their space\n\nprune keeps the newest snapshots of each run, the last good one, and those taken at gates or by users.\n" +
			"pawl checkpoints still lists the checkpoints of deleted snapshots.",
		Example: "  pawl prune --dry-run\n  pawl prune --keep 2",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if as != "" {
				return a.pruneAs(c.Context(), as, keep, dry)
			}
			return a.withCheckpoints(c.Context(), func(t *checkpointAccess) error { return a.prune(c.Context(), t, keep, dry) })
		},
	}
	numberVar(c, &keep, "keep", "", snapshot.DefaultKeep, 0, "snapshots to keep per run")
	c.Flags().BoolVar(&dry, "dry-run", false, "print the snapshots that would be deleted, and exit")
	c.Flags().StringVar(&as, "as", "", "delete the checkpoints of another `SYSTEM` (gyoshu) instead")
	return a.jsonFlag(c)
}

// pruneReport is what `pawl prune --json` prints.
type pruneReport struct {
	DryRun bool        `json:"dry_run,omitempty"`
	Gone   []goneEntry `json:"gone"`
	Kept   int         `json:"kept"`
	Freed  int64       `json:"freed_bytes"`
}

type goneEntry struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Run        pawl.RunID          `json:"run"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Step       pawl.StepID         `json:"step,omitempty"`
}

func (a *app) prune(ctx context.Context, t *checkpointAccess, keep int, dry bool) error {
	pruned, err := history.Prune(ctx, t.project, t.store, keep, dry)
	if err != nil {
		return err
	}
	report := pruneReport{DryRun: dry, Gone: []goneEntry{}, Kept: pruned.Kept, Freed: pruned.Freed}
	for _, r := range pruned.Removed {
		report.Gone = append(report.Gone, goneEntry{Checkpoint: r.Checkpoint, Run: r.Run, Kind: r.Kind, Step: r.Step})
	}
	if a.json {
		return a.printJSON(report)
	}
	for _, g := range report.Gone {
		fmt.Fprintf(a.Out, "%s  %-17s %s  (%s)\n", g.Checkpoint, g.Kind, cmp.Or(string(g.Step), "-"), g.Run)
	}
	if dry {
		fmt.Fprintf(a.Out, "would remove %s, keep %d, free at most %s\n", layout.Count(len(report.Gone), "snapshot"), report.Kept, layout.ByteSize(report.Freed))
		return nil
	}
	fmt.Fprintf(a.Out, "removed %s, kept %d, freed %s\n", layout.Count(len(report.Gone), "snapshot"), report.Kept, layout.ByteSize(max(0, report.Freed)))
	return nil
}

// pruneAs deletes old checkpoints of another system.
func (a *app) pruneAs(ctx context.Context, system string, keep int, dry bool) error {
	if keep < 1 {
		return usageError("pawl prune --as "+system+" --keep 5", "--keep must be at least 1")
	}
	fileFormat, err := a.formatNamed(system)
	if err != nil {
		return err
	}
	dir, err := a.existingPath("")
	if err != nil {
		return err
	}
	folder, err := a.openFolder(ctx, fileFormat, dir)
	if err != nil {
		return err
	}
	if unread := folder.Unread(); len(unread) > 0 {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("nothing was deleted: %s: %s", unread[0].Where, unread[0].What), Hint: unread[0].Hint}
	}
	removed, err := folder.Prune(keep)
	if err == nil && !dry {
		p, _ := a.project() // nil: without a project no other pawl writes here
		err = folder.Write(p, removed)
	}
	if err != nil {
		return err
	}
	names := []string{}
	for _, f := range removed {
		if name, isFolder := strings.CutSuffix(f.Path, "/"); isFolder {
			names = append(names, name)
		}
	}
	if a.json {
		return a.printJSON(names)
	}
	for _, name := range names {
		fmt.Fprintln(a.Out, name)
	}
	return nil
}
