package remote

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/snapshot/pack"
)

// FuzzRecord: what parses names only files that travel, packs with plausible sizes, and its own run; and parses again.
func FuzzRecord(f *testing.F) {
	const run = pawl.RunID("demo-20260101-000000-abcd")
	good := &Record{
		Run: run, Number: 3, Seq: 9, Packs: []PackRef{{Pack: sumOf(nil), Size: 5, Index: sumOf([]byte("x"))}},
		Files:   []File{{Name: "journal.jsonl", Parts: []Part{{ID: pack.IDOf(nil), Size: 7}}}},
		Commits: []Part{{ID: pack.IDOf(nil), Size: 32}},
	}
	content, err := good.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte(strings.Replace(string(content), "journal.jsonl", "../../x", 1)))
	f.Add([]byte(strings.Replace(string(content), `"size":7`, `"size":-7`, 1)))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data, run, Ref{Number: 3})
		if err != nil {
			return
		}
		if r.Run != run || r.Number != 3 || r.Sum != sumOf(data) {
			t.Errorf("record %d of %s", r.Number, r.Run)
		}
		for _, file := range r.Files {
			if !filepath.IsLocal(file.Name) || file.Name != "" && !ValidFile(file.Name) || file.Size() < 0 || file.Size() > maxFile {
				t.Errorf("file %q, %d bytes", file.Name, file.Size())
			}
		}
		for _, ref := range r.Packs {
			if !ValidKey(packKey(ref)) || !ValidKey(indexKey(ref)) || ref.Size > maxPackSize {
				t.Errorf("pack %+v", ref)
			}
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseRecord(again, run, Ref{Number: 3}); err != nil {
			t.Errorf("parsed once: %v", err)
		}
	})
}

// FuzzIndex: each object of an index that parses lies in its pack.
func FuzzIndex(f *testing.F) {
	id := pack.IDOf([]byte("a"))
	f.Add(encodeIndex([]pack.ID{id}, map[pack.ID]span{id: {from: 3, size: 7}}), int64(10))
	f.Add([]byte(indexMagic), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		x, err := decodeIndex(data, PackRef{Size: size})
		if err != nil {
			return
		}
		for _, at := range x.objects {
			if int64(at.from)+int64(at.size) > size {
				t.Errorf("%+v of %d bytes", at, size)
			}
		}
	})
}

// FuzzSmall: identities, marks, keys and lists of snapshots.
func FuzzSmall(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"0123456789abcdef0123456789abcdef"}`))
	f.Add([]byte(`{"since":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte("runs/demo-20260101-000000-abcd/000001.json"))
	f.Add([]byte("runs/demo-20260101-000000-abcd/000001-0123456789abcdef.json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if id, err := parseIdentity(data); err == nil && !validID.MatchString(id.ID) {
			t.Errorf("id %q", id.ID)
		}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if parseMark(data, now).IsZero() {
			t.Error("a mark without a time")
		}
		if run, ref, ok := parseRecordKey(string(data)); ok && (!ValidKey(string(data)) || recordKey(run, ref) != string(data)) {
			t.Errorf("key %q: %s, %v", data, run, ref)
		}
		if ids, err := ParseIDs(data); err == nil && len(ids)*32 != len(data) {
			t.Errorf("%d ids of %d bytes", len(ids), len(data))
		}
	})
}

func TestValidFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"journal.jsonl", "journal.17.jsonl", "plan.yaml", "plan.2.yaml", "blobs/" + sumOf(nil), "steps/a.b/1/begun.json", "steps/a/.item/12/out.log",
	} {
		if !ValidFile(name) {
			t.Errorf("%s is refused", name)
		}
	}
	for _, name := range []string{
		"", "state.json", "mirror.json", "store.json", "../journal.jsonl", "steps/../../x/1/out.log", "steps/./1/out.log", "steps/.../1/out.log", "steps/a/1/new",
		"kernels/x/endpoint.json", "blobs/..", "/journal.jsonl", "steps/a/b/c/1/out.log", "journal.jsonl\n", "PLAN.yaml",
	} {
		if ValidFile(name) {
			t.Errorf("%q is accepted", name)
		}
	}
}
