package jupyter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel"
)

// command is what starts a kernel.
type command struct {
	path        string // of the program
	argv        []string
	environ     []string
	interpreter kernel.Interpreter // of a Python kernel
	tcp         bool               // the kernel cannot use Unix sockets
}

// command returns what starts the kernel, with its files in the runtime folder.
func (s *kernelSpec) command(spec kernel.Spec) (command, error) {
	c := command{tcp: slices.ContainsFunc(s.Argv, func(word string) bool { return strings.Contains(filepath.Base(word), "tslab") })}
	replace := strings.NewReplacer("{connection_file}", connectionFile(spec), "{resource_dir}", s.folder)
	for _, word := range s.Argv {
		c.argv = append(c.argv, replace.Replace(word))
	}
	env := variables(spec.Environ)
	program := c.argv[0]
	switch {
	case isPython(program) && spec.Python.Path != "" && (s.name == native || !filepath.IsAbs(program)):
		c.path, c.interpreter = spec.Python.Path, spec.Python
		if filepath.IsAbs(program) && program != spec.Python.Path {
			c.interpreter.Why += "; the kernelspec " + s.name + " names " + program
		}
	case filepath.IsAbs(program):
		c.path = program
	default:
		c.path = lookPath(program, env["PATH"])
	}
	if c.path == "" {
		return c, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("kernel %s: no program %s on PATH", s.name, program)}
	}
	if isPython(c.path) && c.interpreter.Path == "" {
		c.interpreter = kernel.Interpreter{Path: c.path, Why: "the first " + program + " on PATH"}
		if filepath.IsAbs(program) {
			c.interpreter.Why = "the kernelspec " + s.name
		}
	}
	c.argv[0] = c.path
	if s.isIPython() {
		c.argv = append(c.argv, ipythonOptions(spec)...)
	}
	c.environ = s.environ(spec, env, c.interpreter)
	return c, nil
}

// isIPython reports whether the kernel is ipykernel, which knows the options of IPython.
func (s *kernelSpec) isIPython() bool {
	return slices.Contains(s.Argv, "ipykernel_launcher") || slices.Contains(s.Argv, "ipykernel")
}

// ipythonOptions keep the source of cells out of the history in the user's home, and let the kernel write stacks to a file, also while
// it executes native code: that of its main thread when it gets SIGUSR1, and those of all threads when native code crashes. On SIGUSR2 it
// writes those of all threads as soon as the main thread executes Python code.
//
// On SIGUSR1, all_threads=True would let the handler read the frames of threads that run, which can crash the kernel.
func ipythonOptions(spec kernel.Spec) []string {
	stacks := fmt.Sprintf("(lambda h, s, f: h.enable(file=f) or h.register(s.SIGUSR1, file=f, all_threads=False) or "+
		"[s.signal(s.SIGUSR2, lambda *_: h.dump_traceback(f, all_threads=True))] and None)"+
		"(__import__('faulthandler'), __import__('signal'), open(%s, 'a'))", quote(stacksFile(spec)))
	return []string{"--HistoryManager.hist_file=:memory:", "--IPKernelApp.exec_lines=" + stacks}
}

// quote returns a path as a literal of Python that has no character with a meaning for IPython's command line.
func quote(path string) string {
	var s strings.Builder
	for _, b := range []byte(path) {
		fmt.Fprintf(&s, `\x%02x`, b)
	}
	return "b'" + s.String() + "'"
}

// environ returns the environment of the kernel.
func (s *kernelSpec) environ(spec kernel.Spec, env map[string]string, python kernel.Interpreter) []string {
	own := map[string]string{"IPYTHONDIR": filepath.Join(spec.Runtime, "ipython")}
	for name, value := range s.Env {
		own[name] = os.Expand(value, func(v string) string { return env[v] })
	}
	if python.Path != "" {
		path := env["PATH"]
		if p, has := own["PATH"]; has {
			path = p
		}
		if first, _, _ := strings.Cut(path, ":"); first != filepath.Dir(python.Path) {
			own["PATH"] = strings.TrimSuffix(filepath.Dir(python.Path)+":"+path, ":")
		}
	}
	var all []string
	for _, v := range spec.Environ {
		name, _, _ := strings.Cut(v, "=")
		// A kernel with these would end with the process that they name.
		if _, replaced := own[name]; !replaced && name != "JPY_PARENT_PID" && name != "JPY_INTERRUPT_EVENT" {
			all = append(all, v)
		}
	}
	for name, value := range own {
		all = append(all, name+"="+value)
	}
	slices.Sort(all[len(all)-len(own):])
	return all
}

// isPython reports whether a program is an interpreter of Python, such as python3.11.
func isPython(program string) bool {
	version, is := strings.CutPrefix(filepath.Base(program), "python")
	return is && strings.Trim(version, "0123456789.") == ""
}

// lookPath returns the first program with a name on a PATH; "" if there is none. Relative folders, which the project could fill, do
// not count.
func lookPath(name, path string) string {
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		program := filepath.Join(folder, name)
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return program
		}
	}
	return ""
}

// interpreters returns the interpreters that may have jupyter_client: that of the kernel first, then that of the Spec, then the others
// of this machine.
func (c command) interpreters(spec kernel.Spec) []string {
	all := []string{c.interpreter.Path, spec.Python.Path}
	for _, folder := range append(filepath.SplitList(variables(spec.Environ)["PATH"]), "/usr/local/bin", "/usr/bin") {
		all = append(all, lookPath("python3", folder))
	}
	var found []string
	for _, path := range all {
		if path != "" && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}

func connectionFile(spec kernel.Spec) string { return filepath.Join(spec.Runtime, "connection.json") }
func stacksFile(spec kernel.Spec) string     { return filepath.Join(spec.Runtime, "stacks") }
