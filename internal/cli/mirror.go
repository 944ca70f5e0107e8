package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/foreign"
	"pawl/internal/project"
)

// codec returns the codec of a system.
func (a *app) codec(system string) (foreign.Codec, error) {
	for _, c := range a.parts.Codecs {
		if c.System() == system {
			return c, nil
		}
	}
	return nil, usageError("", "no system %q: use %s", system, a.systems())
}

func (a *app) systems() string {
	var names []string
	for _, c := range a.parts.Codecs {
		names = append(names, c.System())
	}
	return strings.Join(names, ", ")
}

func (a *app) mirrorHelp() string {
	return "keep another system's files up to date, SYSTEM or SYSTEM=PATH: " + a.systems()
}

// mirrorFlag is the value of --mirror: a run has one mirror, and a second is not taken for the first.
type mirrorFlag string

func (m *mirrorFlag) Set(value string) error {
	if *m != "" {
		return fmt.Errorf("a run has one mirror, and it is %s already", *m)
	}
	*m = mirrorFlag(value)
	return nil
}

func (m *mirrorFlag) String() string { return string(*m) }

func (m *mirrorFlag) Type() string { return "string" }

// mirrorNamed returns the mirror that a flag names; nil where it names none.
func (a *app) mirrorNamed(p *project.Project, flag mirrorFlag) (*engine.Mirror, error) {
	if flag == "" {
		return nil, nil
	}
	system, path, _ := strings.Cut(string(flag), "=")
	codec, err := a.codec(system)
	if err != nil {
		return nil, err
	}
	dir := p.Root
	if path != "" {
		if !filepath.IsLocal(path) {
			return nil, usageError("", "--mirror %s: the folder is to lie in the project", flag)
		}
		dir = filepath.Join(p.Root, path)
	}
	for at := dir; at != p.Root; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, usageError("", "--mirror %s: %s is a symbolic link: name the folder that it leads to", flag, at)
		}
	}
	return &engine.Mirror{Codec: codec, Dir: dir}, nil
}

// mirrorOf says which system's files are kept up to date for a run: the one that the flag names, else the one that the run
// had.
func (a *app) mirrorOf(p *project.Project, flag mirrorFlag) func(*pawl.State) *engine.Mirror {
	return func(s *pawl.State) *engine.Mirror {
		named := flag
		if named == "" && s.Mirror != nil {
			named = mirrorFlag(s.Mirror.System)
			if s.Mirror.Path != "" {
				named += mirrorFlag("=" + s.Mirror.Path)
			}
		}
		m, err := a.mirrorNamed(p, named)
		if err != nil {
			a.sayNotes([]string{"the files of " + string(named) + " are not kept up to date: " + err.Error()})
			return nil
		}
		return m
	}
}

// refreshMirror has another system's files say how a run stands that has them kept up to date, and that no engine works on.
// Where others went on with them meanwhile it leaves them alone.
func (a *app) refreshMirror(ctx context.Context, p *project.Project, r *engine.Run) {
	if _, alive := p.EngineHolder(); alive || r.State.Mirror == nil {
		return
	}
	m := a.mirrorOf(p, "")(r.State)
	if m == nil {
		return
	}
	written, err := a.mirrorFiles(ctx, p, r, *m, foreign.Interrupted)
	if theirs := changedAfter(m.Dir, written, r.State.Updated.Add(ownChange)); theirs != "" {
		a.sayNotes([]string{fmt.Sprintf("%s was changed by somebody else since something last happened to run %s, and stays as it is", theirs, r.State.Run)})
		return
	}
	if err == nil {
		err = engine.WriteForeign(m.Dir, m.Codec, nil, written)
	}
	if err != nil {
		a.sayNotes([]string{fmt.Sprintf("the files of %s: %v", m.Codec.System(), err)})
	}
}

// ownChange is how long after the last event of a run a change of the other system's files may be pawl's.
const ownChange = time.Minute

// changedAfter returns the first of some files in a folder, or of one file there, that was changed after a time; empty: none
// was. A database is changed where its log is.
func changedAfter(dir string, files []foreign.File, at time.Time) string {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		dir = filepath.Dir(dir)
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		for _, name := range []string{path, path + "-wal"} {
			if info, err := os.Lstat(name); err == nil && info.ModTime().After(at) {
				return f.Path
			}
		}
	}
	return ""
}

// mirrorFiles returns the files of another system that are not as they are to be for a run.
func (a *app) mirrorFiles(ctx context.Context, p *project.Project, r *engine.Run, m engine.Mirror, why foreign.Moment) ([]foreign.File, error) {
	cfg, err := Snapshots(p)
	if err != nil {
		return nil, err
	}
	holder, alive := p.EngineHolder()
	return engine.MirrorNow(ctx, p, r, m, cfg, why, alive && holder.Run == r.State.Run)
}
