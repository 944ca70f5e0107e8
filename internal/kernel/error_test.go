package kernel_test

import (
	"testing"

	"pawl/internal/kernel"
)

// TestError: errors of R end with a newline, which texts do not have.
func TestError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e             kernel.Error
		title, traced string
	}{
		{kernel.Error{Name: "ERROR", Value: "object 'x' not found\n", Traceback: []string{"Error: object 'x' not found", "Traceback:\n"}}, "ERROR: object 'x' not found", "Error: object 'x' not found\nTraceback:"},
		{kernel.Error{Name: "ERROR", Value: "stop\n", Traceback: []string{}}, "ERROR: stop", "ERROR: stop"},
		{kernel.Error{Name: "KeyError", Value: "'a\\n'", Traceback: []string{"\n"}}, "KeyError: 'a\\n'", "KeyError: 'a\\n'"},
	} {
		if title, traced := c.e.Title(), c.e.String(); title != c.title || traced != c.traced {
			t.Errorf("%q, %q; want %q, %q", title, traced, c.title, c.traced)
		}
	}
}
