package jupyter

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of Stacks.
const (
	stacksLimit = time.Second
	stacksEvery = 2 * time.Millisecond
	maxStacks   = 1 << 20 // bytes
)

// Stacks returns the stacks of all Python threads. The kernel writes them to a file in a handler of SIGUSR1, also while it executes native
// code. It is asked only if it has that handler: the signal would kill any other kernel.
func (k *live) Stacks(ctx context.Context) (string, error) {
	if k.isDead() {
		return "", errDead
	}
	if !k.found.isIPython() || !catches(k.leader.pid, syscall.SIGUSR1) {
		return "", nil
	}
	f, err := openRegular(stacksFile(k.spec))
	if err != nil {
		return "", err
	}
	defer f.Close()
	before, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	if err := syscall.Kill(k.leader.pid, syscall.SIGUSR1); err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, stacksLimit)
	defer cancel()
	buffer := make([]byte, maxStacks)
	tick := time.NewTicker(stacksEvery)
	defer tick.Stop()
	var text []byte
	for {
		select {
		case <-limited.Done():
			return string(text), nil
		case <-k.done:
			return "", errDead
		case <-tick.C:
		}
		n, err := f.ReadAt(buffer[len(text):], before+int64(len(text)))
		if err != nil && err != io.EOF {
			return "", err
		}
		if text = buffer[:len(text)+n]; n == 0 && len(text) > 0 { // it grows no more
			return string(text), nil
		}
	}
}

// openRegular opens a file of the runtime folder for reading. The kernel can put anything there.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return f, nil
}
