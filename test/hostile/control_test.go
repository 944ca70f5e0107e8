//go:build linux

package hostile

import (
	"os"
	"testing"
)

// TestControl shows that the attacker's project would do harm if its user trusted it: the other tests can fail.
func TestControl(t *testing.T) {
	t.Parallel()
	w := newHostile(t)
	w.succeed("trust", "--yes")
	t.Log(w.pawl("brief"))
	t.Log(w.pawl("status"))
	t.Log(w.pawl("resume", "planted"))
	t.Log(w.pawl("adopt", "--yes", "planted"))
	t.Log(w.pawl("resume", "--yes", "planted"))
	defer func() { t.Log(w.read(w.path("executed"))) }()
	if _, err := os.Lstat(w.path("executed")); err != nil {
		t.Error("the command was not executed")
	}
	t.Log(w.pawl("adopt", "--yes", "lost"))
	t.Log(w.pawl("resume", "lost"))
	t.Log(w.pawl("brief"))
}
