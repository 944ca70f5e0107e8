package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"pawl/internal/journal"
)

// handOver has pawl answer the call if err says that its run is stored in a database, and this program links no driver. Nothing of the
// call is journaled then. It reports false where pawl cannot do it either.
func (c *call) handOver(ctx context.Context, err error) (answer []byte, done bool) {
	if !errors.Is(err, journal.ErrNotConnected) || journal.Connected() {
		return nil, false
	}
	answer, err = within(ctx, c.limit(), func(ctx context.Context) ([]byte, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		pawl := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "pawl"), Verb, string(c.dialect.Name), strconv.Itoa(cmp.Or(c.Parent, os.Getppid())))
		pawl.Stdin, pawl.Env = bytes.NewReader(c.payload), c.Environ
		return pawl.Output()
	})
	if err != nil {
		c.logError(fmt.Errorf("%s: %w", c.event.Name, err))
		return nil, false
	}
	return answer, true
}
