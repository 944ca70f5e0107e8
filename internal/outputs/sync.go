package outputs

import (
	"fmt"

	"pawl/internal/disk"
	"pawl/internal/oneline"
)

// maxSingleSyncs is the maximum number of files and folders that are synced one by one; for more, one sync of the whole
// file system is cheaper.
const maxSingleSyncs = 16

func syncAll(root string, files []string, folders map[string]bool) error {
	if len(files)+len(folders) > maxSingleSyncs {
		if done, err := disk.SyncFileSystem(root); done || err != nil {
			return err
		}
	}
	for _, path := range files {
		if err := syncFile(path); err != nil {
			return err
		}
	}
	for path := range folders {
		if err := disk.SyncFolder(path); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(path string) error {
	f, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := (disk.File{File: f}).Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", oneline.Path(path), err)
	}
	return nil
}
