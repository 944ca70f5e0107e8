package runner

import (
	"net"
	"strings"
	"testing"

	"pawl"
)

// TestLargeRequest: code that a runner would not read is an error of the caller, and not a lost runner.
func TestLargeRequest(t *testing.T) {
	t.Parallel()
	conn, other := net.Pipe()
	other.Close()
	c := &Client{conn: conn}
	_, err := c.Do(t.Context(), Request{Op: OpPrepare, Cells: []Link{{Code: strings.Repeat("x", maxRequest)}}}, nil)
	if pawl.KindOf(err) != pawl.KindUsage {
		t.Errorf("%v", err)
	}
}
