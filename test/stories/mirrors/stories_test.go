// Package mirrors has stories of mirrors: other systems' files that pawl keeps up to date.
package mirrors

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M)   { os.Exit(storytest.Main(m)) }
func TestScript(t *testing.T) { storytest.Run(t) }
