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

// Codecs are the systems whose files are read and written.
type Codecs []format.Format

// Of returns the codec of a system.
func (c Codecs) Of(system string) (format.Format, error) {
	for _, codec := range c {
		if codec.Name == system {
			return codec, nil
		}
	}
	return format.Format{}, runs.UsageError("", "no system %q: use %s", system, c.Names())
}

// Names names the systems.
func (c Codecs) Names() string {
	var names []string
	for _, codec := range c {
		names = append(names, codec.Name)
	}
	return strings.Join(names, ", ")
}

// Mirror returns the mirror that SYSTEM or SYSTEM=PATH stands for; nil where it is empty.
func (c Codecs) Mirror(p *project.Project, named string) (*Mirror, error) {
	if named == "" {
		return nil, nil
	}
	system, path, _ := strings.Cut(named, "=")
	codec, err := c.Of(system)
	if err != nil {
		return nil, err
	}
	dir := p.Root
	if path != "" {
		if !filepath.IsLocal(path) {
			return nil, runs.UsageError("", "--mirror %s: the folder is to lie in the project", named)
		}
		dir = filepath.Join(p.Root, path)
		if err := notOurs(path); err != nil {
			return nil, err
		}
	}
	if codec.Tables == nil {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, runs.UsageError("", "--mirror %s: %s is no folder", named, path)
		}
	}
	for at := dir; at != p.Root; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, runs.UsageError("", "--mirror %s: %s is a symbolic link: name the folder that it leads to", named, at)
		}
	}
	return (&Mirror{Codec: codec, Dir: dir}).placed(p)
}

// Refresh has another system's files say how a run stands that has them kept up to date, and that no engine works on: as it
// stands by now, for of several who do so the last is to know what the others said. Where others went on with the files
// meanwhile it leaves them alone. The error is for people to know, and no fault of the run.
func (c Codecs) Refresh(ctx context.Context, p *project.Project, r *runs.Run, cfg config.Snapshots) error {
	if r.State.Mirror == nil {
		return nil
	}
	m, err := c.MirrorOf(p, r.State, r.State.Mirror.String())
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
		return fmt.Errorf("the files of %s: %w", m.Codec.Name, err)
	}
	return nil
}
