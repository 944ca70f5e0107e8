package workercmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Draining returns a context that ends at the first signal. At the second one the process ends; what it performs runs on, as after a crash.
func Draining(ctx context.Context, log func(format string, args ...any)) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
		log("ends when its steps have ended; a second signal ends it now")
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		cancel()
	}()
	return ctx, cancel
}
