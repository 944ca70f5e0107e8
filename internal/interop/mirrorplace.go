package interop

import (
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// MirrorOf is Mirror for a run: see Of.
func (c Codecs) MirrorOf(p *project.Project, s *pawl.State, named string) (*Mirror, error) {
	m, err := c.Mirror(p, named)
	if m == nil {
		return nil, err
	}
	return m.Of(p, s)
}

// Of returns the mirror for a run: what was made of one of several of a folder is written to that one, and to no other.
func (m *Mirror) Of(p *project.Project, s *pawl.State) (*Mirror, error) {
	from := importDir(p, s)
	at := filepath.Join(from, filepath.FromSlash(s.Import.Place))
	ours := m.Codec.At != nil && m.place == "" && s.Import.System == m.Codec.Name && s.Import.Place != ""
	if ours && slices.Contains([]string{from, at, filepath.Dir(at)}, filepath.Clean(m.Dir)) {
		return &Mirror{Codec: m.Codec.At(s.Import.Place), Dir: from}, nil
	}
	return m.placed(p)
}

// placed is the mirror of one of several of the project's, where its folder is this one's, and not one that such lie in.
func (m *Mirror) placed(p *project.Project) (*Mirror, error) {
	rel, err := filepath.Rel(p.Root, m.Dir)
	named := filepath.ToSlash(rel)
	if m.Codec.Places == nil || m.place != "" || err != nil || !format.OnTheWay(m.Codec.Patterns, named) {
		return m, nil
	}
	files, _, err := ReadForeign(p.Root, m.Codec)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(m.Codec.Places(files, time.Now().UTC()), named) {
		return nil, runs.UsageError("", "%s has nothing at %s: name the folder that its own is in", m.Codec.Name, named)
	}
	return &Mirror{Codec: m.Codec.At(named), Dir: p.Root, place: named}, nil
}
