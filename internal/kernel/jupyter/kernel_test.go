package jupyter_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/kernel/kerneltest"
)

// specOf completes a Spec for a test.
func specOf(t *testing.T, spec kernel.Spec) kernel.Spec {
	t.Helper()
	folder, err := os.MkdirTemp("", "pawl") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o711); err != nil { // also for another user
		t.Fatal(err)
	}
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	spec.Runtime, spec.Log = filepath.Join(folder, "r"), filepath.Join(folder, "log")
	if spec.Python.Path == "" {
		spec.Python = kernel.Interpreter{Path: kerneltest.PythonPath(), Why: "the test's"}
	}
	if spec.Environ == nil {
		spec.Environ = environ(t)
	}
	return spec
}

// environ is an environment whose home is empty.
func environ(t *testing.T, more ...string) []string {
	return append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "LANG=C.UTF-8"}, more...)
}

// begin starts a kernel.
func begin(t *testing.T, spec kernel.Spec) (*kerneltest.Session, error) {
	t.Helper()
	return kerneltest.TryStart(t, jupyter.Driver{}, specOf(t, spec))
}

func start(t *testing.T, spec kernel.Spec) *kerneltest.Session {
	t.Helper()
	return kerneltest.Start(t, jupyter.Driver{}, specOf(t, spec))
}

func cellID(parts ...any) kernel.CellID { return kernel.CellID(fmt.Sprint(parts...)) }

func command(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return string(out), err
}
