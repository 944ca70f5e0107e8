package kernelcmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/notebook"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Notebook are the flags of pawl notebook run.
type Notebook struct {
	typed, raw, files, texts []string
	action                   pawl.KernelAction
	driver, cwd              string
	cellTimeout              time.Duration
}

const notebookLong = "Execute a notebook, resumably\n\n" +
	"pawl executes the cells of IN.ipynb in order and writes the outputs to OUT.ipynb, or to IN.ipynb if OUT.ipynb is omitted. The run has\n" +
	"one step, \"notebook\". After a crash, \"pawl resume\" continues at the first unfinished cell, with the variables that the kernel had there.\n" +
	"After a failed cell, fix it, then run \"pawl retry notebook\" and \"pawl resume\". An edited cell and all cells after it rerun. The tags\n" +
	"parameters, skip-execution and raises-exception have the same meaning as for papermill and nbclient."

// Command returns the command. run is called with the file of the plan.
func (n *Notebook) Command(find func() (*project.Project, error), folder func() (string, error), run func(c *cobra.Command, plan string) error) *cobra.Command {
	c := &cobra.Command{
		Use: "run IN.ipynb [OUT.ipynb]", Short: "Execute a notebook, resumably", Long: notebookLong,
		Example: "  pawl notebook run report.ipynb\n  pawl notebook run report.ipynb out/report-may.ipynb -p month=5",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := find()
			if err != nil {
				return err
			}
			here, err := folder()
			if err != nil {
				return err
			}
			plan, err := n.plan(p, here, args)
			if err != nil {
				return err
			}
			return run(c, plan)
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
	f.DurationVar(&n.cellTimeout, "cell-timeout", 0, "interrupt a cell after `DURATION` (default: none)")
	return c
}

// plan writes the plan that executes the notebook, and returns its path.
func (n *Notebook) plan(p *project.Project, here string, args []string) (string, error) {
	in, err := within(p, here, args[0])
	if err != nil {
		return "", err
	}
	data, err := disk.ReadFile(filepath.Join(p.Root, in), notebook.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usage("", "%s does not exist", args[0])
	}
	if err != nil {
		return "", err
	}
	if !runs.IsNotebook(in) {
		return "", usage("pawl run -- python3 "+args[0], "%s is not a notebook: its name does not end in .ipynb", args[0])
	}
	if _, err := notebook.Read(data); err != nil {
		return "", &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s: %w", args[0], err)}
	}
	n.action.File, n.action.Driver, n.action.CellTimeout = in, pawl.KernelDriver(n.driver), pawl.Duration(n.cellTimeout)
	step := map[string]any{"id": "notebook", "name": strings.TrimSuffix(filepath.Base(in), ".ipynb"), "kernel": &n.action}
	if len(args) > 1 {
		if n.action.Out, err = within(p, here, args[1]); err != nil {
			return "", err
		}
		step["outputs"] = []string{n.action.Out}
	}
	dir := filepath.Dir(in)
	if n.cwd != "" {
		if dir, err = within(p, here, n.cwd); err != nil {
			return "", err
		}
	}
	if dir != "." {
		step["dir"] = filepath.ToSlash(dir)
	}
	if n.action.Params, err = n.params(); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(map[string]any{"name": step["name"], "steps": []any{step}}, "", "  ")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(in + "\x00" + n.action.Out))
	path := p.NotebookPlan(hex.EncodeToString(sum[:6]))
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return "", err
	}
	return path, disk.Replace(path, append(text, '\n'))
}

// within returns a path relative to the project's root, as plans name it.
func within(p *project.Project, here, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(here, path)
	}
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
func (n *Notebook) params() (map[string]any, error) {
	var all notebook.Params
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
	return all.Plain(), nil
}
