// Package interpreter chooses the Python interpreter of a session, and says why.
//
// The first of these that exists is chosen: the setting "python:", the .venv of the project, $VIRTUAL_ENV, the path in the kernelspec,
// python3 on PATH. The interpreter may belong to the project, so nobody runs it before the user trusts the project.
package interpreter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/kernel"
)

// Config is what the choice depends on.
type Config struct {
	Setting    string   // "python:" of the plan: a path, relative to Project, or the name of a program on PATH
	Project    string   // folder of the project; absolute
	Environ    []string // the environment of the kernel, NAME=value
	Kernelspec string   // argv[0] of the kernelspec, if there is one. Only an absolute path counts.
}

// Choice is the chosen interpreter.
type Choice struct {
	kernel.Interpreter
	Bin        string // folder that is first in the kernel's PATH
	VirtualEnv string // the virtual environment of the interpreter; "": it belongs to none
}

// Choose returns the interpreter. The error names every place that has none.
func Choose(c Config) (Choice, error) {
	if c.Setting != "" {
		return c.set()
	}
	var tried []string
	for _, find := range []func() (path, why string, err error){c.dotVenv, c.virtualEnv, c.kernelspec, c.onPath} {
		path, why, err := find()
		switch {
		case errors.Is(err, errBroken):
			return Choice{}, err
		case err != nil:
			tried = append(tried, err.Error())
		case path != "":
			return choice(path, why), nil
		}
	}
	return Choice{}, fmt.Errorf(`no Python interpreter (%s); install Python 3.8 or newer, or set "python" to the path of an interpreter`,
		strings.Join(tried, "; "))
}

// errBroken is the error of an interpreter that is meant to be used and cannot be.
var errBroken = errors.New("unusable interpreter")

func (c Config) set() (Choice, error) {
	path := c.Setting
	switch {
	case filepath.IsAbs(path):
	case strings.ContainsRune(path, filepath.Separator):
		path = filepath.Join(c.Project, path)
	default:
		if path = lookPath(c.Environ, c.Setting); path == "" {
			return Choice{}, fmt.Errorf(`setting "python": no program %s on PATH`, c.Setting)
		}
	}
	if stat, err := os.Stat(path); err == nil && stat.IsDir() { // a virtual environment
		path = filepath.Join(path, "bin", "python")
	}
	if err := executable(path); err != nil {
		return Choice{}, fmt.Errorf(`setting "python": %w`, err)
	}
	return choice(path, `setting "python"`), nil
}

// dotVenv fails for a .venv without an interpreter: to run in another one instead would surprise.
func (c Config) dotVenv() (path, why string, err error) {
	dir := filepath.Join(c.Project, ".venv")
	if _, err := os.Stat(dir); err != nil {
		return "", "", fmt.Errorf("%s does not exist", dir)
	}
	path = filepath.Join(dir, "bin", "python")
	if err := executable(path); err != nil {
		return "", "", fmt.Errorf(`%w: the project has a .venv, but %w; create it again with python3 -m venv %s, or set "python"`, errBroken, err, dir)
	}
	return path, ".venv of the project", nil
}

func (c Config) virtualEnv() (path, why string, err error) {
	dir := variable(c.Environ, "VIRTUAL_ENV")
	if dir == "" {
		return "", "", errors.New("$VIRTUAL_ENV is not set")
	}
	path = filepath.Join(dir, "bin", "python")
	if !filepath.IsAbs(dir) {
		return "", "", fmt.Errorf("$VIRTUAL_ENV is %q, not an absolute path", dir)
	}
	if err := executable(path); err != nil {
		return "", "", fmt.Errorf("$VIRTUAL_ENV: %w", err)
	}
	return path, "$VIRTUAL_ENV", nil
}

func (c Config) kernelspec() (path, why string, err error) {
	if !filepath.IsAbs(c.Kernelspec) {
		return "", "", nil
	}
	if err := executable(c.Kernelspec); err != nil {
		return "", "", fmt.Errorf("kernelspec: %w", err)
	}
	return c.Kernelspec, "kernelspec", nil
}

func (c Config) onPath() (path, why string, err error) {
	if path = lookPath(c.Environ, "python3"); path == "" {
		return "", "", errors.New("no python3 on PATH")
	}
	why = "python3 on PATH"
	if dir := variable(c.Environ, "VIRTUAL_ENV"); dir != "" {
		why += ", because $VIRTUAL_ENV has no interpreter"
	}
	return path, why, nil
}

// choice keeps symbolic links as they are: an interpreter finds its virtual environment by the path that it was started with.
func choice(path, why string) Choice {
	path = filepath.Clean(path)
	c := Choice{Interpreter: kernel.Interpreter{Path: path, Why: why}, Bin: filepath.Dir(path)}
	root := filepath.Dir(c.Bin)
	if _, err := os.Stat(filepath.Join(root, "pyvenv.cfg")); err == nil {
		c.VirtualEnv = root
	}
	return c
}

// Environment returns environ with the interpreter's programs first in PATH, as if its virtual environment were active.
func (c Choice) Environment(environ []string) []string {
	path := c.Bin
	if old := variable(environ, "PATH"); old != "" {
		path += string(filepath.ListSeparator) + old
	}
	var all []string
	for _, v := range environ {
		switch name, _, _ := strings.Cut(v, "="); {
		case name == "PATH" || name == "VIRTUAL_ENV" || name == "VIRTUAL_ENV_PROMPT":
		case name == "PYTHONHOME" && c.VirtualEnv != "": // it would replace the environment's own modules
		default:
			all = append(all, v)
		}
	}
	all = append(all, "PATH="+path)
	if c.VirtualEnv != "" {
		all = append(all, "VIRTUAL_ENV="+c.VirtualEnv)
	}
	return all
}

func executable(path string) error {
	switch stat, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s does not exist", path)
	case err != nil:
		return err
	case !stat.Mode().IsRegular() || stat.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s is not an executable file", path)
	}
	return nil
}

// lookPath finds a program in the PATH of environ. Relative folders do not count: they would name whatever a project contains.
func lookPath(environ []string, name string) string {
	for _, dir := range filepath.SplitList(variable(environ, "PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) == nil {
			return path
		}
	}
	return ""
}

// variable returns the value of a variable: the last one counts, as for a started program.
func variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}
