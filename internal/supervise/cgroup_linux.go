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

// cgroup is a control group (version 2) for the process tree of one child. Processes cannot leave it by themselves, and
// one write kills all of them.
type cgroup struct {
	path string
	dir  *os.File
}

// newCgroup returns a group below this process's own, not yet created, or nil if there can be none.
func newCgroup(name string) *cgroup {
	own, err := ownCgroup()
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
	os.Remove(c.path) // a group with subgroups stays, which is harmless
}

// kill kills all processes in the group.
func (c *cgroup) kill() error {
	if c == nil {
		return nil
	}
	return killCgroup(c.path)
}

func killCgroup(path string) error {
	return os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
}

// sweepCgroup kills the processes in a lost attempt's group and removes it. The group's name contains the token, so it
// belongs to no other attempt.
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

// cgroupMount returns the mount point of cgroup v2, and the group that is mounted there. It parses mountinfo (proc(5)),
// since hybrid systems mount version 1 too.
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
	return "", "", errors.New("cgroup v2 is not mounted writable")
}
