//go:build !linux

package watch

// Watcher would watch a tree. On this system nothing does.
type Watcher struct{}

// Open fails with ErrUnwatchable.
func Open(int, string) (*Watcher, error) { return nil, ErrUnwatchable }

// Close does nothing.
func (*Watcher) Close() error { return nil }

// Add fails with ErrUnwatchable.
func (*Watcher) Add(int, string) error { return ErrUnwatchable }

// Watches returns false.
func (*Watcher) Watches(string) bool { return false }

// Drain fails with ErrUnwatchable.
func (*Watcher) Drain(int) (Changes, error) { return Changes{}, ErrUnwatchable }
