//go:build linux

package supervise

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/supervise/process"
)

// lose kills the supervisor of a family and returns its begun record.
func (a *attempt) lose() *pawl.Begun {
	a.Helper()
	running := a.start()
	a.waitFor("leader", "child", "session", "group", "nameless", "daemon")
	status, err := Probe(a.dir)
	a.no(err)
	if _, _, err := Sweep(a.dir, ""); pawl.KindOf(err) != pawl.KindHeld {
		a.Errorf("sweep of a live attempt: %v", err)
	}
	a.no(Kill(a.dir))
	a.no(running.Wait(a.soon()))
	if status, _ := Probe(a.dir); status.State != Lost {
		a.Fatalf("status %+v", status)
	}
	a.until("the leader is dead", func() bool { return !a.alive("leader") })
	return status.Begun
}

func (a *attempt) survivors() []string {
	var names []string
	for name := range a.pids() {
		if a.alive(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// rewrite puts another begun record in place.
func (a *attempt) rewrite(begun pawl.Begun) {
	a.Helper()
	s := &supervisor{dir: a.dir, begun: begun}
	a.no(os.Remove(filepath.Join(a.dir, pawl.BegunFile)))
	a.no(s.writeBegun())
}

func TestSweepWithCgroup(t *testing.T) {
	a := doing(t, "family")
	begun := a.lose()
	if begun.Cgroup == "" {
		t.Skip("no writable cgroup v2 here")
	}
	killed, left, err := Sweep(a.dir, "")
	if err != nil || left != nil || killed < 5 || a.survivors() != nil { // who is just dying may be counted too
		t.Errorf("killed %d, left %v, %v; alive: %v", killed, left, err, a.survivors())
	}
	if _, err := os.Stat(begun.Cgroup); !os.IsNotExist(err) {
		t.Errorf("the cgroup stays: %v", err)
	}
	if killed, left, err := Sweep(a.dir, ""); killed != 0 || left != nil || err != nil {
		t.Errorf("again: killed %d, left %v, %v", killed, left, err)
	}
}

// Without a cgroup just the daemon without a name, a parent or our session gets away.
func TestSweepWithoutCgroup(t *testing.T) {
	a := doing(t, "family")
	begun := *a.lose()
	cgroup := begun.Cgroup
	begun.Cgroup = ""
	a.rewrite(begun)
	killed, left, err := Sweep(a.dir, "")
	if err != nil || left != nil || killed != 4 || !slices.Equal(a.survivors(), []string{"daemon"}) {
		t.Errorf("killed %d, left %v, %v; alive: %v", killed, left, err, a.survivors())
	}
	begun.Cgroup = cgroup
	a.rewrite(begun)
	Sweep(a.dir, "")
}

func TestSweepSparesWhatIsNotOurs(t *testing.T) {
	a := doing(t, "family")
	begun := *a.lose()
	before := a.survivors()
	for name, change := range map[string]func(*pawl.Begun){
		"another boot":          func(b *pawl.Begun) { b.Supervisor.BootID = "another" },
		"no boot":               func(b *pawl.Begun) { b.Supervisor.BootID = "" },
		"another pid namespace": func(b *pawl.Begun) { b.Supervisor.PIDNS = "pid:[1]" },
		"started before us":     func(b *pawl.Begun) { b.Supervisor.Start += 1000; b.Cgroup = "" },
		"not our cgroup":        func(b *pawl.Begun) { b.Token, b.Supervisor.PID = "other", 1<<22+1 },
	} {
		changed := begun
		change(&changed)
		a.rewrite(changed)
		killed, _, err := Sweep(a.dir, "")
		if killed != 0 || !slices.Equal(a.survivors(), before) || (err != nil) != (name == "another pid namespace") {
			t.Errorf("%s: killed %d, %v; alive: %v", name, killed, err, a.survivors())
		}
	}
	a.rewrite(begun)
	Sweep(a.dir, "")
}

func TestVictims(t *testing.T) {
	t.Parallel()
	const self = 90
	at := func(start uint64) time.Duration { return process.StartedAt(start) }
	begun := pawl.Begun{Token: "t", Supervisor: pawl.Process{PID: 10, Start: 100}}
	proc := func(pid, parent, session int, start uint64) process.Stat {
		return process.Stat{PID: pid, Parent: parent, Session: session, Start: start}
	}
	for name, c := range map[string]struct {
		table          []process.Stat
		token          []int
		ours, doubtful []int
	}{
		"nothing":                       {},
		"member":                        {table: []process.Stat{proc(11, 1, 10, 110)}, ours: []int{11}},
		"member of a later session":     {table: []process.Stat{proc(11, 1, 10, 300)}, doubtful: []int{11}},
		"late member beside a proven":   {table: []process.Stat{proc(11, 1, 10, 300), proc(12, 1, 10, 150)}, ours: []int{11, 12}},
		"older than the supervisor":     {table: []process.Stat{proc(11, 1, 10, 50)}, token: []int{11}},
		"late member beside a named":    {table: []process.Stat{proc(11, 1, 10, 300), proc(12, 1, 10, 300)}, token: []int{12}, ours: []int{11, 12}},
		"by token":                      {table: []process.Stat{proc(11, 1, 77, 300)}, token: []int{11}, ours: []int{11}},
		"descendant":                    {table: []process.Stat{proc(11, 1, 77, 300), proc(12, 11, 78, 400), proc(13, 12, 79, 400)}, token: []int{11}, ours: []int{11, 12, 13}},
		"we run inside it":              {table: []process.Stat{proc(11, 1, 77, 300), proc(self, 11, 77, 300), proc(12, 11, 77, 300)}, token: []int{11, 12}, ours: []int{12}, doubtful: []int{11, self}},
		"dead":                          {table: []process.Stat{{PID: 11, Session: 10, Start: 110, Dead: true}}},
		"exiting":                       {table: []process.Stat{{PID: 11, Session: 10, Start: 300, Exiting: true}}},
		"the supervisor's number again": {table: []process.Stat{proc(10, 1, 10, 300), proc(11, 10, 10, 310)}, doubtful: []int{10, 11}},
	} {
		carries := func(pid int, variable string) bool {
			return variable == "PAWL_TOKEN=t" && slices.Contains(c.token, pid)
		}
		ours, doubtful := victims(c.table, begun, at(200), self, carries)
		if !slices.Equal(pids(ours), c.ours) || !slices.Equal(pids(doubtful), c.doubtful) {
			t.Errorf("%s: ours %v, doubtful %v", name, pids(ours), pids(doubtful))
		}
	}
}
