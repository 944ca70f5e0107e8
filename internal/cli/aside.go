package cli

import (
	"context"
	"fmt"
	"os"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/foreign"
	"pawl/internal/project"
)

// afresh reports whether what was found is not to be gone on with, and then sets it aside: a flag says so, or a person whom
// its system would ask. Without a terminal, and with --yes, it is gone on with.
func (a *app) afresh(codec foreign.Codec, dir string, folder *engine.ForeignFolder, o importOptions) (bool, error) {
	if o.fresh {
		return true, a.setAside(codec, dir)
	}
	q := folder.Question()
	if q.Ask == "" || o.yes || a.json || !a.hasPerson() {
		return false, nil
	}
	yes, err := a.ask(q.Ask, q.Yes)
	if err != nil || !q.Afresh(yes) {
		return false, err
	}
	return true, a.setAside(codec, dir)
}

// setAside moves another system's state to its own archive.
func (a *app) setAside(codec foreign.Codec, dir string) error {
	names, err := engine.ArchiveForeign(codec, dir)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(names)
	}
	for _, name := range names {
		fmt.Fprintf(a.Out, "archived to %s\n", name)
	}
	return nil
}

// otherWork looks whether another workflow is unfinished in the files that a new run is to keep up to date. Who sits at a
// terminal may go on with it, which is done then, or have it archived by the run; without one that is for --new to say.
func (a *app) otherWork(ctx context.Context, p *project.Project, plan string, o runOptions) (resumed bool, err error) {
	m, err := a.mirrorNamed(p, o.mirror)
	if err != nil || m == nil {
		return false, err
	}
	folder, err := engine.OpenForeign(ctx, p, m.Codec, m.Dir)
	if err == nil {
		err = notOver(folder, m.Codec, plan)
	}
	if err != nil || o.fresh {
		return false, err
	}
	q := folder.Question()
	if q.Ask == "" || isRunOf(p, q.Workflow) {
		return false, nil
	}
	system := m.Codec.System()
	if !a.hasPerson() {
		return false, &pawl.Error{
			Kind: pawl.KindUsage, Hint: "pawl import " + system + ", or --new",
			Err: fmt.Errorf("workflow %s of %s is unfinished here: go on with it, or say --new to archive it and start afresh", orText(q.Workflow, "(unknown)"), system),
		}
	}
	yes, err := a.ask(q.Ask, q.Yes)
	if err != nil || q.Afresh(yes) {
		return false, err
	}
	return true, a.goOnWith(ctx, m, folder, o)
}

// notOver refuses to have a run write over the unfinished work of another one, where a system has no archive for it.
func notOver(folder *engine.ForeignFolder, codec foreign.Codec, plan string) error {
	if _, sole := codec.(foreign.Sole); !sole {
		return nil
	}
	r, _ := folder.Read("")
	if r.Name == "" || r.Name == plan || r.Status == pawl.StatusCompleted {
		return nil
	}
	system := codec.System()
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: fmt.Sprintf("pawl import %s, or a folder of its own: --mirror %s=PATH", system, system),
		Err: fmt.Errorf("%s of %s is unfinished here, and %s would be written over it", r.Name, system, plan),
	}
}

// goOnWith makes a run of another system's workflow and carries it on.
func (a *app) goOnWith(ctx context.Context, m *engine.Mirror, folder *engine.ForeignFolder, o runOptions) error {
	reading, findings := folder.Read("")
	made, err := a.makeRun(ctx, reading, findings, m.Dir, string(pawl.ClaudeCode))
	if err != nil {
		return err
	}
	return a.resume(ctx, string(made.Run), resumeOptions{parallel: o.parallel, mirror: o.mirror})
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
