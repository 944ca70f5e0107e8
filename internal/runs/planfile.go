package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/planfile"
	"pawl/internal/project"
)

// maxIncluded is the maximum size of an included file.
const maxIncluded = 1 << 20

// Includes returns what reads the files that a plan includes: regular files below the project's root, without following links.
// plan is the path of the plan file, for messages.
func Includes(root, plan string) planfile.Opener {
	return func(name string) ([]byte, error) {
		data, err := disk.ReadBelow(root, filepath.FromSlash(name), maxIncluded)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("no file %s in the project%s", name, besidePlan(root, plan, name))
		case errors.Is(err, disk.ErrTooLarge):
			return nil, fmt.Errorf("%s is too large; an included file may have at most %d MiB", name, maxIncluded>>20)
		}
		return data, err
	}
}

// besidePlan returns advice if a file is relative to the plan's folder, not to the project.
func besidePlan(root, plan, name string) string {
	absolute, err := filepath.Abs(plan)
	if err != nil {
		return ""
	}
	folder, err := filepath.Rel(root, filepath.Dir(absolute))
	if err != nil || folder == "." || !filepath.IsLocal(folder) {
		return ""
	}
	meant := path.Join(filepath.ToSlash(folder), name)
	if _, err := disk.ReadBelow(root, filepath.FromSlash(meant), maxIncluded); err != nil {
		return ""
	}
	return fmt.Sprintf("; paths are relative to the project; did you mean %s?", meant)
}

// LoadPlan reads a plan file and what it includes.
func LoadPlan(root, file string) (*planfile.Loaded, error) {
	data, err := disk.ReadFile(file, disk.PlanLimit)
	if err != nil {
		return nil, err
	}
	return planfile.Load(file, data, Includes(root, file))
}

// UserPlan is the user's plan file of a run.
type UserPlan struct {
	Path    string     // "" for none
	Missing bool       // there is no such file
	Edited  bool       // the plan, with what it includes, is not the one that the run uses
	Plan    *pawl.Plan // of an edited plan that is valid
	Data    []byte     // of an edited plan that is valid: a plan file without includes
	Invalid error      // why an edited plan is not valid
}

// ReadUserPlan reads the user's plan file of a run, and what it includes.
func ReadUserPlan(p *project.Project, s *pawl.State) (UserPlan, error) {
	u := UserPlan{Path: PlanSource(p, s)}
	if u.Path == "" {
		return u, nil
	}
	data, err := disk.ReadFile(u.Path, disk.PlanLimit)
	if os.IsNotExist(err) {
		u.Missing = true
		return u, nil
	}
	if err != nil || SHA256Hex(data) == s.Plan.SHA256 {
		return u, err
	}
	loaded, err := planfile.Load(u.Path, data, Includes(p.Root, u.Path))
	switch {
	case err != nil:
		u.Edited, u.Invalid = true, err
	case SHA256Hex(loaded.Data) != s.Plan.SHA256 && !sameWithIncludes(p, s, loaded):
		u.Edited, u.Plan, u.Data = true, loaded.Plan, loaded.Data
	}
	return u, nil
}

// sameWithIncludes reports whether a plan with includes has the content of the run's copy: only comments differ, or an earlier
// version wrote the copy differently.
func sameWithIncludes(p *project.Project, s *pawl.State, loaded *planfile.Loaded) bool {
	if len(loaded.Files) == 0 {
		return false
	}
	plan, err := ReadPlan(p.RunDir(s.Run), s)
	return err == nil && reflect.DeepEqual(plan, loaded.Plan)
}
