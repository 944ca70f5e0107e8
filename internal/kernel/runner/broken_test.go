package runner

import (
	"net"
	"path/filepath"
	"testing"
)

// TestBrokenLog: a runner that cannot write its log tells its client, and ends when the client is gone, so that the next attempt gets
// another one.
func TestBrokenLog(t *testing.T) {
	t.Parallel()
	log, err := openLog(filepath.Join(t.TempDir(), LogFile), func(int64, Record) {})
	if err != nil {
		t.Fatal(err)
	}
	log.file.Close()
	ended := false
	conn, _ := net.Pipe()
	c := &client{conn: conn}
	h := &host{log: log, history: newHistory(), changed: make(chan struct{}), stop: func() { ended = true }, holder: c}
	for range 2 {
		if _, err := h.write(Record{Saved: "x"}); err == nil || ended {
			t.Fatalf("%v, ended: %v", err, ended)
		}
	}
	if h.release(c); !ended {
		t.Error("the runner lives on")
	}
}
