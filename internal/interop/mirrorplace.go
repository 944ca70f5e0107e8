package interop

import (
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// MirrorForRun is ParseMirror and ForRun, with the database of the user's settings if a new mirror names none.
func (c Formats) MirrorForRun(p *project.Project, s *pawl.State, named string) (*Mirror, error) {
	if named == "" {
		named = c.mirrorOfStored(p, s)
	}
	if named != s.Mirror.String() { // what a run has recorded does not change with the settings
		named = c.withDatabase(p.Root, named)
	}
	m, err := c.parseMirror(p, named, c.mirrorOfStored(p, s) == named)
	if m == nil {
		return nil, err
	}
	return m.ForRun(p, s)
}

// mirrorOfStored returns the mirror of a run that is stored in the user's database server: the tables there. It is "" for other runs.
func (c Formats) mirrorOfStored(p *project.Project, s *pawl.State) string {
	i := slices.IndexFunc(c, func(f format.Format) bool { return f.Server != nil })
	if i < 0 {
		return ""
	}
	if store, err := journal.StoredIn(p.Runs(), s.Run); err != nil || store == "" {
		return ""
	}
	return c[i].Name + "=" + format.ServerFile
}

// ForRun returns the mirror for a run. A run that was imported from one of several places is written to that place only.
func (m *Mirror) ForRun(p *project.Project, s *pawl.State) (*Mirror, error) {
	from := importDir(p, s)
	at := filepath.Join(from, filepath.FromSlash(s.Import.Place))
	ours := m.Format.At != nil && m.place == "" && s.Import.System == m.Format.Name && s.Import.Place != ""
	if ours && slices.Contains([]string{from, at, filepath.Dir(at)}, filepath.Clean(m.Dir)) {
		return &Mirror{Format: m.Format.At(s.Import.Place), Dir: from}, nil
	}
	return m.atPlace(p)
}

// atPlace returns the mirror of one of the format's Places, if m.Dir is one. It is m itself if m.Dir contains the places.
func (m *Mirror) atPlace(p *project.Project) (*Mirror, error) {
	rel, err := filepath.Rel(p.Root, m.Dir)
	named := filepath.ToSlash(rel)
	if m.Format.Places == nil || m.place != "" || err != nil || !format.OnTheWay(m.Format.Patterns, named) {
		return m, nil
	}
	files, _, err := readFiles(nil, p.Root, m.Format)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(m.Format.Places(files, time.Now().UTC()), named) {
		return nil, runs.UsageError("", "%s has no project at %s; pass the folder that contains it", m.Format.Name, named)
	}
	return &Mirror{Format: m.Format.At(named), Dir: p.Root, place: named}, nil
}
