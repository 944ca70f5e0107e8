package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/snapshot"
)

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
	record, err := saved.SnapshotRecord()
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
