// Package kills kills pawl, its supervisors, hooks and agents at the calls that change the disk.
package kills

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }
