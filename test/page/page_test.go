// Package page uses the page of `pawl serve` as people do: in Chromium, with a real server, real projects and real runs.
//
// `make test-server` runs it, and installs Chromium and what the page is built with. `make test` does not.
package page

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }
