package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
)

// What a kernelspec may have at most.
const (
	maxSpecBytes = 256 << 10
	maxWords     = 256  // of argv
	maxSpecs     = 1000 // kernelspecs of a folder
)

// kernelSpec is a kernelspec: what kernel.json says of a kernel.
type kernelSpec struct {
	Argv          []string          `json:"argv"`
	Env           map[string]string `json:"env"`
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"`
	Metadata      struct {
		Provisioner json.RawMessage `json:"kernel_provisioner"`
	} `json:"metadata"`

	name   string
	folder string // of kernel.json; "" if there is no such file
}

// native is the name of the Python kernel in every Jupyter. It means the interpreter at hand, whatever its kernelspec says.
const native = "python3"

// nativeSpec is the kernelspec of native where none is installed, for example in a virtual environment.
func nativeSpec() *kernelSpec {
	return &kernelSpec{
		name: native, DisplayName: "Python 3 (ipykernel)", Language: "python",
		Argv: []string{"python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"},
	}
}

// specFolders returns the folders with kernelspecs, as Jupyter searches them. It reads no configuration of Jupyter and runs nothing.
func specFolders(spec kernel.Spec) []string {
	env := variables(spec.Environ)
	var roots []string
	roots = append(roots, filepath.SplitList(env["JUPYTER_PATH"])...)
	if data := env["JUPYTER_DATA_DIR"]; data != "" {
		roots = append(roots, data)
	} else if home := env["HOME"]; home != "" {
		roots = append(roots, filepath.Join(home, ".local", "share", "jupyter"), filepath.Join(home, "Library", "Jupyter"))
	}
	if spec.Python.Path != "" {
		roots = append(roots, filepath.Join(filepath.Dir(filepath.Dir(spec.Python.Path)), "share", "jupyter"))
	}
	roots = append(roots, "/usr/local/share/jupyter", "/usr/share/jupyter")
	var folders []string
	for _, root := range roots {
		if folder := filepath.Join(root, "kernels"); filepath.IsAbs(root) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// Names returns the names of the kernels that a Spec can start, sorted. Kernelspecs that are damaged are missing.
func Names(spec kernel.Spec) []string {
	found := map[string]bool{}
	for _, folder := range specFolders(spec) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, entry := range entries[:min(len(entries), maxSpecs)] {
			if name := strings.ToLower(entry.Name()); !found[name] && validName(name) {
				_, err := readSpec(spec, filepath.Join(folder, entry.Name()))
				found[name] = err == nil
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, ok bool) bool { return !ok })
	if spec.Python.Path != "" {
		found[native] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// Program returns the program that the kernelspec of a Spec starts, "" if it has none.
func Program(spec kernel.Spec) string {
	s, err := findSpec(spec)
	if err != nil || s.folder == "" {
		return ""
	}
	return s.Argv[0]
}

// Find reports whether the kernelspec that a Spec names exists and can be used. It runs nothing.
func Find(spec kernel.Spec) error {
	_, err := findSpec(spec)
	return err
}

// findSpec returns the kernelspec that the Spec names. The first folder that has it wins, also if it is damaged there.
func findSpec(spec kernel.Spec) (*kernelSpec, error) {
	name := strings.ToLower(spec.Name)
	if name == "" {
		name = native
	}
	if !validName(name) {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("invalid kernel name %q", spec.Name)}
	}
	for _, folder := range specFolders(spec) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if strings.ToLower(entry.Name()) != name {
				continue
			}
			found, err := readSpec(spec, filepath.Join(folder, entry.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return found, err
		}
	}
	if name == native {
		return nativeSpec(), nil
	}
	known := "none is installed"
	if names := Names(spec); len(names) > 0 {
		known = "known: " + strings.Join(names, ", ")
	}
	return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("unknown kernel %q; %s", spec.Name, known)}
}

// readSpec reads a kernelspec strictly. It rejects one that is in the project unless the caller trusts that, because a kernelspec
// names programs to run.
func readSpec(spec kernel.Spec, folder string) (*kernelSpec, error) {
	path, err := filepath.EvalSymlinks(filepath.Join(folder, "kernel.json"))
	if err != nil {
		return nil, err
	}
	project := spec.Project
	if project == "" {
		project = spec.Dir
	}
	if !spec.ProjectKernels && (within(path, project) || within(folder, project)) {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("kernelspec %s is in the project, which is not trusted to name programs", folder)}
	}
	data, err := disk.ReadFile(path, maxSpecBytes)
	if err != nil {
		return nil, specError(path, err)
	}
	found := &kernelSpec{name: strings.ToLower(filepath.Base(folder)), folder: folder}
	if err := json.Unmarshal(data, found); err != nil {
		return nil, specError(path, err)
	}
	if err := found.check(); err != nil {
		return nil, specError(path, err)
	}
	return found, nil
}

func specError(path string, err error) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("kernelspec %s: %w", path, err)}
}

// check reports what pawl cannot run.
func (s *kernelSpec) check() error {
	words := strings.Join(s.Argv, "\n")
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New(`"argv" names no program`)
	case len(s.Argv) > maxWords:
		return fmt.Errorf(`"argv" has %d words; at most %d`, len(s.Argv), maxWords)
	case strings.ContainsRune(words, 0):
		return errors.New(`"argv" has a NUL byte`)
	case strings.Contains(s.Argv[0], "/") && !filepath.IsAbs(s.Argv[0]):
		return fmt.Errorf(`"argv" names a program by the relative path %s; use an absolute path or a name`, s.Argv[0])
	case !strings.Contains(words, "{connection_file}"):
		return errors.New(`"argv" has no {connection_file}`)
	case !slices.Contains([]string{"", "signal", "message"}, s.InterruptMode):
		return fmt.Errorf(`unknown "interrupt_mode" %q; expected signal or message`, s.InterruptMode)
	case len(s.Metadata.Provisioner) > 0:
		return errors.New(`"kernel_provisioner" is not supported: pawl starts kernels itself`)
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf(`invalid variable %q in "env"`, name)
		}
	}
	return nil
}

// validName reports whether a name can be that of a kernelspec. Jupyter compares names in lower case.
func validName(name string) bool {
	if name == "" || len(name) > 128 || strings.Trim(name, ".") == "" {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// within reports whether path is folder or below it, with links resolved.
func within(path, folder string) bool {
	if folder == "" {
		return false
	}
	for _, p := range []*string{&path, &folder} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	relative, err := filepath.Rel(folder, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, "../")
}

// variables returns the variables of an environment. The last value of a name counts.
func variables(environ []string) map[string]string {
	all := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	return all
}
