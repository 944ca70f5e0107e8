package interop

import (
	"pawl"
	"pawl/internal/interop/format"
)

// ReadFiles reads the files of a format in a folder, as an import does.
func ReadFiles(dir string, f format.Format) (format.Files, []pawl.Finding, error) {
	return readFiles(nil, dir, f)
}

// WriteFiles writes files of a format over those that were read.
func WriteFiles(dir string, f format.Format, read format.Files, files []format.File) ([]format.File, error) {
	return writeFiles(dir, f, read, files)
}
