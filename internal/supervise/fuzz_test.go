package supervise

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// FuzzRecords reads anything as the records of an attempt. Nothing that they name is called the attempt's cgroup, unless it
// lies below the mount point and has the name that pawl gives.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"token":"0123456789abcdef","supervisor":{"pid":1,"start":1},"cgroup":"/sys/fs/cgroup/../../tmp/pawl-0123456789abcdef"}`), []byte(`{"token":"x","exit":0}`), []byte(`{"run":"r","token":"0123456789abcdef"}`))
	f.Add([]byte("{}\n{}\n{"), []byte("null"), []byte("[]"))
	f.Add([]byte(`{"token":"../x","cgroup":"/pawl-../x"}`), []byte(""), []byte(`{"time":"x"}`))
	f.Add([]byte(`{"token":"a","cgroup":"/sys/fs/cgroup/user/pawl-a"}`), []byte("{}{"), []byte(`{"token":"a","uptime":1e300}`))
	public := NewSeal().Public()
	const mount = "/sys/fs/cgroup"
	f.Fuzz(func(t *testing.T, begunFile, exit, more []byte) {
		begun, job := lastRecord[pawl.Begun](bytes.NewReader(begunFile)), lastRecord[pawl.Job](bytes.NewReader(more))
		lastRecord[pawl.Abort](bytes.NewReader(more))
		if parseExit(exit) != nil && sealedWith(exit, public) {
			t.Error("an exit record without a seal counts")
		}
		if begun == nil {
			return
		}
		isOfJob(begun, job)
		aliveAt(lastRecord[pawl.Beat](bytes.NewReader(more)), begun.Token)
		below, ok := groupBelow(mount, begun)
		path := filepath.Join(mount, below, cgroupName(begun.Token))
		if ok && (!strings.HasPrefix(path, mount+"/") || path != filepath.Clean(begun.Cgroup) || filepath.Base(path) != cgroupName(begun.Token)) {
			t.Errorf("%q is called a cgroup of ours", path)
		}
	})
}
