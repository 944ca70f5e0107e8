package statusview

import (
	"testing"

	"pawl"
)

func TestDoing(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]Session{
		"ended after its last turn":            {Gone: true, Doing: pawl.SessionIdle},
		"ended unexpectedly":                   {Gone: true, Doing: pawl.SessionAsks},
		"ended":                                {Gone: true, Doing: pawl.SessionIsEnded},
		"idle":                                 {Doing: pawl.SessionIdle},
		"working; it has asked for permission": {Doing: pawl.SessionAsks},
	} {
		if got := doing(x); got != want {
			t.Errorf("%+v: %q, want %q", x, got, want)
		}
	}
}
