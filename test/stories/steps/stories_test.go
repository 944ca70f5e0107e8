// Package steps has stories of steps, and what users see of them.
package steps

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M)   { os.Exit(storytest.Main(m)) }
func TestScript(t *testing.T) { storytest.Run(t) }
