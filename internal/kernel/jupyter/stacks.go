package jupyter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/kernel"
)

// Limits of Stacks.
const (
	stacksLimit = 2 * time.Second
	stacksEvery = 2 * time.Millisecond
	stacksQuiet = 50 * time.Millisecond // without another line
	maxStacks   = 1 << 20               // bytes
)

// Stacks returns the stack of Python's main thread, after the name of the cell that runs. The kernel writes it to a file in a handler of
// SIGUSR1, also while it executes native code. It is asked only if it has that handler: the signal would kill any other kernel.
//
// The kernel writes line by line, and does not say where it ends.
func (k *live) Stacks(ctx context.Context) (string, error) {
	if !k.leader.alive() {
		return "", kernel.ErrDead
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
	grown := time.Now()
	for {
		select {
		case <-limited.Done():
			return k.running() + string(text), nil
		case <-k.Done():
			return "", kernel.ErrDead
		case <-tick.C:
		}
		n, err := f.ReadAt(buffer[len(text):], before+int64(len(text)))
		if err != nil && err != io.EOF {
			return "", err
		}
		text = buffer[:len(text)+n]
		if n > 0 {
			grown = time.Now()
		}
		if bytes.Contains(text, []byte("Stack (most recent call first):")) && time.Since(grown) > stacksQuiet {
			return k.running() + string(text), nil
		}
	}
}

// fatal is how Python begins the stacks that it writes when native code has crashed.
const fatal = "Fatal Python error: "

// lastStacks emits the stacks that a kernel wrote when it crashed, as the bridge prints them: as output of the running cell.
func (k *live) lastStacks() {
	if k.leader.death.Signal == "" || !k.found.isIPython() {
		return
	}
	f, err := openRegular(stacksFile(k.spec))
	if err != nil {
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxStacks))
	if at := bytes.LastIndex(text, []byte(fatal)); err == nil && at >= 0 {
		cell, _ := k.Running()
		k.emit(kernel.Message{Time: time.Now(), Cell: cell, Kind: kernel.KindStream, Stream: kernel.Stderr, Text: string(text[at:])})
	}
}

// running returns a line that names the running cell.
func (k *live) running() string {
	if cell, ok := k.Running(); ok {
		return fmt.Sprintf("cell %s runs\n", cell)
	}
	return "no cell runs\n"
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
