package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/permission"
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
	return "SYSTEM is one of " + a.systems() + " (five agent frameworks)"
}

func (a *app) mirrorHelp() string {
	return "keep another system's files up to date, in PATH (default: the project); " + a.systemsHelp()
}

// answersFlag adds --mirror-answers.
func answersFlag(c *cobra.Command, f *flags.Bool) {
	c.Flags().Var(f, permission.MirrorAnswers, "accept answers to this run's gates from the mirrored files")
	c.Flags().Lookup(permission.MirrorAnswers).NoOptDefVal = "true"
}

// mirrored returns the record of the mirror that the flag names; nil for none. The run's first batch has it, so that the run has its
// mirror even if its first engine crashes at once.
func (a *app) mirrored(p *project.Project, o runOptions) (*pawl.RunMirrored, error) {
	m, err := a.parts.Formats.NameMirror(p, string(o.mirror), false)
	switch {
	case err != nil:
		return nil, err
	case m == nil && o.answers.Value:
		return nil, usageError("", "--%s needs --mirror SYSTEM", permission.MirrorAnswers)
	case m == nil:
		return nil, nil
	}
	if m, err = m.ForRun(p, &pawl.State{}); err != nil {
		return nil, err
	}
	record := m.Record(p)
	record.Answers = o.answers.Value
	return &record, nil
}

// setMirrorAnswers records whether answers in the mirrored files of a run count, if the user said so.
func (a *app) setMirrorAnswers(ctx context.Context, p *project.Project, r *runs.Run, o resumeOptions) error {
	if !o.answers.Given {
		return nil
	}
	m, err := a.parts.Formats.MirrorForRun(p, r.State, cmp.Or(string(o.mirror), r.State.Mirror.String()))
	switch {
	case err != nil:
		return err
	case m == nil:
		return usageError("", "--%s needs --mirror SYSTEM, because run %s has no mirror", permission.MirrorAnswers, r.State.Run)
	}
	record := m.Record(p)
	record.Answers = o.answers.Value
	return r.Perform(ctx, p, a.author(), func(*project.Project, *runs.Run) ([]pawl.Payload, error) { return []pawl.Payload{record}, nil })
}

// mirrorFor returns a function that finds the mirror of a run: the one that the flag names, else the one that the run has.
func (a *app) mirrorFor(p *project.Project, flag flags.Mirror) func(*pawl.State) *interop.Mirror {
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
func (a *app) mirrorWith(p *project.Project, flag flags.Mirror) func(*pawl.State, *journal.Log, *snapshot.Store) engine.Mirror {
	of := a.mirrorFor(p, flag)
	return func(s *pawl.State, log *journal.Log, store *snapshot.Store) engine.Mirror {
		m := of(s)
		if m == nil {
			return nil
		}
		settings, err := config.ReadUser(p.Root)
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
