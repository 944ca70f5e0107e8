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
	"pawl/internal/supervise/process"
)

// Limits of Stacks.
const (
	stacksLimit    = 2 * time.Second        // until the stack of the main thread is there
	stacksPatience = 150 * time.Millisecond // and until those of all threads are
	stacksEvery    = 2 * time.Millisecond
	stackQuiet     = 10 * time.Millisecond // without another line of the first
	stacksQuiet    = 50 * time.Millisecond // and of the others
	maxStacks      = 1 << 20               // bytes
)

// Stacks returns the stack of Python's main thread and then, unless that executes native code, those of all threads, after the name of the
// cell that runs. The kernel writes them to a file in handlers of SIGUSR1 and SIGUSR2. It is asked only if it has these handlers: the
// signals would kill any other kernel.
func (k *live) Stacks(ctx context.Context) (string, error) {
	if !k.leader.alive() {
		return "", kernel.ErrDead
	}
	if !k.found.isIPython() || !catches(k.leader.pid, syscall.SIGUSR1) || !catches(k.leader.pid, syscall.SIGUSR2) {
		return "", nil
	}
	f, err := openRegular(stacksFile(k.spec))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return "", err
	}
	stack, err := k.written(ctx, f, syscall.SIGUSR1, "Stack (most recent call first):", stacksLimit, stackQuiet)
	if err != nil || stack == "" {
		return stack, err
	}
	// A signal that comes with the first one would not interrupt what the main thread waits for: the first handler restarts that.
	all, err := k.written(ctx, f, syscall.SIGUSR2, "Current thread ", stacksPatience, stacksQuiet)
	return k.running() + stack + all, err
}

// written signals the kernel and returns what it then writes to a file. The kernel writes line by line, and does not say where it ends: that
// is when it has written the mark and nothing after it for the time quiet.
func (k *live) written(ctx context.Context, f *os.File, sig syscall.Signal, mark string, limit, quiet time.Duration) (string, error) {
	if err := process.SignalMain(k.leader.pid, sig); err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(stacksEvery)
	defer tick.Stop()
	var text bytes.Buffer
	for grown := time.Now(); ; {
		select {
		case <-limited.Done():
			return text.String(), nil
		case <-k.Done():
			return "", kernel.ErrDead
		case <-tick.C:
		}
		n, err := io.Copy(&text, io.LimitReader(f, int64(maxStacks-text.Len())))
		if err != nil {
			return "", err
		}
		if n > 0 {
			grown = time.Now()
		}
		if bytes.Contains(text.Bytes(), []byte(mark)) && time.Since(grown) > quiet {
			return text.String(), nil
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
