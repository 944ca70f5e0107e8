package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// diskUnder names the file system of a folder, and refuses one in memory: a sync costs nothing there.
func diskUnder(dir string) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "", fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.NFS_SUPER_MAGIC: "nfs",
	}
	switch int64(fs.Type) {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return "", fmt.Errorf("%s is in memory, not on a disk: say -dir FOLDER", dir)
	}
	if name, known := names[int64(fs.Type)]; known {
		return name, nil
	}
	return fmt.Sprintf("file system %#x", fs.Type), nil
}
