package project

import (
	"errors"
	"testing"

	"pawl"
)

// FuzzIdentity reads anything as project.json, as an entry of the registry and as the text in engine.lock. An id that is read is a UUID, since it becomes
// the name of a file.
func FuzzIdentity(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"0197aaaa-0000-7000-8000-000000000000","path":"/x"}`))
	f.Add([]byte(`{"format":1,"id":"../../x"}`))
	f.Add([]byte(`{"pid":1,"process":{"pid":-1},"run":"../x","since":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte("null"))
	p := &Project{Root: "/a/b"}
	f.Fuzz(func(t *testing.T, data []byte) {
		who, err := parseIdentity("project.json", data)
		switch {
		case err == nil && checkID(who.ID) != nil:
			t.Errorf("id %q", who.ID)
		case err != nil && pawl.KindOf(err) != pawl.KindDamaged && !errors.Is(err, pawl.ErrNewer):
			t.Error(err)
		}
		const id = "0197aaaa-0000-7000-8000-000000000000"
		if entry, err := parseEntry("entry", id, data); err == nil && entry.ID != id {
			t.Errorf("entry %q", entry.ID)
		}
		if holder, err := parseHolder(data); err == nil {
			_ = holder.String()
			below(t, p.Runs(), p.RunDir(holder.Run))
		}
	})
}

// FuzzMemory reads anything as MEMORY.md, and adds a bullet to it. Other text stays.
func FuzzMemory(f *testing.F) {
	f.Add([]byte("# Memory\n\n## Gotchas\n\n- a\n"))
	f.Add([]byte("- stray\n## Rejected\n- a\nlazy\n\n  second\r\n"))
	f.Add([]byte("## Gotchas\n-\x00\n```\n## Patterns\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := memories(data)
		edited, added := insertBullet(data, pawl.Memory{Kind: pawl.Gotcha, Text: "fuzz"})
		if after := memories(edited); added && len(after) < len(before) {
			t.Errorf("%d memories before, %d after", len(before), len(after))
		}
	})
}
