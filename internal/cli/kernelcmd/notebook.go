package kernelcmd

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/notebook"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
)

// Notebook are the flags of pawl notebook run.
type Notebook struct {
	typed, raw, files, texts []string
	action                   pawl.KernelAction
	driver, cwd              string
}

const notebookLong = "Execute a notebook, resumably\n\n" +
	"pawl executes the cells of IN.ipynb in order and writes the outputs to OUT.ipynb, or to IN.ipynb if OUT.ipynb is omitted. The run has\n" +
	"one step, \"notebook\". After a crash, \"pawl resume\" continues at the first unfinished cell, with the variables that the kernel had there.\n" +
	"After a failed cell, fix it, then run \"pawl retry notebook\" and \"pawl resume\". An edited cell and all cells after it rerun. The tags\n" +
	"parameters, skip-execution and raises-exception have the same meaning as for papermill and nbclient."

// Command returns the command. run is called with the plan that executes the notebook, and the path of the plan's file.
func (n *Notebook) Command(find func() (*project.Project, error), folder func() (string, error), run func(c *cobra.Command, path string, plan []byte) error) *cobra.Command {
	c := &cobra.Command{
		Use: "run IN.ipynb [OUT.ipynb]", Short: "Execute a notebook, resumably", Long: notebookLong,
		Example: "  pawl notebook run report.ipynb\n  pawl notebook run report.ipynb out/report-may.ipynb -p month=5",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			here, err := folder()
			if err != nil {
				return err
			}
			if err := n.check(here, args); err != nil {
				return err
			}
			p, err := find()
			if err != nil {
				return err
			}
			path, plan, err := n.plan(p, here, args)
			if err != nil {
				return err
			}
			return run(c, path, plan)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&n.typed, "parameter", "p", nil, "set a parameter, as `NAME=VALUE`: true, false, None, a number, or else a string; can be repeated")
	f.StringArrayVarP(&n.raw, "raw-parameter", "r", nil, "set a parameter to a string, as `NAME=VALUE`; can be repeated")
	f.StringArrayVarP(&n.files, "parameters-file", "f", nil, "set the parameters in this YAML or JSON `FILE`; can be repeated")
	f.StringArrayVarP(&n.texts, "parameters-yaml", "y", nil, "set the parameters in this `YAML` text; can be repeated")
	f.VarP(&text{&n.action.Name, "NAME"}, "kernel", "k", "kernelspec (default: that of the notebook)")
	f.Var(&text{&n.driver, "DRIVER"}, "driver", "python (no Jupyter needed), jupyter or remote (default: jupyter if it is installed, else python)")
	f.Var(&text{&n.action.Python, "PATH"}, "python", "Python interpreter (default: that of .venv, $VIRTUAL_ENV or the kernelspec, else python3)")
	f.Var(&text{&n.action.Server, "URL"}, "server", "address of a Jupyter server, for driver remote; its token is in $JUPYTER_TOKEN")
	f.Var(&text{&n.cwd, "DIR"}, "cwd", "working folder of the kernel (default: that of IN.ipynb)")
	f.BoolVar(&n.action.Strict, "strict", false, "fail if saved variables have to be loaded and Python, a package or the platform changed")
	f.Var(limit{&n.action.StartTimeout}, "start-timeout", startTimeout)
	f.Var(limit{&n.action.CellTimeout}, "cell-timeout", "interrupt a cell after DURATION (default: none)")
	f.Var(&text{&n.action.OutputLimit, "SIZE"}, "output-limit", "text of a cell in the notebook, from 10KiB to 100MiB; a file has the rest (default: 1MiB)")
	return c
}

// plan returns the plan that executes the notebook, and the path of its file.
func (n *Notebook) plan(p *project.Project, here string, args []string) (path string, text []byte, err error) {
	if n.action.File, err = within(p, here, args[0]); err != nil {
		return "", nil, err
	}
	step := map[string]any{"id": "notebook", "name": cmp.Or(strings.TrimSuffix(filepath.Base(args[0]), ".ipynb"), "notebook"), "kernel": &n.action}
	if len(args) > 1 {
		if n.action.Out, err = within(p, here, args[1]); err != nil {
			return "", nil, err
		}
		step["outputs"] = []string{n.action.Out}
	}
	dir := filepath.Dir(n.action.File)
	if n.cwd != "" {
		if dir, err = within(p, here, n.cwd); err != nil {
			return "", nil, err
		}
	}
	if dir != "." {
		step["dir"] = filepath.ToSlash(dir)
	}
	text, err = json.MarshalIndent(map[string]any{"name": step["name"], "steps": []any{step}}, "", "  ")
	sum := sha256.Sum256([]byte(n.action.File + "\x00" + n.action.Out))
	return p.NotebookPlan(hex.EncodeToString(sum[:6])), append(text, '\n'), err
}

// WritePlan writes the plan of a notebook, if there is one. An interrupted run resumes with the plan that is in the file: a command that
// is refused must not have changed it.
func WritePlan(path string, plan []byte) error {
	if plan == nil {
		return nil
	}
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	return disk.Replace(path, plan)
}

// check reads the notebook and the flags. What is wrong with them is known before a folder becomes a project, and before a run starts.
func (n *Notebook) check(here string, args []string) error {
	for _, name := range args {
		if !runs.IsNotebook(name) {
			return usage("", "%s is not a notebook: its name does not end in .ipynb", name)
		}
	}
	n.action.Driver = pawl.KernelDriver(n.driver)
	if err := checkDriver(n.action.Driver, n.action.Server); err != nil {
		return err
	}
	if _, err := planfile.OutputLimit(n.action.OutputLimit); err != nil {
		return usage("", "--output-limit: %v", err)
	}
	if _, err := disk.ReadDir(absolute(here, n.cwd)); err != nil {
		return usage("", "--cwd: %s is not a folder", n.cwd)
	}
	name := args[0]
	data, err := disk.ReadFile(absolute(here, name), notebook.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return usage("", "%s does not exist", name)
	}
	if err != nil {
		return err
	}
	read, err := notebook.Read(data)
	if err != nil {
		return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s: %w", name, err)}
	}
	params, err := n.params()
	if err != nil {
		return err
	}
	if _, _, err := read.Inject("", params); err != nil {
		return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s: %w", name, err)}
	}
	if err := n.missing(here, read.Kernel); err != nil {
		return err
	}
	n.action.Params = stepenv.Literals(params.Exact())
	return nil
}

// missing reports a kernel or an interpreter that is not on this machine. Which ones another account has that executes the steps is unknown.
func (n *Notebook) missing(here string, named notebook.Kernelspec) error {
	action, root := n.action, here
	if p, err := project.Find(here); err == nil {
		root = p.Root
		if c, err := config.Of(p); err != nil || c.RunAs != "" {
			return err
		}
	}
	if action.Name == "" && named.Language != "python" { // Python runs in python3, whatever the kernel's name
		action.Name = named.Name
	}
	return missing(action, root)
}

// absolute returns a path that does not depend on the current folder.
func absolute(here, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(here, path)
}

// within returns a path relative to the project's root, as plans name it.
func within(p *project.Project, here, path string) (string, error) {
	path = absolute(here, path)
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	rel, err := filepath.Rel(p.Root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", usage("pawl -C "+filepath.Dir(path)+" init", "%s is not in the project in %s", path, p.Root)
	}
	return filepath.ToSlash(rel), nil
}

// params returns the parameters of all flags. A later flag overrides an earlier one; single parameters override files.
func (n *Notebook) params() (all notebook.Params, err error) {
	for _, file := range n.files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, usage("", "%v", err)
		}
		params, err := notebook.ParseParams(file, data)
		if err != nil {
			return nil, &pawl.Error{Kind: pawl.KindUsage, Err: err}
		}
		all.SetAll(params)
	}
	for _, text := range n.texts {
		params, err := notebook.ParseParams("-y", []byte(text))
		if err != nil {
			return nil, &pawl.Error{Kind: pawl.KindUsage, Err: err}
		}
		all.SetAll(params)
	}
	for _, flag := range []struct {
		values []string
		parse  func(string) (notebook.Param, error)
	}{{n.typed, notebook.ParseParam}, {n.raw, notebook.ParseText}} {
		for _, value := range flag.values {
			param, err := flag.parse(value)
			if err != nil {
				return nil, &pawl.Error{Kind: pawl.KindUsage, Err: err}
			}
			all.Set(param.Name, param.Value)
		}
	}
	return all, nil
}
