package interop

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/config"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
	"pawl/internal/trust"
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

// NameMirror is ParseMirror for a mirror that the user names on the command line: it may be a file outside the project. From then on
// the runs of the project may mirror to that file; a dry run does not record that.
func (c Formats) NameMirror(p *project.Project, named string, dry bool) (*Mirror, error) {
	named = c.withDatabase(p.Root, named)
	system, path, _ := strings.Cut(named, "=")
	f, err := c.Named(system)
	if named == "" || err != nil || isInside(path) && path != format.ServerFile {
		return c.ParseMirror(p, named)
	}
	file := path
	if path != format.ServerFile {
		file, err = outsideFile(p, f, path)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(p.Trust.Mirrors, file):
	case dry:
		p.Trust.Mirrors = append(slices.Clip(p.Trust.Mirrors), file)
	default:
		err = p.Trust.Update(func(r *trust.Record) { r.Mirrors = append(slices.Clip(r.Mirrors), file) })
	}
	if err != nil {
		return nil, err
	}
	return c.ParseMirror(p, named)
}

// Database returns the absolute path of the database that the user's own settings name for a system with tables; "" for none.
func (c Formats) Database(root, system string) string {
	f, err := c.Named(system)
	settings, settingsErr := config.ReadUser(root)
	if err != nil || settingsErr != nil || f.Tables == nil {
		return ""
	}
	return settings.Mirrors.DatabaseIn(root)
}

// withDatabase adds to SYSTEM without a path the database that the user's own settings name for it.
func (c Formats) withDatabase(root, named string) string {
	if file := c.Database(root, named); file != "" {
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
		return named + "=" + file
	}
	return named
}

// isInside reports whether the path of a mirror is one inside the project.
func isInside(path string) bool { return path == "" || filepath.IsLocal(path) }

// outsideFile returns the canonical path of a file outside the project, which only a format with tables can share.
func outsideFile(p *project.Project, f format.Format, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Root, path)
	}
	above, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", runs.UsageError("", "--mirror %s: %v", f.Name, err)
	}
	file := filepath.Join(above, filepath.Base(path))
	if info, err := os.Lstat(file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", runs.UsageError("", "--mirror %s: %s is a symbolic link; pass the file that it points to", f.Name, file)
	}
	if f.Tables == nil || locate(file, f).file == "" {
		return "", runs.UsageError("", "--mirror %s: %s must be inside the project; only an SQL dump or a database can be outside", f.Name, path)
	}
	return file, checkNotReserved(above)
}

// outsideMirror returns the mirror of a file outside the project, if the user has named that file on the command line.
func outsideMirror(p *project.Project, f format.Format, named, path string) (*Mirror, error) {
	file, err := outsideFile(p, f, path)
	if err == nil && !slices.Contains(p.Trust.Mirrors, file) {
		err = runs.UsageError("pawl resume --mirror "+shellwords.Word(named), "%s is outside the project, and you have not named it on the command line", file)
	}
	if err != nil {
		return nil, err
	}
	return &Mirror{Format: f, Dir: file}, nil
}

// serverMirror returns the mirror in the format's server, if the user has agreed to it.
func serverMirror(p *project.Project, f format.Format, agreed bool) (*Mirror, error) {
	switch {
	case f.Server == nil:
		return nil, runs.UsageError("", "--mirror %s: %s is for projectstate only", f.Name, format.ServerFile)
	case !agreed && !slices.Contains(p.Trust.Mirrors, format.ServerFile):
		return nil, runs.UsageError("pawl resume --mirror "+f.Name+"="+format.ServerFile, "%s is outside the project, and you have not named it on the command line", format.ServerFile)
	}
	return &Mirror{Format: f, Dir: filepath.Join(p.Root, format.ServerFile)}, nil
}

// ParseMirror returns the mirror that SYSTEM or SYSTEM=PATH names; nil if named is empty.
func (c Formats) ParseMirror(p *project.Project, named string) (*Mirror, error) {
	return c.parseMirror(p, named, false)
}

// parseMirror is ParseMirror. stored means that the run is stored in the user's database server, so that its tables may be written.
func (c Formats) parseMirror(p *project.Project, named string, stored bool) (*Mirror, error) {
	if named == "" {
		return nil, nil
	}
	system, path, _ := strings.Cut(named, "=")
	f, err := c.Named(system)
	if err != nil {
		return nil, err
	}
	dir := p.Root
	if path == format.ServerFile {
		return serverMirror(p, f, stored || c.Database(p.Root, system) == filepath.Join(p.Root, path))
	}
	if path != "" {
		if !isInside(path) {
			return outsideMirror(p, f, named, path)
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
	err = m.withLock(p, func() error {
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
