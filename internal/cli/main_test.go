package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/engine"
	"pawl/internal/executor/agent"
	"pawl/internal/executor/temporal"
	"pawl/internal/faststart"
	"pawl/internal/interop"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/grid"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/interop/format/projectstate"
	"pawl/internal/interop/format/sitebuilder"
	"pawl/internal/journal"
	"pawl/internal/mcp"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// TestMain runs the tests. A run starts this program again, as a supervisor, a hook or the pawl that a step calls.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(program(os.Args[1:]))
	}
	os.Exit(withHome(m))
}

// program does what the main function of pawl does.
func program(args []string) int {
	ctx := context.Background()
	if code, done := faststart.Run(ctx, args); done {
		return code
	}
	return cli.Report(os.Stderr, cli.Run(ctx, args, cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, "test", parts()))
}

// withHome runs the tests with a home of their own, outside of any attempt.
func withHome(m *testing.M) int {
	home, err := os.MkdirTemp("", "pawl-cli-")
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		err = errors.Join(err, os.Setenv(name, home))
	}
	err = errors.Join(err, os.Setenv("USER", "tester"))
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "PAWL_") {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	return m.Run()
}

// parts returns the adapters that the program has.
func parts() cli.Parts {
	formats := interop.Formats{grid.Format(), dotagent.Format(), sitebuilder.Format(), projectstate.Format(), gyoshu.Format()}
	return cli.Parts{
		Executors: []engine.Executor{agent.Executor{}},
		Temporal:  func(c config.Temporal) engine.Executor { return temporal.Executor{Settings: c} },
		Adviser:   func(config.Evaluator, string) engine.Evaluator { return nil },
		Tracer:    func(config.Traces) engine.Tracer { return nil },
		Agents: func(ctx context.Context, how cli.Serving) error {
			s, err := mcp.New(mcp.Config{Formats: formats, Folder: how.Folder, Version: how.Version, Environ: os.Environ(), Log: how.Err})
			if err != nil {
				return err
			}
			if !how.HTTP {
				return s.Stdio(ctx, how.In, how.Out)
			}
			return s.Listen(ctx, mcp.HTTP{Address: how.Address, TokenFile: how.TokenFile, NoToken: how.NoToken})
		},
		Formats: formats,
	}
}

// place is a folder in which commands are run.
type place struct {
	*testing.T
	dir string
}

// newPlace makes an empty folder.
func newPlace(t *testing.T) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &place{T: t, dir: dir}
}

// newProject makes a project.
func newProject(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.ok("init")
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// write writes a file.
func (p *place) write(name, content string) {
	p.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(p.path(name)), 0o755), os.WriteFile(p.path(name), []byte(content), 0o600))
	if err != nil {
		p.Fatal(err)
	}
}

// read returns the content of a file.
func (p *place) read(name string) string {
	p.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

// result is what a command returned and printed.
type result struct {
	err      error
	out, msg string // standard output and standard error
}

// pawl runs a command in the folder.
func (p *place) pawl(args ...string) result {
	p.Helper()
	return p.within(p.Context(), "", args...)
}

// within runs a command with a context and an input. The command is interrupted after a minute.
func (p *place) within(ctx context.Context, in string, args ...string) result {
	p.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // no test waits for ever for a command that does not end
	defer cancel()
	var out, msg safeBuffer
	err := cli.Run(ctx, append([]string{"-C", p.dir}, args...), cli.IO{In: strings.NewReader(in), Out: &out, Err: &msg}, "test", parts())
	return result{err, out.String(), msg.String()}
}

// reported returns what the program prints of an error.
func reported(err error) string {
	var out bytes.Buffer
	cli.Report(&out, err)
	return out.String()
}

// ok runs a command that must succeed, and returns what it printed.
func (p *place) ok(args ...string) string {
	p.Helper()
	got := p.pawl(args...)
	if got.err != nil {
		p.Fatalf("pawl %s: %v\n%s%s", strings.Join(args, " "), got.err, got.out, got.msg)
	}
	return got.out
}

// fails runs a command that must return an error of a kind.
func (p *place) fails(want pawl.Kind, args ...string) result {
	p.Helper()
	got := p.pawl(args...)
	if got.err == nil || pawl.KindOf(got.err) != want {
		p.Errorf("pawl %s: %v, want an error of kind %s", strings.Join(args, " "), got.err, want)
	}
	return got
}

// decode runs a command with --json that must succeed, and decodes what it printed.
func decode[T any](p *place, args ...string) T {
	p.Helper()
	return decoded[T](p, p.ok(append(args, "--json")...))
}

func decoded[T any](p *place, text string) T {
	p.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		p.Fatalf("%v: %s", err, text)
	}
	return v
}

// project opens the project.
func (p *place) project() *project.Project {
	p.Helper()
	found, err := project.Find(p.dir)
	if err != nil {
		p.Fatal(err)
	}
	return found
}

// run returns the id of the only run.
func (p *place) run() pawl.RunID {
	p.Helper()
	ids, err := runs.List(p.project())
	if err != nil || len(ids) != 1 {
		p.Fatalf("runs: %v %v", ids, err)
	}
	return ids[0]
}

// newest returns the id of the current run.
func (p *place) newest() pawl.RunID {
	p.Helper()
	id, err := runs.FindRun(p.Context(), p.project(), "latest")
	if err != nil {
		p.Fatal(err)
	}
	return id
}

// state returns the state of the current run.
func (p *place) state() *pawl.State {
	p.Helper()
	s, err := runs.LoadState(p.Context(), p.project(), p.newest())
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// events returns the events of the current run that are of a type.
func (p *place) events(kind pawl.EventType) []pawl.Event {
	p.Helper()
	log, err := journal.Open(p.project().Runs(), p.newest())
	if err != nil {
		p.Fatal(err)
	}
	defer log.Close()
	var found []pawl.Event
	for e, err := range log.Events(0) {
		if err != nil {
			p.Fatal(err)
		}
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

// last returns the payload of the newest event of its type.
func last[P pawl.Payload](p *place) P {
	p.Helper()
	var none P
	all := p.events(none.Event())
	if len(all) == 0 {
		p.Fatalf("no event %s", none.Event())
	}
	payload, err := all[len(all)-1].Payload()
	if err != nil {
		p.Fatal(err)
	}
	return payload.(P)
}

// wants fails the test unless a text contains all words.
func (p *place) wants(text string, words ...string) {
	p.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			p.Errorf("%q does not contain %q", text, word)
		}
	}
}

// until waits until a condition holds.
func (p *place) until(what string, holds func() bool) {
	p.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("never: %s", what)
		}
	}
}

// exists reports whether a file exists.
func (p *place) exists(name string) bool {
	_, err := os.Lstat(p.path(name))
	return err == nil
}

// status is the part of `pawl status --json` that tests look at.
type status struct {
	Run     pawl.RunID     `json:"run"`
	Kind    pawl.RunKind   `json:"kind"`
	Status  pawl.RunStatus `json:"status"`
	Percent int            `json:"progress_percent"`
	Engine  *struct {
		PID int `json:"pid"`
	} `json:"engine"`
	Steps []struct {
		ID       pawl.StepID     `json:"id"`
		Status   pawl.StepStatus `json:"status"`
		Attempts int             `json:"attempts"`
		Items    struct {
			Total, Done, Failed int
		} `json:"items"`
		Live   []struct{ Attempt int } `json:"live"`
		Offers []string                `json:"offers"`
	} `json:"steps"`
	Gates []struct {
		ID       pawl.GateID `json:"id"`
		Step     pawl.StepID `json:"step"`
		Commands []string    `json:"commands"`
	} `json:"gates"`
	Blockers []pawl.Blocker `json:"blockers"`
	Sessions []struct {
		Session pawl.SessionID `json:"session"`
	} `json:"sessions"`
}

// of returns the status of each step.
func (s status) of() map[pawl.StepID]pawl.StepStatus {
	all := map[pawl.StepID]pawl.StepStatus{}
	for _, step := range s.Steps {
		all[step.ID] = step.Status
	}
	return all
}

// steps returns the ids of the steps, sorted.
func (s status) steps() []string {
	var ids []string
	for _, step := range s.Steps {
		ids = append(ids, string(step.ID))
	}
	slices.Sort(ids)
	return ids
}

// safeBuffer is a buffer that several goroutines write to.
type safeBuffer struct {
	mu   sync.Mutex // guards data
	data bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}
