package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// lock is a held flock(2). The system releases it when the process ends.
type lock struct{ file *os.File }

// acquire takes the lock at path, LOCK_SH or LOCK_EX, and waits for it until ctx ends.
func acquire(ctx context.Context, path string, how int) (*lock, error) {
	wait := 50 * time.Microsecond
	for {
		l, err := tryLock(path, how)
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
	if err := flock(file.File, how|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return &lock{file: file.File}, nil
}

// release unlocks the file explicitly: a child between fork and exec holds a copy of the descriptor, so closing is not
// enough.
func (l *lock) release() error {
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
