package cli

import (
	"context"
	"fmt"
	"strings"

	"pawl"
)

// pruneAs lets go of another system's old checkpoints.
func (a *app) pruneAs(ctx context.Context, system string, keep int, dry bool) error {
	if keep < 1 {
		return usageError("pawl prune --as "+system+" --keep 5", "--keep: at least 1 must stay")
	}
	codec, err := a.formatNamed(system)
	if err != nil {
		return err
	}
	dir, err := a.foreignDir("")
	if err != nil {
		return err
	}
	folder, err := a.openForeign(ctx, codec, dir)
	if err != nil {
		return err
	}
	if unread := folder.Unread(); len(unread) > 0 {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("nothing is let go of: %s: %s", unread[0].Where, unread[0].What), Hint: unread[0].Hint}
	}
	gone, err := folder.Prune(keep)
	if err == nil && !dry {
		p, _ := a.project() // without one no other pawl writes here
		err = folder.Write(p, gone)
	}
	if err != nil {
		return err
	}
	names := []string{}
	for _, f := range gone {
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
