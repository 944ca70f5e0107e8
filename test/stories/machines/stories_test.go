// Package machines has stories of programs that call pawl: JSON, exit codes, pipes, waiting and completion.
package machines

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M)   { os.Exit(storytest.Main(m)) }
func TestScript(t *testing.T) { storytest.Run(t) }
