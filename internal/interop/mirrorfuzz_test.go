package interop

import (
	"os"
	"testing"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// FuzzMirrorState reads anything as mirror.json, for a run that mirrors nothing but a folder of its name.
func FuzzMirrorState(f *testing.F) {
	f.Add([]byte(`{"mirror":"grid:x","files":{"../../x":"1"}}`))
	f.Add([]byte(`null`))
	p := &project.Project{Root: f.TempDir()}
	run := pawl.NewState()
	run.Run, run.Mirror = "r", &pawl.RunMirrored{System: "grid"}
	if err := disk.MakeFolders(p.RunDir("r")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(p.MirrorFile("r"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if k := readState(p, run); k != nil && k.Mirror != run.Mirror.String() {
			t.Errorf("of mirror %q", k.Mirror)
		}
	})
}
