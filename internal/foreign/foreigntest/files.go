package foreigntest

import (
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/foreign"
)

// Unpack returns the files of an archive in txtar's form, each path once; no others than may be looked for. It takes any bytes,
// which the parser of txtar does not.
func Unpack(archive []byte) foreign.Files {
	var files foreign.Files
	_, rest, _ := strings.Cut("\n"+string(archive), "\n-- ")
	for part := range strings.SplitSeq(rest, "\n-- ") {
		name, text, _ := strings.Cut(part, "\n")
		name, err := foreign.Inside(strings.TrimSuffix(strings.TrimSuffix(name, "\r"), " --"))
		if err == nil && files.Find(name) == nil {
			files = append(files, foreign.File{Path: name, Data: []byte(text)})
		}
	}
	return files
}

// Wanted returns the files that a codec asks for.
func Wanted(codec foreign.Codec, files foreign.Files) foreign.Files {
	return slices.DeleteFunc(slices.Clone(files), func(f foreign.File) bool { return !foreign.Wanted(codec.Wants(), f.Path) })
}

// With returns files as they are after some were written.
func With(files foreign.Files, written []foreign.File) foreign.Files {
	for _, f := range written {
		files = Without(files, f.Path)
		if f.Data != nil {
			files = append(files, f)
		}
	}
	return slices.Clone(files)
}

// Without returns files but for the one at a path.
func Without(files foreign.Files, path string) foreign.Files {
	return slices.DeleteFunc(slices.Clone(files), func(f foreign.File) bool { return f.Path == path })
}

// Step returns a step that was read.
func Step(t testing.TB, r foreign.Reading, id pawl.StepID) foreign.Step {
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
	return foreign.Step{}
}
