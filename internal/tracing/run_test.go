package tracing_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

const plan = `name: demo
steps:
  - {id: first, run: "echo quiet-output; echo $TRACEPARENT > first.parent; env > first.env"}
  - {id: slow, run: "echo $TRACEPARENT > slow.parent; touch begun; until test -e go; do sleep 0.02; done"}
  - {id: weak, run: "exit 3", retry: {attempts: 2, backoff: 0s}, continue_on_error: true}
  - {id: each, foreach: {items: [a, b]}, run: ":"}
  - {id: never, if: "false", run: ":"}
  - {id: look, gate: {type: human_verify, ask: "quiet-question"}}
  - {id: last, run: "echo $TRACEPARENT > last.parent"}
`

// place is a project's folder, and the environment of pawl in it.
type place struct {
	*testing.T
	root string
	env  []string
}

func newPlace(t *testing.T, env ...string) *place {
	p := &place{T: t, root: t.TempDir()}
	home := t.TempDir()
	p.env = append([]string{"PATH=" + filepath.Dir(storytest.Pawl(t)) + ":" + os.Getenv("PATH"), "HOME=" + home, "PAWL_STATE=" + filepath.Join(home, "state")}, env...)
	if err := os.WriteFile(filepath.Join(p.root, "plan.yaml"), []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	var said bytes.Buffer
	cmd := exec.Command(storytest.Pawl(p.T), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.root, p.env, &said, &said
	return cmd, &said
}

// pawl runs pawl, which must exit with code, and returns what it printed.
func (p *place) pawl(code int, args ...string) string {
	p.Helper()
	cmd, said := p.command(args...)
	_ = cmd.Run()
	if cmd.ProcessState.ExitCode() != code {
		p.Fatalf("pawl %q: exit code %d, want %d: %s", args, cmd.ProcessState.ExitCode(), code, said)
	}
	return said.String()
}

func (p *place) text(name string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.root, name))
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func (p *place) exists(name string) bool {
	_, err := os.Stat(filepath.Join(p.root, name))
	return err == nil
}

// killInSlow starts the run, and kills its engine in the step slow, when the collector has the spans of the step before.
func (p *place) killInSlow(c *collector) {
	p.Helper()
	cmd, said := p.command("run", "plan.yaml")
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	if !storytest.Until(func() bool { return p.exists("begun") && len(c.got()) >= 2 }) {
		_ = cmd.Process.Kill()
		p.Fatalf("the collector has %d spans: %s", len(c.got()), said)
	}
	if err := cmd.Process.Kill(); err != nil {
		p.Fatal(err)
	}
	_ = cmd.Wait()
}

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
)

// TestKilledAndResumed looks at the trace of a run whose engine was killed, that another one resumed, and that waited for a person.
func TestKilledAndResumed(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	p := newPlace(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL+"/", "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Basic%20cXVpZXQ=,X-Team=a")
	plain := p.env
	p.env = append(p.env, "TRACEPARENT=00-"+callersTrace+"-"+callersSpan+"-01")
	p.killInSlow(c)
	p.env = plain // another caller, in no trace
	if err := os.WriteFile(filepath.Join(p.root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.pawl(3, "resume", "--yes")
	p.pawl(0, "approve", "--yes", "look")
	p.pawl(0, "resume", "--yes")

	spans, names := map[string]received{}, map[string]int{}
	for _, s := range c.got() {
		if again, twice := spans[s.SpanID]; twice {
			t.Errorf("%s and %s have one id", again.Name, s.Name)
		}
		if s.TraceID != callersTrace || s.StartTimeUnixNano > s.EndTimeUnixNano || s.Flags&1 == 0 {
			t.Errorf("%+v", s)
		}
		spans[s.SpanID], names[s.Name] = s, names[s.Name]+1
	}
	for name, want := range map[string]int{
		"RUN demo": 1, "first": 1, "attempt first": 1, "slow": 1, "attempt slow": 1, "weak": 1, "attempt weak": 2, "each": 1, "attempt each": 2,
		"never": 1, "look": 1, "gate look": 1, "last": 1, "attempt last": 1,
	} {
		if names[name] != want {
			t.Errorf("%d spans %q, want %d: %v", names[name], name, want, names)
		}
	}
	for _, s := range spans {
		parent := spans[s.ParentSpanID]
		switch step := s.has("cicd.pipeline.task.name"); {
		case s.Name == "RUN demo":
			if s.ParentSpanID != callersSpan || s.Kind != 2 || s.has("cicd.pipeline.result") != "success" || s.has("pawl.engines") != "3" || s.has("pawl.engine.deaths") != "1" {
				t.Errorf("%+v", s)
			}
		case s.Name == step:
			if parent.Name != "RUN demo" || !strings.HasSuffix(s.has("cicd.pipeline.task.run.id"), "/"+step) {
				t.Errorf("%+v below %q", s, parent.Name)
			}
		case s.Name == "gate look":
			if parent.Name != "look" || s.has("pawl.gate.answer") != "approved" {
				t.Errorf("%+v below %q", s, parent.Name)
			}
		default:
			if parent.Name != step {
				t.Errorf("%+v below %q", s, parent.Name)
			}
		}
		if failed := strings.HasSuffix(s.Name, "weak"); failed != (s.Status.Code == 2) {
			t.Errorf("%+v", s)
		}
		if s.Name == "attempt weak" && s.has("process.exit.code") != "3" {
			t.Errorf("%+v", s)
		}
	}
	for _, step := range []string{"first", "slow", "last"} {
		given := p.text(step + ".parent")
		if m := regexp.MustCompile(`^00-` + callersTrace + `-([0-9a-f]{16})-01$`).FindStringSubmatch(given); m == nil || spans[m[1]].Name != "attempt "+step {
			t.Errorf("step %s has TRACEPARENT=%s", step, given)
		}
	}
	if got := c.headers.Get("Authorization"); got != "Basic cXVpZXQ=" || c.headers.Get("X-Team") != "a" || c.headers.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", c.headers)
	}
	if c.service != "pawl" {
		t.Errorf("service %q", c.service)
	}
	if strings.Contains(p.text("first.env"), "OTLP_HEADERS") {
		t.Error("the step inherits the key of the collector")
	}
	if sent := c.bodies.String(); strings.Contains(sent, "quiet") || strings.Contains(sent, "until test") || strings.Contains(sent, p.root) {
		t.Errorf("a span contains a question, output, a script or a path: %s", sent)
	}
}

// TestNoCollector ends a run as without traces, and says what is lost.
func TestNoCollector(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1") // a port that no system gives to a server
	said := p.pawl(0, "run", "--", "true")
	if !regexp.MustCompile(`note: traces: 3 spans were not exported: .*refused`).MatchString(said) || strings.Contains(said, "v1/traces") {
		t.Error(said)
	}
	p.env = append(p.env, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	if said := p.pawl(0, "run", "--", "true"); !strings.Contains(said, "note: traces: pawl sends traces by HTTP only") {
		t.Error(said)
	}
	p.env = append(p.env, "OTEL_TRACES_EXPORTER=none")
	if said := p.pawl(0, "run", "--", "true"); strings.Contains(said, "traces") {
		t.Error(said)
	}
}

// TestUserSettings takes the collector from the user's own settings, and none from a project's.
func TestUserSettings(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	p := newPlace(t)
	settings := "traces: {endpoint: " + c.URL + ", headers: {Authorization: Bearer quiet}}\n"
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.pawl(0, "init")
	write(filepath.Join(p.root, ".pawl", "config.yaml"))
	if said := p.pawl(2, "run", "--", "true"); !strings.Contains(said, `"traces" counts only in your own settings`) {
		t.Error(said)
	}
	if err := os.Remove(filepath.Join(p.root, ".pawl", "config.yaml")); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config")
	write(filepath.Join(config, "pawl", "config.yaml"))
	p.env = append(p.env, "XDG_CONFIG_HOME="+config)
	p.pawl(0, "run", "--", "sh", "-c", "echo $TRACEPARENT > parent")
	if len(c.got()) != 3 || c.headers.Get("Authorization") != "Bearer quiet" {
		t.Errorf("%+v, headers %v", c.got(), c.headers)
	}
	for _, s := range c.got() {
		if s.Name == "RUN command" && s.ParentSpanID != "" || s.TraceID != strings.Split(p.text("parent"), "-")[1] {
			t.Errorf("%+v, TRACEPARENT=%s", s, p.text("parent"))
		}
	}
	p.env = append(p.env, "OTEL_TRACES_SAMPLER=always_off")
	p.pawl(0, "run", "--", "sh", "-c", "echo $TRACEPARENT > parent")
	if len(c.got()) != 3 || !strings.HasSuffix(p.text("parent"), "-00") {
		t.Errorf("%d spans, TRACEPARENT=%s", len(c.got()), p.text("parent"))
	}
}
