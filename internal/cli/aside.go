package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"pawl"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/project"
)

// afresh reports whether what was found is not to be gone on with, and then sets it aside: a flag says so, or a person whom
// its system would ask. Without a terminal, and with --yes, it is gone on with.
func (a *app) afresh(ctx context.Context, codec format.Format, dir string, folder *interop.Folder, o importOptions) (bool, error) {
	if o.fresh {
		return true, a.setAside(ctx, codec, dir, folder)
	}
	q := folder.ResumePrompt()
	if q.Ask == "" || o.yes || a.json || !a.hasPerson() {
		return false, nil
	}
	yes, err := a.askOf(folder, q)
	if err != nil || !q.Afresh(yes) {
		return false, err
	}
	return true, a.setAside(ctx, codec, dir, folder)
}

// askOf asks what a system asks of its files. They are told first what was found, and what is wrong with it.
func (a *app) askOf(folder *interop.Folder, q format.Question) (bool, error) {
	fmt.Fprint(a.Out, q.Tell)
	a.printWorst(folder.Verify())
	return a.ask(q.Ask, q.Yes)
}

// setAside moves another system's state to its own archive, and tells of an unfinished run that does its work all the same.
func (a *app) setAside(ctx context.Context, codec format.Format, dir string, folder *interop.Folder) error {
	run := pawl.RunID("")
	p, err := a.project()
	if err != nil {
		p = nil // then no engine works here
	} else {
		reading, _ := folder.Read("")
		if run, err = a.madeOf(ctx, reading, dir, firstPlace(folder)); err != nil {
			return err
		}
	}
	names, err := interop.Archive(p, codec, dir)
	if err != nil {
		return err
	}
	if run != "" {
		a.sayNotes([]string{fmt.Sprintf("run %s does this work too, and is unfinished: pawl resume goes on with it all the same, pawl archive %s lets go of it", run, run)})
	}
	if a.json {
		return a.printJSON(names)
	}
	for _, name := range names {
		fmt.Fprintf(a.Out, "archived to %s\n", name)
	}
	return nil
}

// otherWork looks whether the work of others is unfinished in the files that a new run is to keep up to date: it is never
// gone on over silently. Where the system has an archive for it, who sits at a terminal may go on with it, which is done then,
// or have it archived by the run; without one that is for --new to say.
func (a *app) otherWork(ctx context.Context, p *project.Project, plan *pawl.Plan, o runOptions) (resumed bool, err error) {
	m, err := a.parts.Formats.ParseMirror(p, string(o.mirror))
	if err != nil || m == nil {
		return false, err
	}
	folder, err := interop.OpenFolder(ctx, p, m.Format, m.Dir)
	if err == nil {
		err = notOver(ctx, p, m, folder, plan, o.fresh)
	}
	if err != nil || o.fresh {
		return false, err
	}
	q := folder.ResumePrompt()
	if q.Ask == "" || isRunOf(p, q.Workflow) {
		return false, nil
	}
	system := m.Format.Name
	if !a.hasPerson() {
		return false, &pawl.Error{
			Kind: pawl.KindUsage, Hint: "pawl import " + system + ", or --new",
			Err: fmt.Errorf("workflow %s of %s is unfinished here: go on with it, or say --new to archive it and start afresh", cmp.Or(q.Workflow, "(unknown)"), system),
		}
	}
	yes, err := a.askOf(folder, q)
	if err != nil || q.Afresh(yes) {
		return false, err
	}
	return true, a.goOnWith(ctx, p, m, folder, o)
}

// notOver refuses to have a run write over unfinished work that it does not come from. What a run of the same plan has left
// there is its own, unless others went on with it since; one that is unfinished itself is resumed, or started anew by fresh.
func notOver(ctx context.Context, p *project.Project, m *interop.Mirror, folder *interop.Folder, plan *pawl.Plan, fresh bool) error {
	what, file := folder.Unfinished(plan)
	if what == "" {
		return nil
	}
	system := m.Format.Name
	last := interop.LastMirrored(ctx, p, plan.Name, m.Record(p))
	hint := fmt.Sprintf("pawl import %s%s, or a folder of its own: --mirror %s=PATH", system, folderArgument(p, m), system)
	if last != nil && m.ChangedSince([]format.File{{Path: file}}, last.Updated) == "" {
		if last.Ended() || fresh {
			return nil
		}
		hint = "pawl resume " + string(last.Run)
	}
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: hint,
		Err: fmt.Errorf("%s: %s is unfinished here, and %s would be written over it", system, what, plan.Name),
	}
}

// folderArgument returns a mirror's folder as an argument for a command, with a space before it; nothing for the project.
func folderArgument(p *project.Project, m *interop.Mirror) string {
	if path := m.Record(p).Path; path != "" {
		return " " + path
	}
	return ""
}

// goOnWith makes a run of another system's workflow, where none was made of it yet, and carries it on.
func (a *app) goOnWith(ctx context.Context, p *project.Project, m *interop.Mirror, folder *interop.Folder, o runOptions) error {
	reading, findings := folder.Read("")
	reading = inProject(p.Root, m.Dir, reading)
	run, err := a.madeOf(ctx, reading, m.Dir, firstPlace(folder))
	if err != nil {
		return err
	}
	if run == "" {
		made, err := a.makeRun(ctx, reading, findings, m.Dir, firstPlace(folder), string(pawl.ClaudeCode))
		if err != nil {
			return err
		}
		run = made.Run
	}
	return a.resume(ctx, string(run), resumeOptions{parallel: o.parallel, mirror: o.mirror})
}

// isRunOf reports whether a workflow is a run of this project: then what is to become of it is known.
func isRunOf(p *project.Project, workflow string) bool {
	run, err := pawl.ParseRunID(workflow)
	if err != nil {
		return false
	}
	_, err = os.Stat(p.RunDir(run))
	return err == nil
}
