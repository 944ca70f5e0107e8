package cli

import (
	"context"

	"pawl"
	"pawl/internal/engine"
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
	files, findings, err := engine.ReadForeign(dir, codec)
	if err != nil {
		return err
	}
	commits, err := engine.CommitsIn(ctx, dir)
	if err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "which commits there are could not be found out: " + err.Error()})
	}
	_, read := codec.Read(files, engine.WorldOf(dir, commits).Now)
	findings = append(findings, read...)
	return a.printFindings(append(findings, codec.Verify(files, engine.WorldOf(dir, commits))...), "faults found")
}
