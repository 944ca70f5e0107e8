package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/foreign"
	"pawl/internal/project"
	"pawl/internal/sqlitefile"
)

// Codecs are the systems whose files are read and written.
type Codecs []foreign.Codec

// Of returns the codec of a system.
func (c Codecs) Of(system string) (foreign.Codec, error) {
	for _, codec := range c {
		if codec.System() == system {
			return codec, nil
		}
	}
	return nil, usage("", "no system %q: use %s", system, c.Names())
}

// Names names the systems.
func (c Codecs) Names() string {
	var names []string
	for _, codec := range c {
		names = append(names, codec.System())
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
			return nil, usage("", "--mirror %s: the folder is to lie in the project", named)
		}
		dir = filepath.Join(p.Root, path)
		if err := notOurs(path); err != nil {
			return nil, err
		}
	}
	if _, tabular := codec.(foreign.Tabular); !tabular {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, usage("", "--mirror %s: %s is no folder", named, path)
		}
	}
	for at := dir; at != p.Root; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, usage("", "--mirror %s: %s is a symbolic link: name the folder that it leads to", named, at)
		}
	}
	return &Mirror{Codec: codec, Dir: dir}, nil
}

// Refresh has another system's files say how a run stands that has them kept up to date, and that no engine works on: as it
// stands by now, for of several who do so the last is to know what the others said. Where others went on with the files
// meanwhile it leaves them alone. The error is for people to know, and no fault of the run.
func (c Codecs) Refresh(ctx context.Context, p *project.Project, r *Run, cfg Snapshots) error {
	if r.State.Mirror == nil {
		return nil
	}
	m, err := c.Mirror(p, r.State.Mirror.String())
	if m == nil {
		return err
	}
	err = p.Mirroring(func() error {
		if _, alive := p.EngineHolder(); alive {
			return nil
		}
		if err := r.Refresh(); err != nil {
			return err
		}
		return m.refresh(ctx, p, r, cfg)
	})
	if err != nil {
		return fmt.Errorf("the files of %s: %w", m.Codec.System(), err)
	}
	return nil
}

func (m *Mirror) refresh(ctx context.Context, p *project.Project, r *Run, cfg Snapshots) error {
	written, err := m.put(p, r.State, func(files foreign.Files) ([]foreign.File, error) {
		written := mirrorOver(ctx, p, r, *m, cfg, foreign.Interrupted, false, files)
		if theirs := m.theirs(p, r.State, files, written); theirs != "" {
			return nil, fmt.Errorf("%s was changed by somebody else since it was last written for run %s, and stays as it is", theirs, r.State.Run)
		}
		return written, nil
	})
	r.Notes = append(r.Notes, MadeAnew(written)...)
	return err
}

// put writes what over makes of the files that were read, and again where somebody else was faster. It returns what it wrote.
func (m *Mirror) put(p *project.Project, run *pawl.State, over func(foreign.Files) ([]foreign.File, error)) (written []foreign.File, err error) {
	for range tries {
		var files foreign.Files
		if files, err = readToWrite(run, m.Dir, m.Codec); err != nil {
			return nil, err
		}
		if err = m.unlocked(files, run); err != nil {
			time.Sleep(lockPause)
			continue
		}
		if written, err = over(files); err != nil {
			return nil, err
		}
		_ = m.remember(p, run, files, written) // a cache
		err = WriteForeign(m.Dir, m.Codec, files, written)
		if err == nil {
			return written, nil
		}
		if !errors.Is(err, sqlitefile.ErrChanged) && !errors.Is(err, ErrChanged) {
			break
		}
	}
	return nil, err
}
