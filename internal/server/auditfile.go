package server

import (
	"path/filepath"
	"time"

	"pawl/internal/disk"
	"pawl/internal/project"
)

// partSize is the size in bytes at which the audit begins a new file.
const partSize = 16 << 20

// append durably appends a line to the audit. If the file is full, it gets another name first, and a new one begins: no part is ever changed
// or removed. A writer that has the file open meanwhile, in this server or another one, appends to the part.
func (a *audit) append(line []byte) error {
	if a.full() {
		_ = project.WithFolderLock(filepath.Dir(a.path), a.split) // if it fails, the file grows, and the next line tries again
	}
	return disk.AppendLine(a.path, line)
}

func (a *audit) full() bool {
	info, err := disk.Lstat(a.path)
	return err == nil && info.Size() >= a.partSize
}

// split renames the file if it is still full. Names of parts sort by time.
func (a *audit) split() error {
	if !a.full() { // another server was first
		return nil
	}
	const layout = "20060102T150405.000000000Z"
	return disk.Rename(a.path, filepath.Join(filepath.Dir(a.path), "audit-"+time.Now().UTC().Format(layout)+"-"+disk.RandomHex(2)+".jsonl"))
}
