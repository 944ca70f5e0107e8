package disk

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestAppendLineSyncs: the name of a new file is durable before AppendLine returns, not only its content.
func TestAppendLineSyncs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	var calls []string
	Fault = func(call string) error { calls = append(calls, call); return nil }
	defer func() { Fault = nil }()
	for line, want := range [][]string{{"write", "sync", "sync"}, {"write", "sync"}} {
		calls = nil
		if err := AppendLine(path, []byte("x")); err != nil || !slices.Equal(calls, want) {
			t.Errorf("line %d: %v, want %v, %v", line, calls, want, err)
		}
	}
}
