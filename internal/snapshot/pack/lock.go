package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// lock is a held flock(2). The system releases it when the process ends.
type lock struct{ file *os.File } // nil: there is nothing to lock

// acquire takes the lock at path, LOCK_SH or LOCK_EX, and waits for it until ctx ends.
func acquire(ctx context.Context, path string, how int) (*lock, error) {
	return waitFor(ctx, path, func() (*lock, error) { return tryLock(path, how) })
}

// acquireShared takes the store's lock, shared.
func (s *Store) acquireShared(ctx context.Context) (*lock, error) {
	path := filepath.Join(s.dir, lockName)
	if !s.readOnly {
		return acquire(ctx, path, unix.LOCK_SH)
	}
	return waitFor(ctx, path, func() (*lock, error) { return tryExisting(path) })
}

// waitFor repeats try until it succeeds, fails for another reason than a held lock, or ctx ends.
func waitFor(ctx context.Context, path string, try func() (*lock, error)) (*lock, error) {
	wait := 50 * time.Microsecond
	for {
		l, err := try()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", path, context.Cause(ctx))
		case <-time.After(wait):
			wait = min(2*wait, 10*time.Millisecond)
		}
	}
}

// tryLock takes the lock at path, or fails with EWOULDBLOCK.
func tryLock(path string, how int) (*lock, error) {
	file, err := disk.Create(path)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return lockFile(file.File, how)
}

// tryExisting takes the lock at path, shared, unless no process has created the file yet: then no process can prune.
func tryExisting(path string) (*lock, error) {
	file, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &lock{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return lockFile(file, unix.LOCK_SH)
}

func lockFile(file *os.File, how int) (*lock, error) {
	if err := flock(file, how|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return &lock{file: file}, nil
}

// release unlocks the file explicitly: a child between fork and exec holds a copy of the descriptor, so closing is not
// enough.
func (l *lock) release() error {
	if l.file == nil {
		return nil
	}
	return errors.Join(flock(l.file, unix.LOCK_UN), l.file.Close())
}

func flock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
