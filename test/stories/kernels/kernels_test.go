// Package kernels has stories of kernel steps, notebooks and pawl kernel. They need python3 alone.
package kernels

import (
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M)   { os.Exit(storytest.Main(m)) }
func TestScript(t *testing.T) { storytest.Run(t) }
