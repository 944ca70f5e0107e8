package supervise

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// cgroup is a control group (version 2) for the process tree of one child. Processes cannot leave it by themselves, and
// one write kills all of them.
type cgroup struct {
	path string
	dir  *os.File
}

// newCgroup returns a group below this process's own, not yet created, or nil if there can be none.
func newCgroup(name string) *cgroup {
	own, err := startCgroup()
	if err != nil {
		return nil
	}
	return &cgroup{path: filepath.Join(own, name)}
}

// make creates the group. It returns false if that is impossible.
func (c *cgroup) make() bool {
	if c == nil || os.Mkdir(c.path, 0o700) != nil {
		return false
	}
	fd, err := openFolder(unix.AT_FDCWD, c.path)
	if err == nil {
		dir := os.NewFile(uintptr(fd), c.path)
		if _, err = os.Stat(filepath.Join(c.path, "cgroup.kill")); err == nil {
			c.dir = dir
			return true
		}
		dir.Close()
	}
	syscall.Rmdir(c.path)
	return false
}

// remove removes the group, which must be empty.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	if c.dir != nil {
		c.dir.Close()
	}
	syscall.Rmdir(c.path) // a group with subgroups stays, which is harmless
}

// kill kills all processes in the group.
func (c *cgroup) kill() error {
	if c == nil {
		return nil
	}
	return os.WriteFile(filepath.Join(c.path, "cgroup.kill"), []byte("1"), 0) // our own path, on cgroupfs
}

// sweepCgroup kills the processes in a lost attempt's group and removes it. The group's name contains the token, so it
// belongs to no other attempt.
func sweepCgroup(begun *pawl.Begun) (killed int, err error) {
	group, err := openCgroup(begun)
	if err != nil || group == nil {
		return 0, err
	}
	defer group.close()
	procs, err := group.read("cgroup.procs")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) { // it was removed meanwhile
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := group.kill(); err != nil {
		return 0, err
	}
	for end := time.Now().Add(sweepWait); group.remove() != nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return bytes.Count(procs, []byte("\n")), nil
}

// groupProcesses returns the content of cgroup.procs of an attempt's group; nil if there is none.
func groupProcesses(begun *pawl.Begun) []byte {
	group, err := openCgroup(begun)
	if err != nil || group == nil {
		return nil
	}
	defer group.close()
	procs, err := group.read("cgroup.procs")
	if err != nil {
		return nil // the group ends with its last process
	}
	return procs
}

// recordedCgroup is a group that a record names. The record may be forged, so all access goes through the group's folder,
// which was opened without following links and is known to be one of cgroupfs.
type recordedCgroup struct {
	parent, fd int
	name       string
}

// openCgroup opens the group in an attempt's record. It returns nil if there is none: the path must have the name that
// pawl gives the attempt's group, and lie below the mount point of cgroup v2.
func openCgroup(begun *pawl.Begun) (*recordedCgroup, error) {
	mount, _, err := cgroupMount()
	if err != nil {
		return nil, nil // without cgroups there is no such group
	}
	below, ok := groupBelow(mount, begun)
	if !ok {
		return nil, nil
	}
	name := cgroupName(begun.Token)
	root, err := openFolder(unix.AT_FDCWD, mount)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	g := &recordedCgroup{parent: -1, fd: -1, name: name}
	if g.parent, err = disk.OpenBelow(root, below, unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
		g.fd, err = disk.OpenBelow(g.parent, name, unix.O_RDONLY|unix.O_DIRECTORY)
	}
	if err == nil && !onCgroupFS(g.fd) {
		err = unix.ENOENT
	}
	if err == nil {
		return g, nil
	}
	g.close()
	if err == unix.ENOENT || err == unix.ELOOP || err == unix.ENOTDIR {
		err = nil
	}
	return nil, err
}

// groupBelow returns the folder of the recorded group's parent, relative to the mount point.
func groupBelow(mount string, begun *pawl.Begun) (string, bool) {
	if begun.Cgroup == "" || filepath.Base(begun.Cgroup) != cgroupName(begun.Token) || !validToken(begun.Token) {
		return "", false
	}
	below, err := filepath.Rel(mount, filepath.Dir(begun.Cgroup))
	return below, err == nil && filepath.IsLocal(below)
}

func openFolder(at int, path string) (int, error) {
	return unix.Openat(at, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

func onCgroupFS(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

func (g *recordedCgroup) close() {
	for _, fd := range []int{g.parent, g.fd} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// open opens a file of the group.
func (g *recordedCgroup) open(name string, flags int) (*os.File, error) {
	fd, err := disk.OpenBelow(g.fd, name, flags)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Join(g.name, name), Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (g *recordedCgroup) read(name string) ([]byte, error) {
	f, err := g.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func (g *recordedCgroup) kill() error {
	f, err := g.open("cgroup.kill", unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write([]byte("1"))
	return err
}

func (g *recordedCgroup) remove() error { return unix.Unlinkat(g.parent, g.name, unix.AT_REMOVEDIR) }

// startCgroup returns the folder of the group in which this process first had an attempt. Later ones are below it too.
var startCgroup = sync.OnceValues(ownCgroup)

// ownCgroup returns the folder of this process's group.
func ownCgroup() (string, error) {
	mount, root, err := cgroupMount()
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			below, err := filepath.Rel(root, own)
			if err != nil || !filepath.IsLocal(below) {
				return "", fmt.Errorf("own cgroup %s is outside the mounted cgroup %s", own, root)
			}
			return filepath.Join(mount, below), nil
		}
	}
	return "", errors.New("this process is in no cgroup v2")
}

// cgroupMount returns the mount point of cgroup v2, and the group that is mounted there.
func cgroupMount() (mount, root string, err error) {
	m, err := mountedCgroup()
	return m.at, m.root, err
}

// cgroupAt is where a control group is mounted.
type cgroupAt struct{ at, root string }

// mountedCgroup parses mountinfo (proc(5)) once, since hybrid systems mount version 1 too.
var mountedCgroup = sync.OnceValues(func() (cgroupAt, error) {
	mount, root, err := readCgroupMount()
	return cgroupAt{mount, root}, err
})

func readCgroupMount() (mount, root string, err error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if strings.HasPrefix(after, "cgroup2 ") && len(fields) > 5 && strings.HasPrefix(fields[5], "rw") {
			return fields[4], fields[3], nil
		}
	}
	return "", "", errors.New("cgroup v2 is not mounted writable")
}
