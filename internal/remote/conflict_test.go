package remote_test

import (
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/remote"
	"pawl/internal/remote/remotetest"
	"pawl/internal/remote/request"
	"pawl/internal/remote/s3"
)

// ignoring returns a store on a server that ignores conditions.
func ignoring(t *testing.T) remote.Store {
	t.Helper()
	storage := remotetest.NewStorage()
	t.Cleanup(storage.Close)
	bucket := storage.Bucket(t, func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		r.Header.Del("If-None-Match")
		serve.ServeHTTP(w, r)
	})
	s, err := s3.Open(&url.URL{Scheme: "s3", Host: bucket}, request.New(nil), storage.Getenv)
	must(t, err)
	return s
}

// TestUnconditional: on a server that ignores conditions, two pushes with the same number both stay, and nobody continues before a person
// has chosen.
func TestUnconditional(t *testing.T) {
	t.Parallel()
	s := ignoring(t)
	on, err := remote.Prepare(t.Context(), s)
	if err != nil || !on.Unconditional {
		t.Fatalf("%+v, %v", on, err)
	}
	if again, err := remote.Prepare(t.Context(), s); err != nil || again != on {
		t.Errorf("%+v, %v", again, err)
	}
	errs, records := make([]error, 2), make([]*remote.Record, 2)
	var pushes sync.WaitGroup
	for i, host := range []string{"one", "two"} {
		pushes.Go(func() {
			records[i] = &remote.Record{Run: run, Number: 1, Time: time.Now(), Owner: remote.Owner{Host: host}}
			content, err := records[i].Encode()
			if errs[i] = err; err == nil {
				errs[i] = records[i].Commit(t.Context(), s, content, on)
			}
		})
	}
	pushes.Wait()
	if !errors.Is(errs[0], remote.ErrPushed) && !errors.Is(errs[1], remote.ErrPushed) {
		t.Errorf("nobody noticed: %v", errs)
	}
	_, err = remote.Newest(t.Context(), s, run)
	conflict, ok := errors.AsType[*remote.ConflictError](err)
	if !ok || len(conflict.Records) != 2 || pawl.KindOf(err) != pawl.KindDamaged {
		t.Fatalf("%v", err)
	}
	findings, err := remote.Verify(t.Context(), s)
	if err != nil || len(findings) != 3 || findings[2].Level != pawl.Warn {
		t.Errorf("%+v, %v", findings, err)
	}
	if n, err := remote.DeleteRun(t.Context(), s, run, "ffff"); err != nil || n != 0 {
		t.Errorf("deleted %d, %v", n, err)
	}
	if n, err := remote.DeleteRun(t.Context(), s, run, records[0].Sum[:16]); err != nil || n != 1 {
		t.Errorf("deleted %d, %v", n, err)
	}
	if left, err := remote.Newest(t.Context(), s, run); err != nil || left.Sum != records[1].Sum {
		t.Errorf("%+v, %v", left, err)
	}
	if n, err := remote.DeleteRun(t.Context(), s, run, ""); err != nil || n != 1 {
		t.Errorf("deleted %d, %v", n, err)
	}
	if left, err := remote.Newest(t.Context(), s, run); err != nil || left != nil {
		t.Errorf("%+v, %v", left, err)
	}
}

// TestPruneKeepsConflicts: what any of two pushes needs is kept.
func TestPruneKeepsConflicts(t *testing.T) {
	t.Parallel()
	s := ignoring(t)
	on, err := remote.Prepare(t.Context(), s)
	must(t, err)
	store(t, s, 1, "first", on)
	store(t, s, 1, "second", on)
	for range 2 {
		_, err := remote.Prune(t.Context(), s, 0, time.Now().Add(time.Hour))
		must(t, err)
	}
	if there, err := s.List(t.Context(), "packs/"); err != nil || len(there) != 2 {
		t.Errorf("%v, %v", there, err)
	}
}

// TestServerChanges: a remote that was made with conditions is refused by a server without them.
func TestServerChanges(t *testing.T) {
	t.Parallel()
	storage := remotetest.NewStorage()
	t.Cleanup(storage.Close)
	bucket := storage.Bucket(t, nil)
	s, err := s3.Open(&url.URL{Scheme: "s3", Host: bucket}, request.New(nil), storage.Getenv)
	must(t, err)
	on, err := remote.Prepare(t.Context(), s)
	if err != nil || on.Unconditional {
		t.Fatalf("%+v, %v", on, err)
	}
	storage.Between(bucket, func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		r.Header.Del("If-None-Match")
		serve.ServeHTTP(w, r)
	})
	if _, err := remote.Prepare(t.Context(), s); !errors.Is(err, remote.ErrIgnoresConditions) {
		t.Errorf("%v", err)
	}
}
