package interop

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/config"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Formats are the formats of the systems that pawl can import, export and mirror.
type Formats []format.Format

// Named returns the format of a system.
func (c Formats) Named(system string) (format.Format, error) {
	for _, f := range c {
		if f.Name == system {
			return f, nil
		}
	}
	return format.Format{}, runs.UsageError("", "unknown system %q; expected one of %s", system, c.Names())
}

// Names returns the names of the systems, separated by commas.
func (c Formats) Names() string {
	var names []string
	for _, f := range c {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// ParseMirror returns the mirror that SYSTEM or SYSTEM=PATH names; nil if named is empty.
func (c Formats) ParseMirror(p *project.Project, named string) (*Mirror, error) {
	if named == "" {
		return nil, nil
	}
	system, path, _ := strings.Cut(named, "=")
	f, err := c.Named(system)
	if err != nil {
		return nil, err
	}
	dir := p.Root
	if path != "" {
		if !filepath.IsLocal(path) {
			return nil, runs.UsageError("", "--mirror %s: the folder must be inside the project", named)
		}
		dir = filepath.Join(p.Root, path)
		if err := checkNotReserved(path); err != nil {
			return nil, err
		}
	}
	if f.Tables == nil {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, runs.UsageError("", "--mirror %s: %s is not a folder", named, path)
		}
	}
	for at := dir; at != p.Root; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, runs.UsageError("", "--mirror %s: %s is a symbolic link; pass the folder that it points to", named, at)
		}
	}
	return (&Mirror{Format: f, Dir: dir}).atPlace(p)
}

// Refresh writes the mirror of a run that no engine runs. It first reads the run's newest events, since several processes
// may mirror the same run. It leaves files alone that someone else has changed since. An error is reported to the user, and
// does not fail the run.
func (c Formats) Refresh(ctx context.Context, p *project.Project, r *runs.Run, cfg config.Snapshots) error {
	if r.State.Mirror == nil {
		return nil
	}
	m, err := c.MirrorForRun(p, r.State, r.State.Mirror.String())
	if m == nil {
		return err
	}
	err = p.WithMirrorLock(func() error {
		if _, alive := p.EngineHolder(); alive {
			return nil
		}
		if err := r.Refresh(); err != nil {
			return err
		}
		return m.refresh(ctx, p, r, cfg)
	})
	if err != nil {
		return fmt.Errorf("the files of %s: %w", m.Format.Name, err)
	}
	return nil
}
