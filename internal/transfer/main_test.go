package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk/disktest"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/remote/remotetest"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/transfer"
)

// doVar says what the test binary does instead of tests, in its folder. So it is also the process that dies.
const doVar = "TRANSFER_TEST_DO"

// storage is an S3 server.
var storage *remotetest.Storage

func TestMain(m *testing.M) {
	if do := strings.Fields(os.Getenv(doVar)); len(do) > 0 {
		disktest.Inject()
		if err := act(do); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	state, err := os.MkdirTemp("", "pawl-transfer-")
	if err == nil {
		err = os.Setenv("PAWL_STATE", state)
	}
	storage = remotetest.NewStorage()
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		err = errors.Join(err, os.Setenv(name, storage.Getenv(name)))
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	storage.Close()
	os.RemoveAll(state)
	os.Exit(code)
}

// act pushes, pulls or clones: push RUN, pull RUN, clone RUN URL FOLDER.
func act(do []string) error {
	ctx, run := context.Background(), pawl.RunID(do[1])
	if do[0] == "clone" {
		_, err := transfer.Clone(ctx, do[2], do[3], run)
		return err
	}
	p, err := project.Find(".")
	if err != nil {
		return err
	}
	if do[0] == "push" {
		_, err = push(ctx, p, run)
	} else {
		_, err = pull(ctx, p, run)
	}
	return err
}

func opened(ctx context.Context, p *project.Project, do func(*transfer.Connection, *snapshot.Store) error) error {
	c, err := transfer.Connect(ctx, p, "")
	if err != nil {
		return err
	}
	store, err := runs.OpenSnapshots(ctx, p, config.Snapshots{})
	if err != nil {
		return err
	}
	return errors.Join(do(c, store), store.Close())
}

func push(ctx context.Context, p *project.Project, run pawl.RunID) (done transfer.Pushed, err error) {
	err = opened(ctx, p, func(c *transfer.Connection, store *snapshot.Store) error {
		done, err = c.Push(ctx, run, store, transfer.PushOptions{By: person, Version: "test"})
		return err
	})
	return done, err
}

func pull(ctx context.Context, p *project.Project, run pawl.RunID) (done transfer.Pulled, err error) {
	err = opened(ctx, p, func(c *transfer.Connection, store *snapshot.Store) error {
		done, err = c.Pull(ctx, run, store)
		return err
	})
	return done, err
}

var person = pawl.Author{Kind: pawl.ByPerson, Name: "tester"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pushed returns a project with a run that has a blob, a live attempt and a checkpoint.
func begun(t *testing.T, url string) (*project.Project, pawl.RunID) {
	t.Helper()
	ctx := t.Context()
	p := newProject(t, url)
	must(t, os.WriteFile(filepath.Join(p.Root, "file"), []byte("then"), 0o600))
	plan := []byte("name: demo\nsteps:\n  - {id: one, run: 'true'}\n  - {id: two, run: 'true'}\n")
	read, err := planfile.Read("plan.yaml", plan)
	must(t, err)
	run, err := runs.Create(ctx, p, runs.CreateOptions{Kind: pawl.PlanRun, Plan: read, Data: plan})
	must(t, err)
	log, err := journal.Open(p.Runs(), run)
	must(t, err)
	blob, err := log.PutBlob([]byte("result"))
	must(t, err)
	must(t, log.Close())
	two := pawl.AttemptRef{Step: "two", Attempt: 1, Token: "b"}
	say(t, p, run, 1, pawl.EngineStarted{Epoch: 1}, pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: "one", Attempt: 1, Token: "a"}},
		pawl.StepDone{Step: "one", Attempt: 1, Token: "a", Blob: blob}, pawl.AttemptStarted{AttemptRef: two})
	dir := p.AttemptDir(two, run)
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "begun.json"), []byte("{}"), 0o600))
	_, err = history.SaveNow(ctx, p, run, config.Snapshots{}, person, "")
	must(t, err)
	return p, run
}

func newProject(t *testing.T, url string) *project.Project {
	t.Helper()
	root := filepath.Join(t.TempDir(), "work")
	must(t, os.Mkdir(root, 0o700))
	p, err := project.Init(root)
	must(t, err)
	_, err = transfer.Add(t.Context(), p, "origin", url, false)
	must(t, err)
	return p
}

// say appends events to a run's journal, as an engine would.
func say(t *testing.T, p *project.Project, run pawl.RunID, epoch pawl.Epoch, payloads ...pawl.Payload) {
	t.Helper()
	log, err := journal.Open(p.Runs(), run)
	must(t, err)
	var events []pawl.Event
	for _, payload := range payloads {
		event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, payload)
		must(t, err)
		events = append(events, event)
	}
	_, err = log.Append(t.Context(), epoch, events...)
	must(t, errors.Join(err, log.Close()))
	must(t, runs.Mark(p, run))
}

// more changes a file, and saves a checkpoint.
func more(t *testing.T, p *project.Project, run pawl.RunID, content string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(p.Root, "file"), []byte(content), 0o600))
	_, err := history.SaveNow(t.Context(), p, run, config.Snapshots{}, person, content)
	must(t, err)
}

// sameRun checks that a project has the run of another one, whole, with the content of its snapshots.
func sameRun(t *testing.T, want, got *project.Project, run pawl.RunID) {
	t.Helper()
	for _, name := range []string{"journal.jsonl", "plan.yaml", "steps/two/1/begun.json"} {
		a, err := os.ReadFile(filepath.Join(want.RunDir(run), name))
		must(t, err)
		if b, err := os.ReadFile(filepath.Join(got.RunDir(run), name)); err != nil || string(a) != string(b) {
			t.Errorf("%s differs: %v", name, err)
		}
	}
	whole(t, got, run)
}

// whole checks a run and its snapshots.
func whole(t *testing.T, p *project.Project, run pawl.RunID) {
	t.Helper()
	for _, f := range journal.Check(p.RunDir(run)) {
		if f.Level == pawl.Bad {
			t.Errorf("%+v", f)
		}
	}
	findings, err := history.VerifySnapshots(t.Context(), p)
	must(t, err)
	for _, f := range findings {
		if f.Level == pawl.Bad {
			t.Errorf("%+v", f)
		}
	}
}
