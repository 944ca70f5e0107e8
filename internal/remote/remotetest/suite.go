// Package remotetest checks that a remote.Store keeps its promises, and has a remote that counts what is sent.
package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"

	"pawl/internal/disk"
	"pawl/internal/remote"
)

// Run checks a store. open opens the same empty store each time.
func Run(t *testing.T, open func(t *testing.T) remote.Store) {
	t.Helper()
	s, other := open(t), open(t)
	t.Run("create", func(t *testing.T) { create(t, s, other) })
	t.Run("one of many creates", func(t *testing.T) { race(t, open) })
	t.Run("probe", func(t *testing.T) { probe(t, s, nil) })
	run(t, s, other)
}

// RunUnconditional checks a store on a server that ignores conditions.
func RunUnconditional(t *testing.T, open func(t *testing.T) remote.Store) {
	t.Helper()
	s, other := open(t), open(t)
	t.Run("create", func(t *testing.T) { createAnyway(t, s, other) })
	t.Run("probe", func(t *testing.T) { probe(t, s, remote.ErrIgnoresConditions) })
	run(t, s, other)
}

func run(t *testing.T, s, other remote.Store) {
	t.Helper()
	t.Run("limits and missing keys", func(t *testing.T) { limits(t, s) })
	t.Run("list and delete", func(t *testing.T) { list(t, s, other) })
	t.Run("invalid keys", func(t *testing.T) { invalid(t, s) })
}

func probe(t *testing.T, s remote.Store, want error) {
	if err := remote.Probe(t.Context(), s); !errors.Is(err, want) {
		t.Error(err)
	}
	if left, err := s.List(t.Context(), "probes/"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// createAnyway creates a key again. The store may do that; then the last content counts.
func createAnyway(t *testing.T, s, other remote.Store) {
	for i, content := range []string{"first", "second", ""} {
		created, err := s.Create(t.Context(), "packs/a", []byte(content))
		if err != nil || i == 0 && !created {
			t.Fatalf("created: %v, %v", created, err)
		}
		if data, err := other.Get(t.Context(), "packs/a", 100); err != nil || created && string(data) != content {
			t.Errorf("read %q, %v", data, err)
		}
	}
}

func create(t *testing.T, s, other remote.Store) {
	first := bytes.Repeat([]byte("first\n"), 100_000)
	if created, err := s.Create(t.Context(), "packs/a", first); err != nil || !created {
		t.Fatalf("created: %v, %v", created, err)
	}
	for _, store := range []remote.Store{s, other} {
		if created, err := store.Create(t.Context(), "packs/a", []byte("second")); err != nil || created {
			t.Errorf("created again: %v, %v", created, err)
		}
		if data, err := store.Get(t.Context(), "packs/a", 1<<20); err != nil || !bytes.Equal(data, first) {
			t.Errorf("read %d bytes, %v", len(data), err)
		}
	}
	if created, err := s.Create(t.Context(), "packs/empty", nil); err != nil || !created {
		t.Errorf("empty: %v, %v", created, err)
	}
	if data, err := s.Get(t.Context(), "packs/empty", 0); err != nil || len(data) != 0 {
		t.Errorf("empty: %q, %v", data, err)
	}
}

func race(t *testing.T, open func(t *testing.T) remote.Store) {
	var created atomic.Int32
	var writers sync.WaitGroup
	for i := range 8 {
		s := open(t)
		writers.Go(func() {
			done, err := s.Create(t.Context(), "runs/race/000001.json", fmt.Append(nil, i))
			if err != nil {
				t.Error(err)
			}
			if done {
				created.Add(1)
			}
		})
	}
	writers.Wait()
	if created.Load() != 1 {
		t.Errorf("%d writers created the key", created.Load())
	}
}

func limits(t *testing.T, s remote.Store) {
	if _, err := s.Get(t.Context(), "packs/missing", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := s.Create(t.Context(), "packs/four", []byte("four")); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Get(t.Context(), "packs/four", 4); err != nil || string(data) != "four" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := s.Get(t.Context(), "packs/four", 3); !errors.Is(err, disk.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(ctx, "packs/four", 4); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func list(t *testing.T, s, other remote.Store) {
	for _, key := range []string{"runs/b/000002.json", "runs/b/000001.json", "runs/a/000001.json", "runs/ab/000001.json"} {
		if _, err := s.Create(t.Context(), key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	want(t, other, "runs/b/", "runs/b/000001.json", "runs/b/000002.json")
	want(t, other, "runs/a/", "runs/a/000001.json")
	want(t, other, "nothing/")
	if there, err := s.List(t.Context(), "packs/"); err != nil || there[len(there)-1].Size != 4 || there[0].Modified.IsZero() {
		t.Errorf("%+v, %v", there, err)
	}
	for range 2 {
		if err := s.Delete(t.Context(), "runs/b/000001.json"); err != nil {
			t.Error(err)
		}
	}
	if err := s.Delete(t.Context(), "nothing/there"); err != nil {
		t.Error(err)
	}
	want(t, other, "runs/b/", "runs/b/000002.json")
	if created, err := s.Create(t.Context(), "runs/b/000001.json", nil); err != nil || !created {
		t.Errorf("after the deletion: %v, %v", created, err)
	}
}

func want(t *testing.T, s remote.Store, prefix string, keys ...string) {
	t.Helper()
	there, err := s.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range there {
		got = append(got, o.Key)
	}
	if fmt.Sprint(got) != fmt.Sprint(keys) {
		t.Errorf("list of %s: %v, want %v", prefix, got, keys)
	}
}

func invalid(t *testing.T, s remote.Store) {
	for _, key := range []string{"", "/etc/passwd", "../up", "packs/../../up", ".hidden", "packs/", "a//b", "a/b/c/d", "a\x00b", "packs/\n"} {
		if _, err := s.Create(t.Context(), key, []byte("x")); err == nil {
			t.Errorf("created %q", key)
		}
		if _, err := s.Get(t.Context(), key, 10); err == nil {
			t.Errorf("read %q", key)
		}
		if err := s.Delete(t.Context(), key); err == nil {
			t.Errorf("deleted %q", key)
		}
	}
}

// Counter counts the bytes that go through a store, and calls Before before each call, if it is set.
type Counter struct {
	remote.Store
	Sent, Received atomic.Int64
	Before         func(method, key string) error
}

func (c *Counter) before(method, key string) error {
	if c.Before == nil {
		return nil
	}
	return c.Before(method, key)
}

// Get counts the content.
func (c *Counter) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := c.before("get", key); err != nil {
		return nil, err
	}
	data, err := c.Store.Get(ctx, key, limit)
	c.Received.Add(int64(len(data)))
	return data, err
}

// Create counts the content.
func (c *Counter) Create(ctx context.Context, key string, content []byte) (bool, error) {
	if err := c.before("create", key); err != nil {
		return false, err
	}
	c.Sent.Add(int64(len(content)))
	return c.Store.Create(ctx, key, content)
}

// List counts what a listing has at least.
func (c *Counter) List(ctx context.Context, prefix string) ([]remote.Object, error) {
	if err := c.before("list", prefix); err != nil {
		return nil, err
	}
	list, err := c.Store.List(ctx, prefix)
	for _, o := range list {
		c.Received.Add(int64(len(o.Key)))
	}
	return list, err
}

// Delete deletes a key.
func (c *Counter) Delete(ctx context.Context, key string) error {
	if err := c.before("delete", key); err != nil {
		return err
	}
	return c.Store.Delete(ctx, key)
}
