package sessions_test

import (
	"os"
	"testing"

	"pawl/internal/engine/enginetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }
