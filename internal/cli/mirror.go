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

func (a *app) formatNamed(system string) (format.Format, error) { return a.parts.Formats.Named(system) }

func (a *app) systems() string { return a.parts.Formats.Names() }

// systemsHelp says what SYSTEM is.
func (a *app) systemsHelp() string {
	return "SYSTEM is one of " + a.systems() + " (five agent frameworks; see docs/seed-systems.md)"
}

func (a *app) mirrorHelp() string {
	return "keep another system's files up to date, in PATH (default: the project); " + a.systemsHelp()
}

// mirrorFlag is the value of --mirror. Giving it twice is an error, because a run has one mirror.
type mirrorFlag string

func (m *mirrorFlag) Set(value string) error {
	if *m != "" {
		return fmt.Errorf("a run can have only one mirror; already set: %s", *m)
	}
	*m = mirrorFlag(value)
	return nil
}

func (m *mirrorFlag) String() string { return string(*m) }

func (m *mirrorFlag) Type() string { return "SYSTEM[=PATH]" } // the placeholder in help

// mirrorFor returns a function that finds the mirror of a run: the one that the flag names, else the one that the run has.
func (a *app) mirrorFor(p *project.Project, flag mirrorFlag) func(*pawl.State) *interop.Mirror {
	return func(s *pawl.State) *interop.Mirror {
		named := cmp.Or(string(flag), s.Mirror.String())
		m, err := a.parts.Formats.MirrorForRun(p, s, named)
		if err != nil {
			a.printNotes([]string{"not updating the files of " + named + ": " + err.Error()})
			return nil
		}
		return m
	}
}

// mirrorWith returns the mirror of an engine's run.
func (a *app) mirrorWith(p *project.Project, flag mirrorFlag) func(*pawl.State, *journal.Log, *snapshot.Store) engine.Mirror {
	of := a.mirrorFor(p, flag)
	return func(s *pawl.State, log *journal.Log, store *snapshot.Store) engine.Mirror {
		m := of(s)
		if m == nil {
			return nil
		}
		settings, err := config.ReadUser()
		if err != nil {
			a.printNotes([]string{"answers in mirrored files do not count: " + err.Error()})
		}
		m.Answers = settings.Mirrors.Answers
		return interop.NewMirrorWriter(m, p, log, store)
	}
}

// refreshMirror updates the mirrored files of a run that no engine works on.
func (a *app) refreshMirror(ctx context.Context, p *project.Project, r *runs.Run) {
	r.Notes = nil // already printed
	c, err := config.Of(p)
	if err == nil {
		err = a.parts.Formats.Refresh(ctx, p, r, c.Snapshots)
	}
	a.printNotes(r.Notes)
	if err != nil {
		a.printNotes([]string{err.Error()})
	}
}
