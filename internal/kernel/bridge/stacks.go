package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	stacksLimit    = time.Second            // how long a kernel has to write the stack of its main thread; it takes a few milliseconds
	stacksPatience = 100 * time.Millisecond // and those of all threads after that
	stacksSilence  = 10 * time.Millisecond  // after so long without more, the stacks are complete
)

// Stacks implements kernel.Kernel. Python's faulthandler writes the stack of the main thread without the global interpreter lock, and
// those of all threads once the main thread has it.
func (k *bridged) Stacks(ctx context.Context) (string, error) {
	k.stacks.Lock()
	defer k.stacks.Unlock()
	pipe := k.pipes.ours[stacks]
	if _, err := readFor(pipe, time.Millisecond); err != nil { // what is left of earlier stacks
		return "", fmt.Errorf("read the kernel's stacks: %w", err)
	}
	limit := stacksLimit
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	text := ""
	for _, ask := range []struct {
		sig   syscall.Signal
		limit time.Duration
	}{{syscall.SIGUSR1, limit}, {syscall.SIGUSR2, stacksPatience}} { // not at once: the first handler restarts what the main thread waits for
		err := k.child.signalMain(ask.sig)
		var more string
		if err == nil {
			more, err = readFor(pipe, ask.limit)
		}
		if err != nil {
			return "", fmt.Errorf("read the kernel's stacks: %w", err)
		}
		text += more
	}
	return text, ctx.Err()
}

// readFor reads what comes until the limit or, once something came, until there is a pause.
func readFor(pipe *os.File, limit time.Duration) (string, error) {
	var text bytes.Buffer
	part := make([]byte, 64<<10)
	for wait := limit; ; wait = stacksSilence {
		if err := pipe.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return "", err
		}
		n, err := pipe.Read(part)
		text.Write(part[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return text.String(), nil
		}
		if err != nil {
			return text.String(), err
		}
	}
}
