package gateprompt

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// Limits of what is shown of the files of a gate.
const (
	maxFiles = 20
	maxLines = 200 // of a file
	maxBytes = 64 << 10
)

// view shows the files that a gate asks about. It says so if they are not those that the gate was opened for: an answer is then refused.
func (p Prompter) view(r *runs.Run, g *pawl.GateState) error {
	paths, err := shownPaths(r, g)
	if err != nil {
		return err
	}
	for i, path := range paths {
		if i == maxFiles {
			fmt.Fprintf(p.Out, "… and %s more\n", layout.Count(len(paths)-i, "file"))
			break
		}
		p.viewFile(path)
	}
	changed, err := runs.GateChanges(p.Project, r, g)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		_ = layout.PrintLine(p.Out, layout.Span{Text: "changed since the gate was opened: " + oneline.Paths(changed) + "; an answer is refused", Colour: layout.Red})
	}
	return nil
}

// shownPaths returns the paths that a gate shows. The outputs of a foreach step are shown as one: "step/*".
func shownPaths(r *runs.Run, g *pawl.GateState) ([]string, error) {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(g.Shown)) {
		step, all := strings.CutSuffix(path, "/*")
		st := r.State.Steps[pawl.StepID(step)]
		if !all || st == nil || st.Items == nil {
			paths = append(paths, path)
			continue
		}
		outputs, err := runs.ItemOutputs(r, st.Items)
		if err != nil {
			return nil, err
		}
		paths = append(paths, slices.Sorted(maps.Keys(outputs))...)
	}
	return paths, nil
}

// viewFile prints the start of a file below the project.
func (p Prompter) viewFile(path string) {
	_ = layout.PrintLine(p.Out, layout.Span{Text: "── " + path, Colour: layout.Cyan})
	data, err := disk.ReadBelow(p.Project.Root, filepath.FromSlash(strings.TrimSuffix(path, "/")), maxFileSize)
	switch {
	case err != nil:
		fmt.Fprintf(p.Out, "  (not shown: %v)\n", err)
		return
	case bytes.IndexByte(data[:min(len(data), maxBytes)], 0) >= 0:
		fmt.Fprintf(p.Out, "  (binary, %s)\n", layout.ByteSize(int64(len(data))))
		return
	}
	text := strings.TrimRight(redact.OfProcess().Text(string(data[:min(len(data), maxBytes)])), "\n")
	lines := strings.Split(text, "\n")
	for _, line := range lines[:min(len(lines), maxLines)] {
		fmt.Fprintf(p.Out, "  %s\n", line)
	}
	if len(lines) > maxLines || len(data) > maxBytes {
		fmt.Fprintf(p.Out, "  … (the file has %s)\n", layout.ByteSize(int64(len(data))))
	}
}

// maxFileSize is the maximum size of a file that is shown in part.
const maxFileSize = 16 << 20
