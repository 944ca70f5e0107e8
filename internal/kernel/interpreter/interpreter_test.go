package interpreter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// script writes an executable file that stands for an interpreter, and returns its path.
func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestChoose(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(path string) string { return filepath.Join(root, path) }
	script(t, at("venv/bin/python"), "")
	script(t, at("path/python3"), "")
	script(t, at("path/python3.9"), "")
	script(t, at("spec/python"), "")
	script(t, at("with/.venv/bin/python"), "")
	if err := os.WriteFile(at("with/.venv/pyvenv.cfg"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(at("broken/.venv/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere/python3", at("broken/.venv/bin/python")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("spec/plain"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	active := []string{"VIRTUAL_ENV=" + at("venv"), "PATH=" + at("path")}
	for _, test := range []struct {
		name string
		c    Config
		path string // below root
		why  string
		err  string
	}{
		{"setting before .venv", Config{Setting: at("spec/python"), Project: at("with"), Environ: active}, "spec/python", `setting "python"`, ""},
		{"relative setting", Config{Setting: ".venv/bin/python", Project: at("with")}, "with/.venv/bin/python", `setting "python"`, ""},
		{"name as setting", Config{Setting: "python3.9", Project: at("with"), Environ: active}, "path/python3.9", `setting "python"`, ""},
		{"virtual environment as setting", Config{Setting: at("venv"), Environ: active}, "venv/bin/python", `setting "python"`, ""},
		{"unknown name", Config{Setting: "python4", Environ: active}, "", "", `setting "python": no program python4 on PATH`},
		{"missing setting", Config{Setting: at("nothing"), Project: at("with"), Environ: active}, "", "", `setting "python": ` + at("nothing") + " does not exist"},
		{"no program", Config{Setting: at("spec/plain")}, "", "", "is not an executable file"},
		{".venv before $VIRTUAL_ENV", Config{Project: at("with"), Environ: active}, "with/.venv/bin/python", ".venv of the project", ""},
		{"broken .venv", Config{Project: at("broken"), Environ: active}, "", "", "the project has a .venv, but " + at("broken/.venv/bin/python") + " does not exist"},
		{"$VIRTUAL_ENV before kernelspec", Config{Project: at("x"), Environ: active, Kernelspec: at("spec/python")}, "venv/bin/python", "$VIRTUAL_ENV", ""},
		{"kernelspec before PATH", Config{Project: at("x"), Environ: active[1:], Kernelspec: at("spec/python")}, "spec/python", "kernelspec", ""},
		{"kernelspec without a path", Config{Project: at("x"), Environ: active[1:], Kernelspec: "python"}, "path/python3", "python3 on PATH", ""},
		{
			"stale $VIRTUAL_ENV", Config{Project: at("x"), Environ: []string{"VIRTUAL_ENV=" + at("gone"), active[1]}},
			"path/python3", "python3 on PATH, because $VIRTUAL_ENV has no interpreter", "",
		},
		{"relative folder in PATH", Config{Project: at("x"), Environ: []string{"PATH=.:path"}}, "", "", "no python3 on PATH"},
		{"nothing", Config{Project: at("x")}, "", "", "no Python interpreter (" + at("x/.venv") + " does not exist; $VIRTUAL_ENV is not set; no python3 on PATH)"},
	} {
		got, err := Choose(test.c)
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: error %v, want %s", test.name, err, test.err)
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.err == "" && (got.Path != at(test.path) || got.Why != test.why || got.Bin != filepath.Dir(got.Path)):
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	script(t, filepath.Join(root, "bin/python"), "")
	before := []string{"A=1", "PATH=/bin", "VIRTUAL_ENV=/other", "PYTHONHOME=/home"}
	plain := choice(filepath.Join(root, "bin/python"), "")
	if got, want := plain.Environment(before), []string{"A=1", "PYTHONHOME=/home", "PATH=" + root + "/bin:/bin"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if err := os.WriteFile(filepath.Join(root, "pyvenv.cfg"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	virtual := choice(filepath.Join(root, "bin/python"), "")
	if got, want := virtual.Environment(before), []string{"A=1", "PATH=" + root + "/bin:/bin", "VIRTUAL_ENV=" + root}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + here}
	python, err := Choose(Config{Project: here, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if err := python.Require(t.Context(), environ, nil, "json", "email"); err != nil {
		t.Error(err)
	}
	err = python.Require(t.Context(), environ, nil, "json", "surely_missing", "also_missing")
	if err == nil || !strings.Contains(err.Error(), "has no module surely_missing, also_missing; install it with: ") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"exit 1":                     "the command failed",
		"echo hello":                 "is no Python interpreter",
		`echo '{"version":"3.7.9"}'`: "needs Python 3.8 or newer",
		`echo '{"version":"2.7"}'`:   "needs Python 3.8 or newer",
		`echo '{"version":"3.9","missing":["ipykernel","jupyter_client"],"pip":true}'`:    "fake -m pip install ipykernel jupyter_client",
		`echo '{"version":"3.9","missing":["jupyter_client"],"pip":true,"managed":true}'`: "apt-get install python3-jupyter-client, or create",
		`echo '{"version":"3.9","missing":["ipykernel"]}'`:                                "uv pip install --python",
		`echo banner; echo '{"version":"3.13.1","missing":["a"]}'`:                        "has no module a",
	} {
		fake := choice(script(t, filepath.Join(t.TempDir(), "fake"), text), "setting")
		if err := fake.Require(t.Context(), environ, nil, "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A module in the current folder does not count, for the kernel finds it only there, and may be malicious.
func TestRequireIgnoresFolder(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	if err := os.WriteFile("planted.py", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	environ := []string{"PATH=" + os.Getenv("PATH")}
	python, err := Choose(Config{Project: here, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if err := python.Require(t.Context(), environ, nil, "planted"); err == nil {
		t.Error("found in the current folder")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"version":"3.11.2","missing":[],"pip":true,"managed":false}`)
	f.Add("banner\n{}")
	f.Fuzz(func(_ *testing.T, out string) {
		said, err := parse(out)
		if err == nil {
			_ = Choice{}.judge(said)
		}
	})
}
