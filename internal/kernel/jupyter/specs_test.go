package jupyter_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/kernel/kerneltest"
)

// install writes a kernelspec into a folder of JUPYTER_PATH.
func install(t *testing.T, root, name, content string) {
	t.Helper()
	folder := filepath.Join(root, "kernels", name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "kernel.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKernelSpecs rejects what names no kernel, with the reason.
func TestKernelSpecs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	bad := map[string]struct{ content, why string }{
		"nojson":      {`{"argv": [`, "unexpected end of JSON"},
		"types":       {`{"argv": "python3"}`, "cannot unmarshal"},
		"empty":       {`{"argv": []}`, "names no program"},
		"relative":    {`{"argv": ["./k", "{connection_file}"]}`, "relative path ./k"},
		"nofile":      {`{"argv": ["k"]}`, "no {connection_file}"},
		"mode":        {`{"argv": ["k", "{connection_file}"], "interrupt_mode": "shout"}`, `unknown "interrupt_mode" "shout"`},
		"env":         {`{"argv": ["k", "{connection_file}"], "env": {"A=B": "1"}}`, `invalid variable "A=B"`},
		"nul":         {`{"argv": ["k\u0000", "{connection_file}"]}`, "NUL"},
		"provisioner": {`{"argv": ["k", "{connection_file}"], "metadata": {"kernel_provisioner": {}}}`, "kernel_provisioner"},
		"large":       {`{"argv": ["k", "{connection_file}"], "x": "` + strings.Repeat("x", 300<<10) + `"}`, "larger than 256 KiB"},
		"many":        {`{"argv": ["{connection_file}"` + strings.Repeat(`, "x"`, 300) + `]}`, "301 words"},
		"missing":     {`{"argv": ["no-such-program", "{connection_file}"]}`, "no program no-such-program on PATH"},
	}
	for name, b := range bad {
		install(t, root, name, b.content)
	}
	install(t, root, "Good.1", `{"argv": ["python3", "-m", "x", "{connection_file}"]}`)
	spec := kernel.Spec{Environ: environ(t, "JUPYTER_PATH=relative:"+root)}
	for name, b := range bad {
		spec.Name = name
		_, err := begin(t, spec)
		if pawl.KindOf(err) != pawl.KindUsage || !strings.Contains(err.Error(), b.why) {
			t.Errorf("%s: %v, want %s", name, err, b.why)
		}
	}
	for _, name := range []string{"../x", "a b", "..", "a/b", strings.Repeat("x", 200)} {
		spec.Name = name
		if _, err := begin(t, spec); err == nil || !strings.Contains(err.Error(), "invalid kernel name") {
			t.Errorf("%s: %v", name, err)
		}
	}
	spec.Name = "julia"
	if _, err := begin(t, spec); err == nil || !strings.Contains(err.Error(), `unknown kernel "julia"; known: `) || !strings.Contains(err.Error(), "good.1, ") {
		t.Error(err)
	}
	if names := jupyter.Names(spec); !slices.Contains(names, "good.1") || slices.Contains(names, "empty") {
		t.Error(names)
	}
}

// TestProjectKernelSpecs: a kernelspec in the project names programs, so it is used only if the user trusts it.
func TestProjectKernelSpecs(t *testing.T) {
	t.Parallel()
	project, elsewhere := t.TempDir(), t.TempDir()
	install(t, filepath.Join(project, "share"), "mine", `{"argv": ["false", "{connection_file}"]}`)
	if err := os.MkdirAll(filepath.Join(elsewhere, "kernels"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(project, "share", "kernels", "mine"), filepath.Join(elsewhere, "kernels", "mine")); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{filepath.Join(project, "share"), elsewhere} {
		spec := kernel.Spec{Name: "mine", Dir: filepath.Join(project, "share"), Project: project, Environ: environ(t, "JUPYTER_PATH="+root)}
		if _, err := begin(t, spec); err == nil || !strings.Contains(err.Error(), "is in the project") {
			t.Error(err)
		}
		if slices.Contains(jupyter.Names(spec), "mine") {
			t.Error("it is listed")
		}
		spec.ProjectKernels = true
		if _, err := begin(t, spec); err == nil || !strings.Contains(err.Error(), "kernel mine exited with code 1 before it was ready") {
			t.Error(err)
		}
	}
}

// TestWhichPython: the interpreter of the Spec executes the kernel python3, and each kernel whose kernelspec names no path.
func TestWhichPython(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	install(t, root, "python3", `{"argv": ["/no/such/python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python"}`)
	install(t, root, "bare", `{"argv": ["python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "env": {"A": "<${HOME}>"}}`)
	install(t, root, "named", `{"argv": ["`+kerneltest.PythonPath()+`", "-m", "ipykernel_launcher", "-f", "{connection_file}"]}`)
	trap := t.TempDir() // the first python3 on PATH is another one
	if err := os.WriteFile(filepath.Join(trap, "python3"), []byte("#!/bin/sh\nexit 9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	spec := kernel.Spec{Environ: []string{"PATH=" + trap + ":/usr/bin:/bin", "HOME=" + home, "JUPYTER_PATH=" + root}}
	for name, why := range map[string]string{
		"": "the test's; the kernelspec python3 names /no/such/python3", "bare": "the test's", "named": "the kernelspec named",
	} {
		spec.Name = name
		k := start(t, spec)
		if in := k.Info().Interpreter; in.Path != kerneltest.PythonPath() || in.Why != why {
			t.Errorf("%q: %+v, want %s", name, in, why)
		}
		k.Run("a", "import shutil; print(shutil.which('python3'))", kernel.OK)
		if got := k.Output("a"); got != filepath.Join(filepath.Dir(kerneltest.PythonPath()), "python3")+"\n" {
			t.Errorf("%q: python3 of the kernel is %q", name, got)
		}
		if name == "bare" {
			k.Run("b", "import os; print(os.environ['A'])", kernel.OK)
			if got := k.Output("b"); got != "<"+home+">\n" {
				t.Errorf("variable %q", got)
			}
		}
	}
}

// TestMissingPackages: without what a kernel needs, the error has the command that installs it.
func TestMissingPackages(t *testing.T) {
	t.Parallel()
	venv := t.TempDir() // without any package
	if out, err := command(kerneltest.PythonPath(), "-m", "venv", "--without-pip", venv); err != nil {
		t.Fatal(err, out)
	}
	bare := filepath.Join(venv, "bin", "python3")
	_, err := begin(t, kernel.Spec{Python: kernel.Interpreter{Path: bare, Why: ".venv of the project"}})
	fault, ok := err.(*pawl.Error)
	if !ok || !strings.Contains(err.Error(), "(.venv of the project; the kernelspec python3 names /usr/bin/python3) has no ipykernel") || fault.Hint != "install it: "+bare+" -m pip install ipykernel" {
		t.Errorf("%v %+v", err, fault)
	}
}
