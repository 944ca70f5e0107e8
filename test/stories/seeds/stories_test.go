// Package seeds has stories of the seed systems' own scenarios.
package seeds

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M)   { os.Exit(storytest.Main(m)) }
func TestScript(t *testing.T) { storytest.Run(t) }
