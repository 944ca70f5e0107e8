// Package signals turns Ctrl-C and SIGTERM into contexts that end.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Contexts returns a context that ends at the first Ctrl-C, and one that ends at the second. SIGTERM, which asks this process alone
// to end, ends both.
func Contexts(parent context.Context) (soft, hard context.Context, release func()) {
	soft, endSoft := context.WithCancel(parent)
	hard, endHard := context.WithCancel(context.WithoutCancel(parent))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case sent := <-signals:
				if sent == syscall.SIGTERM || soft.Err() != nil {
					endHard()
				}
				endSoft()
			case <-done:
				return
			}
		}
	}()
	return soft, hard, func() {
		signal.Stop(signals)
		close(done)
		<-stopped
		endSoft()
		endHard()
	}
}
