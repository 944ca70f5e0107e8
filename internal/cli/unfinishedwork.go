package cli

import (
	"cmp"
	"context"
	"fmt"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/project"
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
	return a.askYesNo(q.Ask, q.Yes)
}

// archiveSystemState moves another system's state to that system's archive, and notes an unfinished run that covers the same work.
func (a *app) archiveSystemState(ctx context.Context, fileFormat format.Format, dir string, folder *interop.Folder) error {
	run := pawl.RunID("")
	p, err := a.project()
	if err != nil {
		p = nil // without a project there is no engine
	} else {
		reading, _ := folder.Read("")
		if run, err = a.existingImport(ctx, reading, dir, firstPlace(folder)); err != nil {
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
	return nil
}

// resolveUnfinishedWork checks whether the files that a new run will mirror to have unfinished work of others, so that it is never
// overwritten silently. If the system has an archive, it asks on a terminal: yes imports and resumes that work, no lets the
// run archive it. Elsewhere it returns an error unless --new was given.
func (a *app) resolveUnfinishedWork(ctx context.Context, p *project.Project, plan *pawl.Plan, o runOptions) (resumed bool, err error) {
	m, err := a.parts.Formats.ParseMirror(p, string(o.mirror))
	if err != nil || m == nil {
		return false, err
	}
	folder, err := interop.OpenFolder(ctx, p, m.Format, m.Dir)
	if err == nil {
		err = refuseOverwrite(ctx, p, m, folder, plan, o.fresh)
	}
	if err != nil || o.fresh {
		return false, err
	}
	q := folder.ResumePrompt()
	if q.Ask == "" || isProjectRun(p, q.Workflow) {
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

// refuseOverwrite returns an error if a new run would overwrite unfinished work of others. What an earlier run of the same plan
// left there counts as its own unless others changed it since; if that run is unfinished, only fresh allows to replace it.
func refuseOverwrite(ctx context.Context, p *project.Project, m *interop.Mirror, folder *interop.Folder, plan *pawl.Plan, fresh bool) error {
	what, file := folder.Unfinished(plan)
	if what == "" {
		return nil
	}
	system := m.Format.Name
	last := interop.LastMirrored(ctx, p, plan.Name, m.Record(p))
	hint := fmt.Sprintf("pawl import %s%s, or mirror to another folder: --mirror %s=PATH", system, folderArgument(p, m), system)
	if last != nil && m.ChangedSince([]format.File{{Path: file}}, last.Updated) == "" {
		if last.Ended() || fresh {
			return nil
		}
		hint = "pawl resume " + string(last.Run)
	}
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: hint,
		Err: fmt.Errorf("%s: %s is unfinished, and run %s would overwrite it", system, what, plan.Name),
	}
}

// folderArgument returns the folder of a mirror as a command's argument, with a leading space; "" for the project itself.
func folderArgument(p *project.Project, m *interop.Mirror) string {
	if path := m.Record(p).Path; path != "" {
		return " " + path
	}
	return ""
}

// importAndResume imports another system's workflow, unless that was done before, asks to adopt the run and resumes it.
func (a *app) importAndResume(ctx context.Context, p *project.Project, m *interop.Mirror, folder *interop.Folder, o runOptions) error {
	reading, findings := folder.Read("")
	reading = relativeToProject(p.Root, m.Dir, reading)
	run, err := a.existingImport(ctx, reading, m.Dir, firstPlace(folder))
	if err != nil {
		return err
	}
	if run == "" {
		made, err := a.createImportedRun(ctx, reading, findings, m.Dir, firstPlace(folder), string(pawl.ClaudeCode))
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

// isProjectRun reports whether a workflow is a run of this project.
func isProjectRun(p *project.Project, workflow string) bool {
	run, err := pawl.ParseRunID(workflow)
	if err != nil {
		return false
	}
	_, err = disk.Lstat(p.RunDir(run))
	return err == nil
}
