package disk

import (
	"os"
	"testing"
)

// BenchmarkReadFile compares reading a small file below .pawl with os.ReadFile.
func BenchmarkReadFile(b *testing.B) {
	root := b.TempDir()
	path := root + "/.pawl/runs/a/steps/b/1/begun.json"
	if err := MakeFolders(root + "/.pawl/runs/a/steps/b/1"); err != nil {
		b.Fatal(err)
	}
	if err := Put(path, make([]byte, 300)); err != nil {
		b.Fatal(err)
	}
	b.Run("disk", func(b *testing.B) {
		for b.Loop() {
			if _, err := ReadFile(path, RecordLimit); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("os", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile(path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lstat", func(b *testing.B) {
		for b.Loop() {
			if _, err := Lstat(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}
