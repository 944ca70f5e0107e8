package engine_test

import (
	"os"
	"strings"
	"testing"

	"pawl/internal/engine/enginetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// contains reports whether a text has all of these in it.
func contains(text string, all ...string) bool {
	for _, one := range all {
		if !strings.Contains(text, one) {
			return false
		}
	}
	return true
}
