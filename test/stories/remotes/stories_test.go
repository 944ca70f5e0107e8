// Package remotes has stories of runs that move between machines through a remote.
package remotes

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M)   { os.Exit(storytest.Main(m)) }
func TestScript(t *testing.T) { storytest.Run(t) }
