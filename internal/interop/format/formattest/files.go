package formattest

import (
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
)

// Unpack returns the files in a txtar archive that have a safe path, each path once. Unlike the parser of txtar it accepts
// any bytes.
func Unpack(archive []byte) format.Files {
	var files format.Files
	_, rest, _ := strings.Cut("\n"+string(archive), "\n-- ")
	for part := range strings.SplitSeq(rest, "\n-- ") {
		name, text, _ := strings.Cut(part, "\n")
		name, err := format.Inside(strings.TrimSuffix(strings.TrimSuffix(name, "\r"), " --"))
		if err == nil && files.Find(name) == nil {
			files = append(files, format.File{Path: name, Data: []byte(text)})
		}
	}
	return files
}

// Wanted returns the files that match the patterns of a format.
func Wanted(of format.Format, files format.Files) format.Files {
	return slices.DeleteFunc(slices.Clone(files), func(f format.File) bool { return !format.Wanted(of.Patterns, f.Path) })
}

// With returns files after some were written.
func With(files format.Files, written []format.File) format.Files {
	for _, f := range written {
		files = Without(files, f.Path)
		if f.Data != nil {
			files = append(files, f)
		}
	}
	return slices.Clone(files)
}

// Without returns files without the one at a path.
func Without(files format.Files, path string) format.Files {
	return slices.DeleteFunc(slices.Clone(files), func(f format.File) bool { return f.Path == path })
}

// Step returns a step of a project.
func Step(t testing.TB, r format.Project, id pawl.StepID) format.Step {
	t.Helper()
	var ids []pawl.StepID
	for _, phase := range r.Phases {
		for _, s := range phase.Steps {
			if s.ID == id {
				return s
			}
			ids = append(ids, s.ID)
		}
	}
	t.Fatalf("there is no step %s among %s", id, ids)
	return format.Step{}
}
