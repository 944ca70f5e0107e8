package cli

import (
	"context"
	"fmt"
	"strings"

	"pawl"
)

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
