package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/pruneview"
	"pawl/internal/history"
	"pawl/internal/snapshot"
)

type pruneOptions struct {
	keep, keepLast int
	keepWithin     flags.Age
	dryRun, policy bool
	as             string
}

func (a *app) pruneCommand() *cobra.Command {
	var o pruneOptions
	c := &cobra.Command{
		Use:   "prune [CHECKPOINT…]",
		Short: "Delete old snapshots and free their space",
		Long: "Delete old snapshots and free their space\n\nA snapshot holds the files of a checkpoint. prune keeps the newest ones of each run, those\n" +
			"taken at gates or by users, and the newest of each run that is no emergency or heartbeat checkpoint. It deletes all snapshots of\n" +
			"deleted runs. --keep-last and --keep-within keep only what one of them selects, and delete all others, including those taken at\n" +
			"gates or by users. With CHECKPOINT, prune deletes exactly these. What an unfinished run or restore needs always stays.\n" +
			"pawl checkpoints still lists the checkpoints of deleted snapshots, except those of deleted runs.",
		Example: "  pawl prune --dry-run\n  pawl prune 3f2a91c0\n  pawl prune --keep-last 3 --keep-within 7d",
		RunE: func(c *cobra.Command, args []string) error {
			o.policy = c.Flags().Changed("keep-last") || c.Flags().Changed("keep-within")
			if err := o.check(c, args); err != nil {
				return err
			}
			if o.as != "" {
				return a.pruneAs(c.Context(), o.as, o.keep, o.dryRun)
			}
			return a.withCheckpoints(c.Context(), o.dryRun, func(t *checkpointAccess) error { return a.prune(c.Context(), t, args, o) })
		},
	}
	numberVar(c, &o.keep, "keep", "", snapshot.DefaultKeep, 0, "keep the newest `N` snapshots of each run, besides those of gates and users")
	numberVar(c, &o.keepLast, "keep-last", "", 0, 0, "keep only the newest `N` snapshots of each run")
	c.Flags().Var(&o.keepWithin, "keep-within", "keep only the snapshots of the last `DURATION`, such as 7d")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the snapshots that would be deleted, and exit")
	c.Flags().StringVar(&o.as, "as", "", "prune the checkpoints of another `SYSTEM` (gyoshu) instead of pawl's")
	return a.jsonFlag(c)
}

// check refuses options that exclude each other.
func (o pruneOptions) check(c *cobra.Command, args []string) error {
	switch {
	case len(args) > 0 && (o.policy || o.as != "" || c.Flags().Changed("keep")):
		return usageError("pawl prune "+args[0], "CHECKPOINT cannot be combined with --keep, --keep-last, --keep-within or --as")
	case o.policy && (o.as != "" || c.Flags().Changed("keep")):
		return usageError("pawl prune --keep-last 3", "--keep-last and --keep-within cannot be combined with --keep or --as")
	}
	return nil
}

func (a *app) prune(ctx context.Context, t *checkpointAccess, names []string, o pruneOptions) error {
	how := history.PruneOptions{
		Keep: o.keep, ByPolicy: o.policy, KeepLast: o.keepLast, KeepWithin: time.Duration(o.keepWithin), DryRun: true,
	}
	for _, name := range names {
		c, err := t.find(ctx, name)
		if err != nil {
			return err
		}
		how.Checkpoints = append(how.Checkpoints, c)
	}
	pruned, err := history.Prune(ctx, t.project, t.store, how)
	if err != nil {
		return err
	}
	report := pruneview.Of(pruned, o.dryRun)
	if !a.json {
		if err := report.PrintGone(a.Out); err != nil {
			return err
		}
	}
	if !o.dryRun {
		how.DryRun = false
		if pruned, err = history.Prune(ctx, t.project, t.store, how); err != nil {
			return err
		}
		report.Kept, report.Freed = pruned.Kept, pruned.Freed
	}
	if report.Size, report.Quota, err = t.store.Usage(); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	if report.Print(a.Out); !report.NearlyFull() {
		return nil
	}
	return a.printUsage(ctx, t, report)
}

// printUsage prints what holds the space.
func (a *app) printUsage(ctx context.Context, t *checkpointAccess, r pruneview.Report) error {
	records, err := t.store.Records()
	if err != nil {
		return err
	}
	records = r.Staying(records)
	shares, err := t.store.Shares(ctx, records)
	if err != nil {
		return err
	}
	if err := r.PrintUsage(a.Out, records, shares); err != nil {
		return err
	}
	fmt.Fprintln(a.Err, "pawl: hint: pawl prune --keep-last 3 --dry-run")
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
