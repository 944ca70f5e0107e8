//go:build linux

package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pawl"
)

// Compares a supervised attempt that does nothing with the bare command.
func BenchmarkAttempt(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("supervised", func(b *testing.B) {
		root, n := b.TempDir(), 0
		for b.Loop() {
			n++
			job := pawl.Job{Command: []string{"/bin/sh", "-c", "true"}, Dir: root, Env: os.Environ()}
			job.Token = pawl.Token(fmt.Sprintf("%016x", n))
			lock, err := Prepare(filepath.Join(root, "steps", fmt.Sprint(n), "1"))
			if err != nil {
				b.Fatal(err)
			}
			running, err := Start(lock, job, NewSeal())
			if err != nil {
				b.Fatal(err)
			}
			if err := running.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
