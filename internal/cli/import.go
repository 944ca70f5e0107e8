package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/importview"
	"pawl/internal/cli/layout"
	"pawl/internal/config"
	"pawl/internal/engine"
	"pawl/internal/evidence"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/shellwords"
)

type importOptions struct {
	dry     bool
	prompt  bool
	fresh   bool
	dismiss bool
	yes     bool
	agent   string
	project string
	only    string
}

func (a *app) importCommand() *cobra.Command {
	o := importOptions{agent: string(pawl.ClaudeCode)}
	c := &cobra.Command{
		Use:   "import SYSTEM [PATH]",
		Short: "Import another system's state as a run",
		Long: "Import another system's state as a run\n\n" + a.systemsHelp() + ".\nPATH is the folder with the files of SYSTEM (default: the project). For projectstate it can be a SQL dump, a SQLite database, or\n" +
			"\"postgres:\" for the database that PAWL_POSTGRES names.\n" +
			"pawl imports a step as done only if all files that it lists as results exist. It does not change the files of SYSTEM, except\n" +
			"with --fresh. Run pawl adopt before pawl resume. import asks only on a terminal, and only about an unfinished workflow of\n" +
			"dotagent: whether to import it, or to archive it and start over.",
		Example: "  pawl import grid --dry-run\n  pawl import dotagent ../other",
		Args:    oneOrTwo(a.systemArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			run, err := a.importFrom(c.Context(), args[0], optional(args, 1), o)
			if run != "" && !a.json {
				fmt.Fprintf(a.Out, "pawl adopt %s\n", run)
			}
			return err
		},
	}
	c.Flags().BoolVar(&o.dry, "dry-run", false, "print what would be imported and exit")
	c.Flags().BoolVar(&o.prompt, "prompt", false, "with --dry-run: print the system's own continuation prompt, and nothing else")
	c.Flags().BoolVar(&o.fresh, "fresh", false, "import nothing; move the system's state to that system's archive folder")
	yesFlag(c, &o.yes, helptext.NoAsk)
	c.Flags().BoolVar(&o.dismiss, "dismiss", false, "import nothing; status, resume and attached agents do not offer this system's files in this project again")
	c.MarkFlagsMutuallyExclusive("dry-run", "fresh", "dismiss")
	textFlag(c, &o.agent, "agent", "AGENT", "the coding agent that runs the unfinished steps")
	textFlag(c, &o.project, "project", "ID", "the project or, for gyoshu, the run to import if the files contain several: id, id prefix or name (default: the active one)")
	textFlag(c, &o.only, "only", "NAME", "import only the steps of this agent, or only this step")
	return a.jsonFlag(c)
}

// check returns an error for options that do not go together, and for an unknown agent.
func (o importOptions) check() error {
	if o.prompt && !o.dry {
		return usageError("", "--prompt needs --dry-run")
	}
	if agents := pawl.AgentNames[:len(pawl.AgentNames)-1]; !slices.Contains(agents, pawl.AgentName(o.agent)) { // without AnyCommand
		return usageError("", "unknown --agent %q; supported: %s", o.agent, layout.JoinIDs(agents))
	}
	return nil
}

// importFrom imports the state of a system and returns the run; none if it only shows, archives or dismisses that state.
func (a *app) importFrom(ctx context.Context, system, path string, o importOptions) (pawl.RunID, error) {
	fileFormat, err := a.formatFor(system, o.project)
	if err != nil {
		return "", err
	}
	if o.dismiss {
		return "", a.dismiss(system)
	}
	dir, err := a.filesOf(ctx, system, path)
	if err != nil {
		return "", err
	}
	folder, place, err := a.openPlace(ctx, fileFormat, dir)
	if err != nil {
		return "", err
	}
	reading, findings := folder.Read(place)
	if reading.Name == "" && len(reading.Phases) == 0 {
		return "", a.nothingImported(system, dir, o.project, folder.Projects(), findings)
	}
	root, err := a.pathOrProject("")
	if err != nil {
		return "", err
	}
	if place == "" {
		reading = interop.RelativeTo(root, dir, reading)
	}
	if o.only != "" {
		var needed []pawl.Finding
		if reading, needed, err = interop.Only(reading, o.only); err != nil {
			return "", err
		}
		findings = append(findings, needed...)
	}
	if o.dry {
		var others []string
		if places := folder.Places(); place == "" && len(places) > 1 {
			others = places[1:]
		}
		reading, found := interop.CheckClaims(root, reading)
		return "", a.printImportReport(importview.Of(reading, slices.Concat(findings, found), others, folder.Read), o.prompt)
	}
	if there := folder.Projects(); o.project == "" && len(there) > 1 && folder.Places() == nil && !hasActiveWork(reading) {
		return "", usageError("pawl import "+system+" --project ID, with one of "+strings.Join(there, ", "),
			"none of the %d projects is active; choose one with --project", len(there))
	}
	if archived, err := a.archiveIfFresh(ctx, fileFormat, dir, folder, o); err != nil || archived {
		return "", err
	}
	if place != "" {
		dir = root
	}
	made, err := a.createImportedRun(ctx, reading, findings, dir, cmp.Or(place, folder.FirstPlace()), o.agent)
	if err == nil && a.json {
		err = a.printJSON(made)
	}
	return made.Run, err
}

// formatFor returns the format of a system, limited to one project if project is not empty.
func (a *app) formatFor(system, project string) (format.Format, error) {
	fileFormat, err := a.formatNamed(system)
	if err != nil || project == "" {
		return fileFormat, err
	}
	if fileFormat.Select == nil {
		return fileFormat, usageError("", "--project: the files of %s contain only one project", system)
	}
	server := fileFormat.Server
	fileFormat = fileFormat.Select(project)
	fileFormat.Server = server
	return fileFormat, nil
}

// hasActiveWork reports whether what was read is being worked on, or was interrupted.
func hasActiveWork(r format.Project) bool {
	return r.Status == pawl.StatusActive || r.Status == pawl.StatusInterrupted
}

// nothingImported returns the error for files in which nothing was found: no such project, no files, or unreadable files.
func (a *app) nothingImported(system, dir, project string, there []string, findings []pawl.Finding) error {
	if project != "" && len(there) > 0 {
		return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("unknown project %s; the files contain: %s", project, strings.Join(there, ", ")),
			Hint: "pawl import " + system + " --project " + shellwords.Word(there[0])}
	}
	a.printProblems(findings)
	for _, f := range findings {
		if f.Level == pawl.Bad {
			return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("cannot read the files of %s: %s", system, f.Where), Hint: f.Hint}
		}
	}
	return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("no files of %s found in %s", system, dir), Hint: "pawl import " + system + " PATH"}
}

// createImportedRun creates a run of what was read, and prints it.
func (a *app) createImportedRun(ctx context.Context, reading format.Project, findings []pawl.Finding, dir, place, agent string) (interop.Imported, error) {
	p, err := a.projectOrInit()
	if err != nil {
		return interop.Imported{}, err
	}
	a.register(p)
	if reading.Status == pawl.StatusActive {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: cmp.Or(reading.Resume, "somebody may still be working on it"), Where: interop.PathIn(p, dir),
			Hint: "before pawl resume, make sure that no other program works on it"})
	}
	c, err := config.Of(p)
	if err != nil {
		return interop.Imported{}, err
	}
	made, err := interop.Import(ctx, p, a.author(), interop.Source{
		Project: reading, Path: interop.PathIn(p, dir), Place: place, Findings: findings, Agent: pawl.AgentName(agent), Version: a.version,
		Ask: askEvaluator(a.parts.Adviser(c.Evaluator, p.Root)),
	})
	if err != nil || a.json {
		return made, err
	}
	a.printProblems(made.Findings)
	fmt.Fprintf(a.Out, "imported %s as run %s: %d of %s done\n", reading.System, made.Run, len(made.Done), layout.Count(reading.Count(), "step"))
	return made, nil
}

// askEvaluator returns a function that asks an evaluator about imported work; nil without an evaluator.
func askEvaluator(e engine.Evaluator) func(context.Context, evidence.Evidence) interop.Opinion {
	if e == nil {
		return nil
	}
	return func(ctx context.Context, about evidence.Evidence) interop.Opinion {
		o := e.Evaluate(ctx, about)
		if o.Doubt != "" {
			o.Reasons = []string{"its answer was rejected: " + o.Doubt}
		}
		return interop.Opinion{Word: o.Word, By: o.By, Reasons: o.Reasons}
	}
}

// existingImport returns the unfinished run of this project that was imported from the same work; "" if there is none.
func (a *app) existingImport(ctx context.Context, reading format.Project, dir, place string) (pawl.RunID, error) {
	p, err := a.projectOrInit()
	if err != nil {
		return "", err
	}
	return interop.UnfinishedRun(ctx, p, interop.Source{Project: reading, Path: interop.PathIn(p, dir), Place: place})
}

// filesOf is existingPath, with the database that the user's settings name if PATH is empty and that database exists. The place of a run
// may have no folder yet: other files of the run can be elsewhere.
func (a *app) filesOf(ctx context.Context, system, path string) (string, error) {
	root, err := a.pathOrProject("")
	if err != nil {
		return "", err
	}
	if file := a.parts.Formats.Database(root, system); path == "" && file != "" {
		if _, err := os.Stat(file); err == nil {
			path = file
		}
		if filepath.Base(file) == format.ServerFile {
			path = format.ServerFile
		}
	}
	dir, err := a.existingPath(path)
	if err == nil {
		return dir, nil
	}
	f, formatErr := a.parts.Formats.Named(system)
	dir, pathErr := a.pathOrProject(path)
	if formatErr != nil || pathErr != nil {
		return "", err
	}
	if _, place, openErr := a.openPlace(ctx, f, dir); openErr != nil || place == "" {
		return "", err
	}
	return dir, nil
}

// existingPath is pathOrProject for a file or folder that must exist.
func (a *app) existingPath(path string) (string, error) {
	dir, err := a.pathOrProject(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && path != format.ServerFile {
		return "", usageError("", "no such file or folder: %s", path)
	}
	return dir, nil
}

// pathOrProject returns the absolute path of PATH, which need not exist; the project's folder if PATH is empty.
func (a *app) pathOrProject(path string) (string, error) {
	if path == "" {
		if p, err := a.project(); err == nil {
			return p.Root, nil
		}
		return a.here()
	}
	if path == format.ServerFile {
		root, err := a.pathOrProject("")
		return filepath.Join(root, path), err
	}
	if !filepath.IsAbs(path) {
		here, err := a.here()
		if err != nil {
			return "", err
		}
		path = filepath.Join(here, path)
	}
	return interop.Resolved(path)
}

// openPlace opens the folder with another system's files. If dir is the place of one of several runs in the project, it opens
// the project and returns that place; else it opens dir.
func (a *app) openPlace(ctx context.Context, fileFormat format.Format, dir string) (*interop.Folder, string, error) {
	root, err := a.existingPath("")
	if err != nil {
		return nil, "", err
	}
	rel, err := filepath.Rel(root, dir)
	if fileFormat.Places != nil && err == nil && rel != "." && filepath.IsLocal(rel) {
		folder, err := a.openFolder(ctx, fileFormat, root)
		if err != nil {
			return nil, "", err
		}
		for _, place := range folder.Places() {
			if rel = filepath.ToSlash(rel); place == rel || path.Dir(place) == rel {
				return folder, place, nil
			}
		}
	}
	folder, err := a.openFolder(ctx, fileFormat, dir)
	return folder, "", err
}

// openFolder opens a folder with another system's files. The project's journals count only for files within the project.
func (a *app) openFolder(ctx context.Context, fileFormat format.Format, dir string) (*interop.Folder, error) {
	p, err := a.project()
	if err != nil || fileFormat.Tables == nil && !filepath.IsLocal(interop.PathIn(p, dir)) {
		p = nil
	}
	folder, err := interop.OpenFolder(ctx, p, fileFormat, dir)
	if err != nil || p == nil {
		return folder, err
	}
	c, err := config.Of(p)
	folder.SetLiveness(time.Duration(c.Warning), time.Duration(c.Stalled))
	return folder, err
}

// printProblems prints the findings that are not ok, each only once.
func (a *app) printProblems(findings []pawl.Finding) {
	for _, f := range findings {
		if f.Level != pawl.OK && !slices.Contains(a.printed, f) {
			a.printed = append(a.printed, f)
			layout.PrintFinding(a.Out, f)
		}
	}
}

func (a *app) printImportReport(r importview.Report, prompt bool) error {
	switch {
	case prompt:
		return r.PrintPrompt(a.Out)
	case a.json:
		return a.printJSON(r)
	}
	return r.Print(a.Out, a.printProblems)
}
