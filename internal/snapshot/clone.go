package snapshot

import (
	"os"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// cloner copies files out of the workspace that look as the stat cache says: the file system does that without reading
// them, or at least without us.
type cloner struct {
	root  int // descriptor of the workspace
	cache *statCache
}

func (s *Store) newCloner() (*cloner, error) {
	root, err := openFolder(s.cfg.Root)
	return &cloner{root: root, cache: readStatCache(s.statFile())}, err
}

func (c *cloner) close() { unix.Close(c.root) }

// known gives the stamps of a folder's files by name.
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

// clone fills a new file with what is at a path of the workspace, if that is what the entry says. Where it reports
// false the file is empty still.
func (c *cloner) clone(file disk.File, path string, e Entry, s stamp) (bool, error) {
	if Kind(s.kind) != e.Kind || s.id != e.ID || s.size != e.Size || !c.cache.settled(s.ctime) {
		return false, nil
	}
	fd, err := openBelow(c.root, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false, nil
	}
	source := os.NewFile(uintptr(fd), path)
	defer source.Close()
	var before, after unix.Stat_t
	if unix.Fstat(fd, &before) != nil || !s.matches(&before) || before.Blocks*512 < before.Size {
		return false, nil // a copy would fill the holes
	}
	if file.CloneFrom(source, s.size) == nil && unix.Fstat(fd, &after) == nil && s.matches(&after) {
		return true, nil
	}
	return false, file.Truncate(0)
}
