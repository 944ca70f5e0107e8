package snapshot

import (
	"os"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// cloneFrom is the size of an export, in bytes, from which on cloning is worth reading the stat cache.
const cloneFrom = 4 << 20

// sizeOf returns how many bytes of content changes write.
func sizeOf(changes []Change) (size int64) {
	for _, c := range changes {
		if c.New != nil && c.New.Kind != Folder {
			size += c.New.Size
		}
	}
	return size
}

// cloner copies files from the workspace that the stat cache knows to be unchanged. The file system clones them without
// reading, or copies them in the kernel.
type cloner struct {
	root  int // descriptor of the workspace
	cache *statCache
}

func (s *Store) newCloner() (*cloner, error) {
	root, err := openFolder(s.cfg.Root)
	return &cloner{root: root, cache: readStatCache(s.statFile())}, err
}

func (c *cloner) close() { unix.Close(c.root) }

// known returns the stamps of a folder's files by name.
func (c *cloner) known(folder string) map[string]stamp {
	b := c.cache.blocks[folder]
	if b == nil {
		return nil
	}
	known := map[string]stamp{}
	for _, s := range b.stamps() {
		known[s.name] = s
	}
	return known
}

// clone fills a new file from the workspace file at path, if that still has the content of e. When it returns false,
// the new file is still empty.
func (c *cloner) clone(file disk.File, path string, e Entry, s stamp) (bool, error) {
	if Kind(s.kind) != e.Kind || s.id != e.ID || s.size != e.Size || !c.cache.settled(s.ctime) {
		return false, nil
	}
	fd, err := disk.OpenBelow(c.root, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false, nil
	}
	source := os.NewFile(uintptr(fd), path)
	defer source.Close()
	var before, after unix.Stat_t
	if unix.Fstat(fd, &before) != nil || !s.matches(&before) || before.Blocks*512 < before.Size {
		return false, nil // sparse: a copy would fill the holes
	}
	if file.CloneFrom(source, s.size) == nil && unix.Fstat(fd, &after) == nil && s.matches(&after) {
		return true, nil
	}
	return false, file.Truncate(0)
}
