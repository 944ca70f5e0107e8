package project

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
)

// Init dies, or its call fails, at every call that changes the disk; the next one completes the project.
func TestInitDiesAnywhere(t *testing.T) {
	t.Parallel()
	everyFault(t, "init", func(t *testing.T, root string) {
		if p, err := Find(root); !errors.Is(err, pawl.ErrNoProject) && (err != nil || !p.Trust.Trusted()) {
			t.Errorf("after a crash: %+v, %v; want a trusted project, or none", p, err)
		}
		p, err := Init(root)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Find(root)
		if err != nil || again.ID != p.ID {
			t.Errorf("found %+v, %v; want %s", again, err, p.ID)
		}
		if got := read(t, p.path(".gitignore")); got != ignored {
			t.Errorf(".gitignore: %q", got)
		}
	})
}

// Learn dies, or a call fails, at every call. The file is the old or the new one, and the next Learn succeeds.
func TestLearnDiesAnywhere(t *testing.T) {
	t.Parallel()
	const old = "# Mine\n\n## Gotchas\n- a\n"
	everyFault(t, "learn b 1", func(t *testing.T, root string) {
		p, err := Init(root)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, p.Memory()); got != old && got != old+"- b 0\n" {
			t.Errorf("MEMORY.md: %q", got)
		}
		tell(t, root, os.Getenv("HOME"), "learn b 1")
		if got := read(t, p.Memory()); got != old+"- b 0\n" {
			t.Errorf("MEMORY.md after learning again: %q", got)
		}
	}, func(root string) error {
		p, err := Init(root)
		if err != nil {
			return err
		}
		return os.WriteFile(p.Memory(), []byte(old), 0o600)
	})
}

// everyFault makes do end at a call, each time in a new folder, and checks what is left.
func everyFault(t *testing.T, do string, check func(*testing.T, string), prepare ...func(root string) error) {
	for kind, fault := range []string{"die", "ENOSPC", "EIO"} {
		last := 0
		for n := range disktest.FaultPoints(kind, 3, math.MaxInt) {
			root := t.TempDir()
			for _, p := range prepare {
				if err := p(root); err != nil {
					t.Fatal(err)
				}
			}
			cmd := another(t, root, os.Getenv("HOME"), do, fmt.Sprintf("%s=%s:%d", disktest.FaultVar, fault, n))
			out, err := cmd.CombinedOutput()
			if err == nil {
				break
			}
			if fault != "die" && !strings.Contains(string(out), map[string]string{"ENOSPC": "no space left", "EIO": "input/output error"}[fault]) {
				t.Errorf("%s at call %d: %v: %s", fault, n, err, out)
			}
			check(t, root)
			last = n
		}
		if last < 3 {
			t.Errorf("%s: the last call that was hit is %d", fault, last)
		}
	}
}
