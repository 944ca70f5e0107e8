// Package serve has stories of the daemon of all projects.
package serve

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M)   { os.Exit(storytest.Main(m)) }
func TestScript(t *testing.T) { storytest.Run(t) }
