package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/remote"
	"pawl/internal/remote/address"
	"pawl/internal/remote/remotetest"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/transfer"
)

// bucket returns a remote on an S3 server, whose requests go through m.
func bucket(t *testing.T, m remotetest.Middleware) (name, url string, s remote.Store) {
	t.Helper()
	name = storage.Bucket(t, m)
	url = "s3://" + name + "/pawl"
	s, err := address.Open(url, nil)
	must(t, err)
	return name, url, s
}

// TestPushAtEveryRequest cuts the network at each request of a push, before or after the server has served it. The remote is then as before
// the push or as after it, and the push can be repeated.
func TestPushAtEveryRequest(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]remotetest.Middleware{
		"before": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { remotetest.Cut(w) },
		"after":  remotetest.Lost,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, url, s := bucket(t, nil)
			p, run := begun(t, url)
			_, err := push(t.Context(), p, run)
			must(t, err)
			for n, pushes := int64(1), 1; ; n++ {
				more(t, p, run, fmt.Sprint("content ", n))
				failed := pushUntil(t, p, run, name, n, cut)
				verified(t, s)
				newest, err := remote.Newest(t.Context(), s, run)
				must(t, err)
				if newest.Number != pushes && newest.Number != pushes+1 {
					t.Fatalf("request %d: push %d after %d", n, newest.Number, pushes)
				}
				done, err := push(t.Context(), p, run)
				if err != nil || done.Number != newest.Number && done.Number != newest.Number+1 {
					t.Fatalf("request %d: again: push %d, %v", n, done.Number, err)
				}
				if pushes = done.Number; failed == nil {
					t.Logf("%d requests", n-1)
					if n < 20 {
						t.Errorf("a push has only %d requests", n-1)
					}
					break
				}
			}
			other := newProject(t, url)
			_, err = pull(t.Context(), other, run)
			must(t, err)
			sameRun(t, p, other, run)
		})
	}
}

// pushUntil pushes until the network is cut at a request. The push gives up then.
func pushUntil(t *testing.T, p *project.Project, run pawl.RunID, bucket string, n int64, cut remotetest.Middleware) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var requests atomic.Int64
	storage.Between(bucket, func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		switch at := requests.Add(1); {
		case at < n:
			serve.ServeHTTP(w, r)
		case at == n:
			cut(w, r, serve)
			stop()
		default:
			remotetest.Cut(w)
		}
	})
	defer storage.Between(bucket, nil)
	_, err := push(ctx, p, run)
	return err
}

// ignoreConditions serves requests as if they had no condition.
func ignoreConditions(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	r.Header.Del("If-None-Match")
	serve.ServeHTTP(w, r)
}

// meeting holds the creation of records until two are to be created, so that neither machine sees the other's before.
type meeting struct{ waiting sync.WaitGroup }

func (m *meeting) middleware(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/runs/") {
		m.waiting.Done()
		m.waiting.Wait()
	}
	ignoreConditions(w, r, serve)
}

// TestConflict: on a server that ignores conditions, two machines push a run at the same time. Nothing is lost or merged, at least one of
// them is told, and nobody continues until a person has chosen.
func TestConflict(t *testing.T) {
	t.Parallel()
	name, url, s := bucket(t, ignoreConditions)
	p, run := begun(t, url)
	_, err := push(t.Context(), p, run)
	must(t, err)
	other := newProject(t, url)
	_, err = pull(t.Context(), other, run)
	must(t, err)
	must(t, runs.Adopt(other, run))
	more(t, p, run, "here")
	more(t, other, run, "there")

	met := &meeting{}
	met.waiting.Add(2)
	storage.Between(name, met.middleware)
	errs := make([]error, 2)
	var pushes sync.WaitGroup
	for i, pusher := range []*project.Project{p, other} {
		pushes.Go(func() { _, errs[i] = push(t.Context(), pusher, run) })
	}
	pushes.Wait()
	storage.Between(name, ignoreConditions)
	if _, ok := errors.AsType[*remote.ConflictError](errors.Join(errs...)); !ok {
		t.Errorf("nobody was told: %v", errs)
	}
	for _, pusher := range []*project.Project{p, other} {
		more(t, pusher, run, "more")
		if _, err := push(t.Context(), pusher, run); !isConflict(err) {
			t.Errorf("pushed on a conflict: %v", err)
		}
		state, err := runs.LoadState(t.Context(), pusher, run)
		must(t, err)
		if open := state.OpenBlockers(); len(open) != 1 || !strings.Contains(open[0].Text, "several machines have pushed this run") {
			t.Errorf("blockers: %+v", open)
		}
	}
	third := newProject(t, url)
	if _, err := pull(t.Context(), third, run); !isConflict(err) {
		t.Errorf("pulled a conflict: %v", err)
	}
	verified(t, s)
	choose(t, p, run)
	if _, err := push(t.Context(), other, run); err == nil {
		t.Error("the machine whose push was deleted continues the run")
	}
	_, err = push(t.Context(), p, run)
	must(t, err)
	_, err = pull(t.Context(), third, run)
	must(t, err)
	sameRun(t, p, third, run)
}

func isConflict(err error) bool {
	_, ok := errors.AsType[*remote.ConflictError](err)
	return ok && pawl.KindOf(err) == pawl.KindDamaged
}

// choose deletes the push of a conflict that does not come from a project.
func choose(t *testing.T, p *project.Project, run pawl.RunID) {
	t.Helper()
	must(t, opened(t.Context(), p, func(c *transfer.Connection, _ *snapshot.Store) error {
		list, err := c.Runs(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, r := range list {
			if r.Owner.Project != p.ID {
				if n, err := c.DeleteRun(t.Context(), run, r.Conflict); n != 1 || err != nil {
					t.Fatalf("deleted %d, %v", n, err)
				}
			}
		}
		return nil
	}))
}
