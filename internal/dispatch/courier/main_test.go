//go:build linux

package courier_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/courier"
	"pawl/internal/dispatch/dispatchtest"
	"pawl/internal/dispatch/worker"
	"pawl/internal/executor/events"
	"pawl/internal/remote"
	"pawl/internal/remote/folder"
	"pawl/internal/snapshot"
	"pawl/internal/supervise"
)

// The test binary is also the supervisor of the steps on workers.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == supervise.Verb {
		if err := supervise.Main(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	state, err := os.MkdirTemp("", "pawl-courier-")
	if err == nil {
		err = os.Setenv("PAWL_STATE", state)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(state)
	os.Exit(code)
}

const run pawl.RunID = "demo-20260101-000000-abcd"

// site is the engine's machine, a remote, and a queue.
type site struct {
	*testing.T
	root    string
	store   remote.Store
	id      string
	queue   *dispatchtest.Memory
	objects *snapshot.Store
	beat    time.Duration
}

func newSite(t *testing.T) *site {
	t.Helper()
	t.Parallel()
	s := &site{T: t, root: filepath.Join(t.TempDir(), "project"), queue: dispatchtest.NewMemory(2 * time.Second), beat: 50 * time.Millisecond}
	share := filepath.Join(t.TempDir(), "share")
	s.check(os.Mkdir(share, 0o700))
	s.check(os.Mkdir(s.root, 0o700))
	store, err := folder.Open(share)
	s.check(err)
	s.store = store
	identity, err := remote.Prepare(t.Context(), store)
	s.check(err)
	s.id = identity.ID
	s.objects, err = snapshot.Open(t.Context(), snapshot.Config{Root: s.root, Dir: filepath.Join(s.root, ".pawl", "snapshots")})
	s.check(err)
	t.Cleanup(func() { s.check(s.objects.Close()) })
	return s
}

func (s *site) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) write(name, text string) {
	s.Helper()
	path := filepath.Join(s.root, name)
	s.check(os.MkdirAll(filepath.Dir(path), 0o700))
	s.check(os.WriteFile(path, []byte(text), 0o600))
}

func (s *site) read(name string) string {
	data, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(data)
}

// worker returns a worker in a folder of its own.
func (s *site) worker(name string, environ ...string) *worker.Worker {
	s.Helper()
	folder := filepath.Join(s.TempDir(), name)
	s.check(disk.MakeFolders(folder))
	w := &worker.Worker{
		Name: name, Folder: folder, Lock: filepath.Join(folder, "lock"), Remotes: []worker.Remote{{ID: s.id, Store: s.store}},
		Environ: append(os.Environ(), environ...), Beat: s.beat, GiveUp: 10 * time.Second, Flush: 20 * time.Millisecond, Log: s.Logf,
	}
	s.check(os.WriteFile(w.Lock, nil, 0o600))
	return w
}

// nextProcess returns the worker as a process that is started after it sees it.
func (s *site) nextProcess(w *worker.Worker) *worker.Worker {
	return &worker.Worker{
		Name: w.Name, Folder: w.Folder, Lock: w.Lock, Remotes: w.Remotes, Environ: w.Environ, Beat: w.Beat, GiveUp: w.GiveUp, Flush: w.Flush, Log: w.Log,
	}
}

func cancelable(t *testing.T) (context.Context, func()) { return context.WithCancel(t.Context()) }

// serveWith lets a worker perform tasks in its own way until the test ends.
func (s *site) serveWith(name string, perform func(dispatch.Task, dispatch.Alive) (dispatch.Report, error)) {
	ctx, cancel := context.WithCancel(s.Context())
	var over sync.WaitGroup
	over.Go(func() {
		err := s.queue.Serve(ctx, "gpu", name, 4, func(_ context.Context, task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
			return perform(task, alive)
		})
		if err != nil {
			s.Error(err)
		}
	})
	s.Cleanup(func() { cancel(); over.Wait() })
}

// serve lets a worker perform tasks until the test ends.
func (s *site) serve(w *worker.Worker) {
	ctx, cancel := context.WithCancel(s.Context())
	var over sync.WaitGroup
	over.Go(func() {
		if err := s.queue.Serve(ctx, "gpu", w.Name, 4, w.Perform); err != nil {
			s.Error(err)
		}
	})
	s.Cleanup(func() { cancel(); over.Wait() })
}

// attempt is an attempt at a step, as an engine has prepared it.
type attempt struct {
	*site
	job      pawl.Job
	dir      string
	out, err bytes.Buffer
}

var tokens sync.Mutex

func (s *site) attempt(number int, script string) *attempt {
	s.Helper()
	tokens.Lock()
	token := pawl.Token(disk.RandomHex(8))
	tokens.Unlock()
	ref := pawl.AttemptRef{Step: "train", Attempt: number, Token: token}
	a := &attempt{site: s, dir: filepath.Join(s.root, ".pawl", "runs", string(run), "steps", "train", fmt.Sprint(number))}
	s.check(disk.MakeFolders(a.dir))
	input, err := s.objects.Take(s.Context(), snapshot.Stamp{Checkpoint: "c", Kind: pawl.CheckpointStep, Run: run})
	s.check(err)
	a.job = pawl.Job{
		AttemptRef: ref, Run: run, Script: script, Root: s.root, Dir: s.root, CheckPath: "/bin",
		Env:  []string{"PAWL_OUT=" + s.root + "/out", "PAWL_PROJECT=" + s.root, "PATH=/nowhere", "GREETING=hello"},
		Away: &pawl.Away{Queue: "gpu", Epoch: 1, Input: input.ID.String()},
	}
	return a
}

func (a *attempt) courier() *courier.Courier {
	return &courier.Courier{
		Job: a.job, Dir: a.dir, Project: "p", Objects: a.objects, Out: &a.out, Err: &a.err, Pause: 20 * time.Millisecond,
		Open:   func(context.Context) (dispatch.Carrier, error) { return a.queue, nil },
		Remote: func(context.Context) (courier.Remote, error) { return courier.Remote{ID: a.id, Store: a.store}, nil },
		Events: events.Writer{Path: filepath.Join(a.dir, pawl.EventsFile), Clean: strings.TrimSpace, Errors: os.Stderr},
	}
}

// carry runs a courier to its end, and returns how the step ended.
func (a *attempt) carry() pawl.Exit {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), time.Minute)
	defer cancel()
	a.check(a.courier().Run(ctx))
	return a.delivered()
}

func (a *attempt) delivered() pawl.Exit {
	a.Helper()
	exit := supervise.Delivered(a.dir, a.job.Token)
	if exit == nil {
		a.Fatal("nothing was delivered")
	}
	return *exit
}

func (a *attempt) eventually(what string, holds func() bool) {
	a.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			a.Fatalf("never came: %s", what)
		}
	}
}
