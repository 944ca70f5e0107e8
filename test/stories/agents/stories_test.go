// Package agents has stories of steps that coding agents do.
package agents

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M)   { os.Exit(storytest.Main(m)) }
func TestScript(t *testing.T) { storytest.Run(t) }
