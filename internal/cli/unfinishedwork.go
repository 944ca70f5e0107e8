package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/cli/layout"
	"pawl/internal/discover"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/shellwords"
)

// archiveIfFresh archives the other system's state instead of importing it, if --fresh or the user's answer to that system's
// question says so, and reports whether it did. Without a terminal and with --yes it does not ask.
func (a *app) archiveIfFresh(ctx context.Context, fileFormat format.Format, dir string, folder *interop.Folder, o importOptions) (bool, error) {
	if o.fresh {
		return true, a.archiveSystemState(ctx, fileFormat, dir, folder)
	}
	q := folder.ResumePrompt()
	if q.Ask == "" || o.yes || a.json || !a.interactive() {
		return false, nil
	}
	yes, err := a.askFormatQuestion(folder, q)
	if err != nil || !q.Afresh(yes) {
		return false, err
	}
	return true, a.archiveSystemState(ctx, fileFormat, dir, folder)
}

// askFormatQuestion prints what was found and its problems, and asks the other system's own question.
func (a *app) askFormatQuestion(folder *interop.Folder, q format.Question) (bool, error) {
	fmt.Fprint(a.Out, q.Tell)
	a.printProblems(folder.Verify())
	return layout.AskYesNo(a.In, a.Out, q.Ask, q.Yes)
}

// archiveSystemState moves another system's state to that system's archive, and notes an unfinished run that covers the same work.
func (a *app) archiveSystemState(ctx context.Context, fileFormat format.Format, dir string, folder *interop.Folder) error {
	run := pawl.RunID("")
	p, err := a.project()
	if err != nil {
		p = nil // without a project there is no engine
	} else {
		reading, _ := folder.Read("")
		if run, err = a.existingImport(ctx, reading, dir, folder.FirstPlace()); err != nil {
			return err
		}
	}
	names, err := interop.Archive(p, fileFormat, dir)
	if err != nil {
		return err
	}
	if run != "" {
		a.printNotes([]string{fmt.Sprintf("run %s covers the same work and is unfinished: continue it with pawl resume, or drop it with pawl archive %s", run, run)})
	}
	if a.json {
		return a.printJSON(names)
	}
	for _, name := range names {
		fmt.Fprintf(a.Out, "archived to %s\n", name)
	}
	mirror := fileFormat.Name
	if p != nil && filepath.IsLocal(interop.PathIn(p, dir)) {
		mirror = strings.TrimSuffix(mirror+"="+interop.PathIn(p, dir), "=.")
	}
	fmt.Fprintf(a.Out, "start over with pawl run --mirror %s PLAN\n", shellwords.Word(mirror))
	return nil
}

// resolveUnfinishedWork checks whether the files that a new run will mirror to have unfinished work of others, so that it is never
// overwritten silently. If the system has an archive, it asks on a terminal: yes imports and resumes that work, no lets the
// run archive it. Elsewhere it returns an error unless --new was given.
func (a *app) resolveUnfinishedWork(ctx context.Context, p *project.Project, plan *pawl.Plan, o runOptions) (resumed bool, err error) {
	m, err := a.parts.Formats.NameMirror(p, string(o.mirror), false)
	if err != nil || m == nil {
		return false, err
	}
	folder, err := interop.OpenFolder(ctx, p, m.Format, m.Dir)
	if err == nil {
		err = interop.RefuseOverwrite(ctx, p, m, folder, plan, o.fresh)
	}
	if err != nil || o.fresh {
		return false, err
	}
	q := folder.ResumePrompt()
	if q.Ask == "" || interop.IsProjectRun(p, q.Workflow) {
		return false, nil
	}
	system := m.Format.Name
	if !a.interactive() {
		return false, &pawl.Error{
			Kind: pawl.KindUsage, Hint: "pawl import " + system + ", or --new",
			Err: fmt.Errorf("workflow %s of %s is unfinished; import it, or pass --new to archive it and start over", cmp.Or(q.Workflow, "(unknown)"), system),
		}
	}
	yes, err := a.askFormatQuestion(folder, q)
	if err != nil || q.Afresh(yes) {
		return false, err
	}
	return true, a.importAndResume(ctx, p, m, folder, o)
}

// importAndResume imports another system's workflow, unless that was done before, asks to adopt the run and resumes it.
func (a *app) importAndResume(ctx context.Context, p *project.Project, m *interop.Mirror, folder *interop.Folder, o runOptions) error {
	reading, findings := folder.Read("")
	reading = interop.RelativeTo(p.Root, m.Dir, reading)
	run, err := a.existingImport(ctx, reading, m.Dir, folder.FirstPlace())
	if err != nil {
		return err
	}
	if run == "" {
		made, err := a.createImportedRun(ctx, reading, findings, m.Dir, folder.FirstPlace(), string(pawl.ClaudeCode))
		if err != nil {
			return err
		}
		run = made.Run
	}
	if err := a.adoptImported(ctx, p, run); err != nil {
		return err
	}
	return a.resume(ctx, string(run), resumeOptions{parallel: o.parallel, mirror: o.mirror})
}

// unimported returns the unfinished work of other systems here that no run was imported from.
func (a *app) unimported(ctx context.Context) []discover.Found {
	here, err := a.here()
	if err != nil {
		return nil
	}
	return discover.At(ctx, here)
}

// offerImport returns offers to import the unfinished work of other systems that no run was imported from. On a terminal it asks a person
// about each instead: after a yes it imports that work and returns the adopted run, after a no it does not offer it again. name is the run
// that the user named.
func (a *app) offerImport(ctx context.Context, name string, o resumeOptions) (run pawl.RunID, offers []string, err error) {
	if o.handed {
		return "", nil, nil
	}
	who, _ := a.caller()
	for _, found := range a.unimported(ctx) {
		if name != "" || o.dry || o.yes || !a.interactive() || who.Kind != caller.Person {
			offers = append(offers, found.Offer())
			continue
		}
		yes, err := layout.AskYesNo(a.In, a.Out, found.Offer()+"\nImport it now?", false)
		if err == nil && !yes {
			if err = a.dismiss(found.System); err == nil {
				continue
			}
		}
		if err == nil {
			run, err = a.importFrom(ctx, found.System, "", importOptions{agent: string(pawl.ClaudeCode), yes: true})
		}
		if err != nil {
			return "", offers, err
		}
		p, err := a.project()
		return run, offers, cmp.Or(err, a.adoptImported(ctx, p, run))
	}
	return "", offers, nil
}

// dismiss records that the user does not want to import the work of a system in this project.
func (a *app) dismiss(system string) error {
	p, err := a.projectOrInit()
	if err == nil {
		err = discover.Dismiss(p, system)
	}
	if err == nil {
		a.printNotes([]string{"pawl does not offer the work of " + system + " in this project again; pawl import " + system + " still imports it"})
	}
	return err
}
