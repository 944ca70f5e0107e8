package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) exportCommand() *cobra.Command {
	var name string
	var dry, over bool
	c := &cobra.Command{
		Use:   "export SYSTEM [PATH]",
		Short: "Write a run as another system's files",
		Long: "Write a run as another system's files\n\nSYSTEM is " + a.systems() + ". PATH is the folder that its files are in, or are to be in (default: the project).\n" +
			"Of files that are there only what differs is changed.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.exportTo(c.Context(), args[0], optional(args, 1), name, dry, over)
		},
	}
	c.Flags().StringVar(&name, "run", "", "the run (default: the current one)")
	c.Flags().BoolVar(&dry, "dry-run", false, "only name the files")
	c.Flags().BoolVar(&over, "over", false, "write over unfinished work of others too")
	return a.jsonFlag(c)
}

func (a *app) exportTo(ctx context.Context, system, path, name string, dry, over bool) error {
	codec, err := a.codec(system)
	if err != nil {
		return err
	}
	p, r, err := a.look(ctx, name)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	dir := p.Root
	if path != "" {
		if dir, err = a.foreignPlace(path); err != nil {
			return err
		}
	}
	m, err := (&interop.Mirror{Format: codec, Dir: dir}).ForRun(p, r.State)
	if err != nil {
		return err
	}
	if !over {
		if err := a.notOverOthers(ctx, p, *m, r, "pawl export "+system+" ANOTHER-FOLDER, or --over"); err != nil {
			return err
		}
	}
	c, err := config.Read(p.Config())
	if err != nil {
		return err
	}
	holder, alive := p.EngineHolder()
	written, err := interop.Export(ctx, p, r, *m, c.Snapshots, alive && holder.Run == r.State.Run, dry)
	a.sayNotes(r.Notes)
	if err != nil {
		return err
	}
	if path != "" && !dry && len(written) > 0 {
		a.sayMissing(ctx, codec, dir, path)
	}
	names := left(written)
	if a.json {
		return a.printJSON(names)
	}
	for _, name := range names {
		fmt.Fprintln(a.Out, name)
	}
	if len(names) == 0 {
		fmt.Fprintln(a.Err, "pawl: nothing is to be changed there")
	}
	return nil
}

// sayMissing says that files were exported without those that they name, where that makes them faulty.
func (a *app) sayMissing(ctx context.Context, codec format.Format, dir, path string) {
	folder, err := a.openForeign(ctx, codec, dir)
	if err != nil {
		return // who reads them is told
	}
	faults := slices.DeleteFunc(folder.Verify(), func(f pawl.Finding) bool { return f.Level != pawl.Bad })
	if len(faults) > 0 {
		a.sayNotes([]string{fmt.Sprintf("what these files name is not copied with them: pawl verify --as %s %s finds %s", codec.Name, path, count(len(faults), "fault"))})
	}
}

// notOverOthers refuses to write a run over work of another name that is unfinished in a folder, and was not gone on with by it.
func (a *app) notOverOthers(ctx context.Context, p *project.Project, m interop.Mirror, r *runs.Run, hint string) error {
	folder, err := a.openForeign(ctx, m.Format, m.Dir)
	if err != nil {
		return err
	}
	what, _ := folder.Unfinished(r.Plan)
	there, _ := folder.Read("")
	if what == "" || there.Name == r.State.Name || itsOwn(p, m, folder, r) {
		if what = othersWorkflow(p, m, folder, r.State); what == "" {
			return nil
		}
	}
	return usageError(hint, "%s: %s is unfinished here, and run %s would be written over it", m.Format.Name, what, r.State.Run)
}

// othersWorkflow names the workflow that a system would go on with in a folder, where no run of this project is it, and this one
// was not made of it; empty where there is none.
func othersWorkflow(p *project.Project, m interop.Mirror, folder *interop.Folder, s *pawl.State) string {
	q := folder.ResumePrompt()
	if q.Ask == "" || isRunOf(p, q.Workflow) || s.Import.System == m.Format.Name && s.Import.ID == q.Workflow {
		return ""
	}
	return "workflow " + cmp.Or(q.Workflow, "(unknown)")
}

// itsOwn reports whether a run has the files of a folder kept up to date, or was made of what is unfinished there.
func itsOwn(p *project.Project, m interop.Mirror, folder *interop.Folder, r *runs.Run) bool {
	s := r.State
	if s.Mirror != nil && *s.Mirror == m.Record(p) {
		return true
	}
	_, file := folder.Unfinished(r.Plan)
	place, is := folder.ImportPlace(p, s)
	_, madeOf := folder.At(place).Unfinished(r.Plan)
	return is && file == madeOf
}

// left names the files of a writing that are there after it, each once: some are written only to be archived.
func left(written []format.File) []string {
	names := []string{}
	for _, f := range written {
		names = slices.DeleteFunc(names, func(name string) bool { return name == f.Path })
		if f.Data != nil {
			names = append(names, f.Path)
		}
	}
	return names
}
