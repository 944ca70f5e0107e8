package caller

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl"
)

// FuzzCaller reads anything as the record of a session, as /proc/self/cgroup and as the arguments of a supervisor. A record can be
// stored again, and only a whole path of an attempt names a step.
func FuzzCaller(f *testing.F) {
	f.Add([]byte(`{"process":{"pid":7,"start":9},"agent":"claude","session":"s"}`))
	f.Add([]byte("0::/user.slice/pawl-0123456789abcdef/x\n"))
	f.Add([]byte("pawl\x00supervise\x00/p/.pawl/runs/r-20260101-000000-0000/steps/a/1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parse(data); err == nil {
			if _, err := json.Marshal(s); err != nil {
				t.Error(err)
			}
			_ = Caller{Kind: Agent, Name: s.Agent, Session: s.Session}.Author("user")
		}
		if c := fromGroup(string(data)); c.Kind == Step && !strings.Contains(string(data), "pawl-") {
			t.Errorf("%q is called the group of an attempt", data)
		}
		a := ancestor{args: strings.Split(string(data), "\x00"), environ: strings.Split(string(data), "\x00")}
		if c := a.attempt(); c.Step != "" && !strings.Contains(string(data), "/.pawl/runs/") {
			t.Errorf("%q is called step %q", data, c.Step)
		}
		a.isPawl()
		if c := fromEnvironment(a.environ, "it"); c.Kind == Person && pawl.StepID(variable(a.environ, "PAWL_STEP")) != "" {
			t.Errorf("%q is called a person", a.environ)
		}
	})
}
