//go:build !windows

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/notebook"
	"pawl/internal/runs"
)

// kernelInNotebook returns the kernelspec for a step that names none: that of its notebook. A Python notebook may come from a machine with
// other kernelspecs; it runs in python3 then.
func kernelInNotebook(job *pawl.Job, spec kernel.Spec) string {
	a := job.Kernel.Action
	if a.Name != "" || !runs.IsNotebook(a.File) {
		return a.Name
	}
	data, err := disk.ReadFile(filepath.Join(job.Root, filepath.FromSlash(a.File)), notebook.MaxSize)
	if err != nil {
		return "" // the step says why
	}
	n, err := notebook.Read(data)
	if err != nil {
		return ""
	}
	name := n.Kernel.Name
	if n.Kernel.Language != "python" || name == "" || a.Driver == pawl.RemoteDriver {
		return name
	}
	if a.Driver == pawl.PythonDriver || !slices.Contains(jupyter.Names(spec), name) {
		if name != "python3" {
			fmt.Fprintf(os.Stderr, "pawl: kernel: %s names the kernel %q, which is not installed here; using python3\n", a.File, name)
		}
		return ""
	}
	return name
}
