package storytest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// coverVar names the folder that the processes of stories write coverage data into: PAWL_COVER=DIR. A process that is
// killed with SIGKILL writes none.
const coverVar = "PAWL_COVER"

// builtVar names the folder with pawl and pawl-hook, which `make test` builds once for all packages. The go command sees when one of
// them has changed, because they are in the module and a test process reads them.
const builtVar = "PAWL_BUILT"

// Pawl returns the path of the program, which is built or copied once per test process.
func Pawl(t testing.TB) string {
	t.Helper()
	path := filepath.Join(programs, "pawl")
	once.Do(func() {
		switch folder := os.Getenv(builtVar); {
		case os.Getenv(coverVar) != "":
			built = errors.Join(BuildAt(path, "-cover", "-coverpkg=pawl/..."), watchSources())
		case folder != "":
			built = copyProgram(filepath.Join(folder, "pawl"), path)
		default:
			built = errors.Join(BuildAt(path), watchSources())
		}
	})
	if built != nil {
		t.Fatal(built)
	}
	return path
}

// PawlHook returns the path of pawl-hook, which is in the folder of pawl and is built once per test process.
func PawlHook(t testing.TB) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(Pawl(t)), "pawl-hook")
	onceHook.Do(func() {
		if folder := os.Getenv(builtVar); folder != "" {
			builtHook = copyProgram(filepath.Join(folder, "pawl-hook"), path)
		} else {
			builtHook = buildProgram("pawl/cmd/pawl-hook", path)
		}
	})
	if builtHook != nil {
		t.Fatal(builtHook)
	}
	return path
}

var (
	once      sync.Once // builds the program
	built     error     // the result of once
	onceHook  sync.Once // builds pawl-hook
	builtHook error     // the result of onceHook
)

// building has tests that run in parallel build one after the other, so that the first one links the program for all.
var building sync.Mutex

// Build builds the program with build tags into a folder of the test, and returns its path.
func Build(t testing.TB, tags string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pawl")
	building.Lock()
	defer building.Unlock()
	if err := errors.Join(BuildAt(path, "-tags", tags), watchSources()); err != nil {
		t.Fatal(err)
	}
	return path
}

// BuildAt builds the program at path. The arguments are those of go build. It is for a TestMain, where Pawl cannot be called.
func BuildAt(path string, args ...string) error { return buildProgram("pawl/cmd/pawl", path, args...) }

// buildProgram builds a program of this module without cgo, as it is released. Unlike `go build`, `go run` keeps the linked program in
// the build cache: when many packages build the same sources, the program is linked once.
func buildProgram(program, path string, args ...string) error {
	args = append([]string{"run", "-exec", `sh -c 'cp "$0" "$PAWL_COPY"'`}, append(args, program)...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "PAWL_COPY="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// Root returns the repository's folder.
var Root = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
})

// watchSources makes the go command rerun the tests of this package when a source of the program has changed. The go
// command caches test results, and invalidates one when a file changes that the test process has read the status of. It
// does not see what the processes read that the test starts.
func watchSources() error {
	paths, err := sources()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	return nil
}

// sources returns the folders and files of this module that the program is built from.
var sources = sync.OnceValues(func() ([]string, error) {
	const format = `{{with .Module}}{{if .Main}}{{.GoMod}}
{{$.Dir}}{{range $.GoFiles}}
{{$.Dir}}/{{.}}{{end}}{{range $.EmbedFiles}}
{{$.Dir}}/{{.}}{{end}}{{end}}{{end}}`
	out, err := exec.Command("go", "list", "-deps", "-f", format, "pawl/cmd/pawl").Output()
	if err != nil {
		return nil, fmt.Errorf("list the sources: %w", err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(path string) bool { return path == "" }), nil
})
