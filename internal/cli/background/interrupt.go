package background

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupts returns a context that ends at the first Ctrl-C (or SIGTERM), and one that ends at the second. It calls first
// at the first signal.
func Interrupts(parent context.Context, first func()) (soft, hard context.Context, release func()) {
	soft, endSoft := context.WithCancel(parent)
	hard, endHard := context.WithCancel(context.WithoutCancel(parent))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for _, end := range []func(){func() { first(); endSoft() }, endHard} {
			select {
			case <-signals:
				end()
			case <-done:
				return
			}
		}
		<-done
	}()
	return soft, hard, func() {
		signal.Stop(signals)
		close(done)
		<-stopped
		endSoft()
		endHard()
	}
}
