package interop

import (
	"testing"

	"pawl"
)

// FuzzMirrorState reads anything as mirror.json, for a run that mirrors nothing but a folder of its name.
func FuzzMirrorState(f *testing.F) {
	f.Add([]byte(`{"mirror":"grid:x","files":{"../../x":"1"}}`))
	f.Add([]byte(`null`))
	run := pawl.NewState()
	run.Run, run.Mirror = "r", &pawl.RunMirrored{System: "grid"}
	f.Fuzz(func(t *testing.T, data []byte) {
		if k := parseState(data, run); k != nil && k.Mirror != run.Mirror.String() {
			t.Errorf("of mirror %q", k.Mirror)
		}
	})
}
