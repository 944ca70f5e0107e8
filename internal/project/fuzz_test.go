package project

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/disk"
)

// FuzzIdentity reads anything as project.json and as the text in engine.lock. An id that is read is a UUID, since it becomes
// the name of a file.
func FuzzIdentity(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"0197aaaa-0000-7000-8000-000000000000","path":"/x"}`))
	f.Add([]byte(`{"format":1,"id":"../../x"}`))
	f.Add([]byte(`{"pid":1,"process":{"pid":-1},"run":"../x","since":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte("null"))
	p := &Project{Root: f.TempDir()}
	if err := disk.MakeFolders(p.Home()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, path := range []string{p.path("project.json"), p.EngineLock()} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		who, err := p.identity()
		switch {
		case err == nil && checkID(who.ID) != nil:
			t.Errorf("id %q", who.ID)
		case err != nil && pawl.KindOf(err) != pawl.KindDamaged && !errors.Is(err, pawl.ErrNewer) && !errors.Is(err, disk.ErrTooLarge):
			t.Error(err)
		}
		holder, alive := p.EngineHolder()
		_ = holder.String()
		if alive {
			t.Error("nobody holds the lock")
		}
		below(t, p.Runs(), p.RunDir(holder.Run))
	})
}

// FuzzMemory reads anything as MEMORY.md, and adds a bullet to it. Other text stays.
func FuzzMemory(f *testing.F) {
	f.Add([]byte("# Memory\n\n## Gotchas\n\n- a\n"))
	f.Add([]byte("- stray\n## Rejected\n- a\nlazy\n\n  second\r\n"))
	f.Add([]byte("## Gotchas\n-\x00\n```\n## Patterns\n"))
	p := &Project{Root: f.TempDir()}
	if err := disk.MakeFolders(p.Home()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(p.Home(), "MEMORY.md"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := p.OwnMemories()
		if err != nil && !errors.Is(err, disk.ErrTooLarge) {
			t.Fatal(err)
		}
		edited, added := insertBullet(data, pawl.Memory{Kind: pawl.Gotcha, Text: "fuzz"})
		if after := memories(edited); added && len(after) < len(before) {
			t.Errorf("%d memories before, %d after", len(before), len(after))
		}
	})
}
