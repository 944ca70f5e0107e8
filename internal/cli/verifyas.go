package cli

import (
	"context"
)

// verifyAs checks another system's files by that system's own rules.
func (a *app) verifyAs(ctx context.Context, system, path string) error {
	codec, err := a.codec(system)
	if err != nil {
		return err
	}
	dir, err := a.foreignDir(path)
	if err != nil {
		return err
	}
	folder, err := a.openForeign(ctx, codec, dir)
	if err != nil {
		return err
	}
	return a.printFindings(folder.Verify(), "faults found")
}
