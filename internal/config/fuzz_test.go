package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/disk"
)

// FuzzRead reads anything as config.yaml. Invalid settings are an error of the user.
func FuzzRead(f *testing.F) {
	f.Add([]byte("snapshots:\n  keep: 3\n"))
	f.Add([]byte("evaluator: {command: [sh, -c, x]}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	path := filepath.Join(f.TempDir(), "config.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err != nil && pawl.KindOf(err) != pawl.KindUsage && !errors.Is(err, disk.ErrTooLarge) {
			t.Error(err)
		}
	})
}
