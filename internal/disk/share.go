package disk

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Share lets a group read and write a file, which is created if it is missing. The file stays that of its owner.
func Share(path string, group uint32) error {
	file, err := Create(path)
	if err != nil {
		return fmt.Errorf("share %s: %w", path, err)
	}
	defer file.Close()
	if err := file.Chown(-1, int(group)); err != nil {
		return fmt.Errorf("share %s: %w", path, err)
	}
	return Chmod(int(file.Fd()), 0o660)
}

// LetPass lets every user open what is in a folder and allows it, but not list the folder.
func LetPass(path string) error {
	fd, err := openAt(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return openError(path, err)
	}
	defer unix.Close(fd)
	return Chmod(fd, 0o711)
}
