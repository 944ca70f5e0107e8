package interop

import (
	"pawl"
	"pawl/internal/interop/format"
)

// ReadFiles is readFiles without a run.
func ReadFiles(dir string, f format.Format) (format.Files, []pawl.Finding, error) {
	return readFiles(nil, dir, f)
}
