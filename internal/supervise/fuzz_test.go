package supervise

import (
	"os"
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
	dir := f.TempDir()
	mount, _, _ := cgroupMount()
	f.Fuzz(func(t *testing.T, begun, exit, more []byte) {
		for name, data := range map[string][]byte{pawl.BegunFile: begun, pawl.ExitFile: exit, pawl.JobFile: more, pawl.BeatFile: more, pawl.AbortFile: more} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		status, err := Probe(dir)
		if err != nil {
			t.Fatal(err)
		}
		ReadJob(dir)
		if status.Begun == nil {
			return
		}
		isRecordOf(dir, status.Begun)
		if _, err := lastBeat(dir, status.Begun.Token); err != nil {
			t.Error(err)
		}
		group, err := openCgroup(status.Begun)
		if err != nil || group == nil {
			return
		}
		group.close()
		if path := filepath.Clean(status.Begun.Cgroup); !strings.HasPrefix(path, mount+"/") || filepath.Base(path) != cgroupName(status.Begun.Token) {
			t.Errorf("%q is called a cgroup of ours", path)
		}
	})
}
