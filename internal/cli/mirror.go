package cli

import (
	"cmp"
	"context"
	"fmt"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/engine"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

func (a *app) codec(system string) (format.Format, error) { return a.parts.Formats.Named(system) }

func (a *app) systems() string { return a.parts.Formats.Names() }

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

// mirrorOf says which system's files are kept up to date for a run: the one that the flag names, else the one that the run
// had.
func (a *app) mirrorOf(p *project.Project, flag mirrorFlag) func(*pawl.State) *interop.Mirror {
	return func(s *pawl.State) *interop.Mirror {
		named := cmp.Or(string(flag), s.Mirror.String())
		m, err := a.parts.Formats.MirrorForRun(p, s, named)
		if err != nil {
			a.sayNotes([]string{"the files of " + named + " are not kept up to date: " + err.Error()})
			return nil
		}
		return m
	}
}

// mirrorWith returns the mirror of an engine's run.
func (a *app) mirrorWith(p *project.Project, flag mirrorFlag) func(*pawl.State, *journal.Log, *snapshot.Store) engine.Mirror {
	of := a.mirrorOf(p, flag)
	return func(s *pawl.State, log *journal.Log, store *snapshot.Store) engine.Mirror {
		if m := of(s); m != nil {
			return interop.NewMirrorWriter(m, p, log, store)
		}
		return nil
	}
}

// refreshMirror has another system's files say how a run stands that has them kept up to date, and that no engine works on.
func (a *app) refreshMirror(ctx context.Context, p *project.Project, r *runs.Run) {
	r.Notes = nil // they were said
	c, err := config.Read(p.Config())
	if err == nil {
		err = a.parts.Formats.Refresh(ctx, p, r, c.Snapshots)
	}
	a.sayNotes(r.Notes)
	if err != nil {
		a.sayNotes([]string{err.Error()})
	}
}
