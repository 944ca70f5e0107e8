package snapshot

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/snapshot/pack"
)

var sampleTree = []Entry{
	{Name: "-n\newline", Kind: File, Mode: 0o644, Size: 3, ID: pack.IDOf([]byte("a"))},
	{Name: "big", Kind: Blocks, Mode: 0o4755, Size: 5 << 30, ID: pack.IDOf([]byte("b"))},
	{Name: "link", Kind: Link, Target: "../else\xffwhere"},
	{Name: "sub", Kind: Folder, Mode: 0o700, Size: 12, Files: 2, ID: pack.IDOf([]byte("c"))},
	{Name: "sub-\xfe", Kind: File},
}

func TestTreeRoundTrip(t *testing.T) {
	t.Parallel()
	got, err := decodeTree(encodeTree(sampleTree))
	if diff := cmp.Diff(sampleTree, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := decodeTree(encodeTree(nil)); err != nil || len(got) != 0 {
		t.Errorf("empty folder: %v, %v", got, err)
	}
}

// TestTreeRefusesEscapes: no object, however made, names something outside its folder.
func TestTreeRefusesEscapes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "a/b", "/", "a\x00", ".git", ".pawl"} {
		if _, err := decodeTree(encodeTree([]Entry{{Name: name, Kind: File}})); err == nil {
			t.Errorf("name %q was taken", name)
		}
	}
	twice := encodeTree([]Entry{{Name: "a", Kind: File}, {Name: "a", Kind: Link, Target: "/etc"}})
	if _, err := decodeTree(twice); err == nil {
		t.Error("the same name was taken twice")
	}
}

func FuzzTree(f *testing.F) {
	f.Add(encodeTree(sampleTree))
	f.Add([]byte(treeMagic))
	f.Add([]byte(treeMagic + "f\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decodeTree(data)
		if err != nil {
			return
		}
		again, err := decodeTree(encodeTree(entries))
		if diff := cmp.Diff(entries, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		for _, e := range entries {
			if !plainName(e.Name) || strings.Contains(e.Name, "/") {
				t.Errorf("name %q", e.Name)
			}
		}
	})
}

// TestTreeCut: no beginning of a tree but its whole entries is taken for a tree.
func TestTreeCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := encodeTree(sampleTree)
		cut := whole[:rapid.IntRange(0, len(whole)-1).Draw(t, "cut")]
		entries, err := decodeTree(cut)
		if err == nil && !bytes.Equal(encodeTree(entries), cut) {
			t.Errorf("%d bytes give %v", len(cut), entries)
		}
	})
}
