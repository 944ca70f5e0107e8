package supervise

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
)

// cgroup is a control group, version 2, that holds the whole tree of one child: nothing leaves it by itself, and one
// write kills all of it.
type cgroup struct {
	path string
	dir  *os.File
}

// newCgroup names a group below our own, which is still to be made. It returns nil where there can be none.
func newCgroup(name string) *cgroup {
	own, err := ownCgroup()
	if err != nil {
		return nil
	}
	return &cgroup{path: filepath.Join(own, name)}
}

// make makes the group, and reports whether that was possible.
func (c *cgroup) make() bool {
	if c == nil || os.Mkdir(c.path, 0o700) != nil {
		return false
	}
	dir, err := os.Open(c.path)
	if err == nil {
		if _, err = os.Stat(filepath.Join(c.path, "cgroup.kill")); err == nil {
			c.dir = dir
			return true
		}
		dir.Close()
	}
	os.Remove(c.path)
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
	os.Remove(c.path) // one with groups below it stays: empty, it does no harm
}

// kill kills every process in the group.
func (c *cgroup) kill() error {
	if c == nil {
		return nil
	}
	return killCgroup(c.path)
}

func killCgroup(path string) error {
	return os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
}

// sweepCgroup kills what is in a lost attempt's group and removes it. The name holds the token, so it is nobody else's.
func sweepCgroup(begun *pawl.Begun) (killed int, err error) {
	if begun.Cgroup == "" || filepath.Base(begun.Cgroup) != cgroupName(begun.Token) {
		return 0, nil
	}
	procs, err := os.ReadFile(filepath.Join(begun.Cgroup, "cgroup.procs"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := killCgroup(begun.Cgroup); err != nil {
		return 0, err
	}
	for end := time.Now().Add(sweepWait); os.Remove(begun.Cgroup) != nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return bytes.Count(procs, []byte("\n")), nil
}

// ownCgroup returns the folder of the group that we are in.
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
				return "", fmt.Errorf("our cgroup %s is outside the mounted %s", own, root)
			}
			return filepath.Join(mount, below), nil
		}
	}
	return "", errors.New("we are in no cgroup of version 2")
}

// cgroupMount returns where cgroup version 2 is mounted, on hybrid systems beside version 1, and which group is
// mounted there; from proc(5), mountinfo.
func cgroupMount() (mount, root string, err error) {
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
	return "", "", errors.New("cgroup version 2 is not mounted writable")
}
