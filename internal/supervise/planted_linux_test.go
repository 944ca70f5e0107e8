package supervise

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/supervise/process"
)

// TestPlantedCgroup: a begun.json that names a folder of its writer's choice makes pawl neither write there, nor call the
// processes that the folder lists its own, nor remove anything.
func TestPlantedCgroup(t *testing.T) {
	a := doing(t, "family")
	begun := *a.lose()
	mount, _, mounted := cgroupMount()
	victim := filepath.Join(t.TempDir(), "victim")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(victim, []byte("precious"), 0o600))
	name := cgroupName(begun.Token)
	plant := func(folder string) string {
		check(os.MkdirAll(folder, 0o700))
		check(os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte("1\n"), 0o600))
		check(os.Symlink(victim, filepath.Join(folder, "cgroup.kill")))
		return folder
	}
	planted := plant(filepath.Join(t.TempDir(), name))
	link := filepath.Join(t.TempDir(), name)
	check(os.Symlink(planted, link))
	paths := []string{planted, link, "../" + name, name, "/", mount + "/../../" + planted}
	if mounted == nil {
		paths = append(paths, mount, filepath.Join(mount, "..", name), filepath.Join(mount, name, "..", "..", planted))
	}
	for _, path := range paths {
		changed := begun
		changed.Cgroup = path
		if group, err := openCgroup(&changed); group != nil || err != nil {
			t.Errorf("%s: opened %v, %v", path, group, err)
		}
		if members := groupMembers(changed); len(members) > 0 {
			t.Errorf("%s: %v are called ours", path, members)
		}
		if killed, err := sweepCgroup(&changed); killed != 0 || err != nil {
			t.Errorf("%s: killed %d, %v", path, killed, err)
		}
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "precious" {
		t.Errorf("the file outside has %q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(planted, "cgroup.procs")); err != nil {
		t.Error(err)
	}
	a.rewrite(begun)
	Sweep(a.dir, "")
}

// TestPlantedRecord: processes are proven ours only by a record with the token of the folder's job, of this boot.
func TestPlantedRecord(t *testing.T) {
	a := doing(t, "family")
	begun := *a.lose()
	before := a.survivors()
	for name, change := range map[string]func(*pawl.Begun){
		"another token": func(b *pawl.Begun) { b.Token = "0123456789abcdef" },
		"no token":      func(b *pawl.Begun) { b.Token = "" },
		"a path":        func(b *pawl.Begun) { b.Token = "../../x" },
	} {
		changed := begun
		change(&changed)
		a.rewrite(changed)
		killed, left, err := Sweep(a.dir, "")
		if killed != 0 || left != nil || err != nil {
			t.Errorf("%s: killed %d, left %v, %v", name, killed, left, err)
		}
		if found := a.found(); len(found) > 0 {
			t.Errorf("%s: %v are called ours", name, found)
		}
	}
	if after := a.survivors(); len(after) != len(before) {
		t.Errorf("alive: %v, before %v", after, before)
	}
	a.rewrite(begun)
	Sweep(a.dir, "")
}

// TestPlantedPair: a job.json, begun.json and beat.json that agree, and name the session of a process of the user's or carry the
// token of another attempt, make pawl kill neither.
func TestPlantedPair(t *testing.T) {
	dir := t.TempDir()
	innocent := exec.Command("sleep", "1000")
	innocent.Env = append(os.Environ(), tokenVariable("another"))
	innocent.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(innocent.Start())
	ended := make(chan error, 1)
	go func() { ended <- innocent.Wait() }()
	who, err := process.Identify(innocent.Process.Pid)
	must(err)
	plant := func(token pawl.Token) {
		for name, record := range map[string]any{
			pawl.JobFile:   pawl.Job{AttemptRef: pawl.AttemptRef{Step: "a", Attempt: 1, Token: token}},
			pawl.BegunFile: pawl.Begun{Token: token, Supervisor: who, Child: who},
			pawl.BeatFile:  pawl.Beat{Token: token, Uptime: 1e9},
		} {
			data, err := json.Marshal(record)
			must(err)
			must(os.WriteFile(filepath.Join(dir, name), append(data, '\n'), 0o600))
		}
	}
	for _, c := range []struct{ planted, journaled pawl.Token }{{"mine", "mine"}, {"mine", ""}, {"another", "mine"}} {
		plant(c.planted)
		killed, _, err := Sweep(dir, c.journaled)
		if killed != 0 || err != nil {
			t.Errorf("%v: killed %d, %v", c, killed, err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, pawl.LockFile), nil, 0o600))
	lock, err := os.Open(filepath.Join(dir, pawl.LockFile))
	must(err)
	defer lock.Close()
	must(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)) // as a step can
	if err := Kill(dir); err == nil || !strings.Contains(err.Error(), "does not hold the lock") {
		t.Errorf("kill: %v", err)
	}
	select {
	case err := <-ended:
		t.Errorf("the process of the user's has ended: %v", err)
	default:
	}
	must(innocent.Process.Kill())
}
