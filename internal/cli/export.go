package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/config"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) exportCommand() *cobra.Command {
	var name string
	var dry, over bool
	c := &cobra.Command{
		Use:     "export SYSTEM [PATH]",
		Short:   "Write a run as another system's files",
		Long:    "Write a run as another system's files\n\n" + a.systemsHelp() + ".\nPATH is the folder to write to (default: the project). Existing files are edited in place.",
		Example: "  pawl export grid --dry-run\n  pawl export dotagent ../other",
		Args:    oneOrTwo(a.systemArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			return a.exportTo(c.Context(), args[0], optional(args, 1), name, dry, over)
		},
	}
	textFlag(c, &name, "run", "RUN", "the run to export (default: the current one, see pawl help all)")
	c.Flags().BoolVar(&dry, "dry-run", false, "print the names of the files and exit")
	c.Flags().BoolVar(&over, "over", false, "overwrite unfinished work in PATH even if pawl did not write it")
	return a.jsonFlag(c)
}

func (a *app) exportTo(ctx context.Context, system, path, name string, dry, over bool) error {
	fileFormat, err := a.formatNamed(system)
	if err != nil {
		return err
	}
	p, r, err := a.loadRun(ctx, name)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	if err := runs.RequireOwn(p, r.State.Run); err != nil {
		a.printNotes([]string{err.Error() + "; what the files say of it is unverified"})
	}
	dir, err := a.pathOrProject(cmp.Or(path, a.parts.Formats.Database(p.Root, system)))
	if err != nil {
		return err
	}
	m, err := (&interop.Mirror{Format: fileFormat, Dir: dir}).ForRun(p, r.State)
	if err != nil {
		return err
	}
	if !over {
		if err := a.refuseExportOverwrite(ctx, p, *m, r, "pawl export "+system+" ANOTHER-FOLDER, or --over"); err != nil {
			return err
		}
	}
	c, err := config.Of(p)
	if err != nil {
		return err
	}
	holder, alive := p.EngineHolder()
	written, err := interop.Export(ctx, p, r, *m, c.Snapshots, alive && holder.Run == r.State.Run, dry)
	a.printNotes(r.Notes)
	if err != nil {
		return err
	}
	if path != "" && !dry && len(written) > 0 {
		a.noteMissingFiles(ctx, fileFormat, dir, path)
	}
	names := interop.WrittenNames(written)
	if a.json {
		return a.printJSON(names)
	}
	for _, name := range names {
		fmt.Fprintln(a.Out, oneline.Path(name))
	}
	if len(names) == 0 {
		fmt.Fprintln(a.Err, "pawl: nothing to write: the files are up to date")
	}
	return nil
}

// noteMissingFiles prints a note if exported files refer to files that were not copied, which the other system would reject.
func (a *app) noteMissingFiles(ctx context.Context, fileFormat format.Format, dir, path string) {
	folder, err := a.openFolder(ctx, fileFormat, dir)
	if err != nil {
		return // whoever reads the files gets the error
	}
	faults := slices.DeleteFunc(folder.Verify(), func(f pawl.Finding) bool { return f.Level != pawl.Bad })
	if len(faults) > 0 {
		a.printNotes([]string{fmt.Sprintf("files that the exported ones refer to were not copied; pawl verify --as %s %s reports %s", fileFormat.Name, path, layout.Count(len(faults), "fault"))})
	}
}

// refuseExportOverwrite returns an error if a folder has unfinished work of another name that this run does not continue.
func (a *app) refuseExportOverwrite(ctx context.Context, p *project.Project, m interop.Mirror, r *runs.Run, hint string) error {
	folder, err := a.openFolder(ctx, m.Format, m.Dir)
	if err != nil {
		return err
	}
	what, _ := folder.Unfinished(r.Plan)
	there, _ := folder.Read("")
	if what == "" || there.Name == r.State.Name || folder.OwnedBy(p, m, r) {
		if what = folder.WorkflowToResume(p, m, r.State); what == "" {
			return nil
		}
	}
	return usageError(hint, "%s: %s is unfinished, and exporting run %s would overwrite it", m.Format.Name, what, r.State.Run)
}
