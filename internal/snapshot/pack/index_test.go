package pack

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// indexed makes a store with an index and something behind it.
func indexed(t *testing.T) (dir string, want []string) {
	s := fresh(t, set{"a", 100, 700}, set{"b", 20, 900}, set{"c", 3, 200})
	must(t, s.Close())
	if x, err := openIndex(s.dir); err != nil || x.entries < 100 || x.records == 0 {
		t.Fatalf("index %v %v", x, err)
	} else {
		closeIndex(x)
	}
	return s.dir, []string{"a", "b", "c"}
}

// TestIndexLost does without, with an empty one, with that of another store, with an old one.
func TestIndexLost(t *testing.T) {
	t.Parallel()
	dir, want := indexed(t)
	path := filepath.Join(dir, indexName)
	good := read(t, path)
	other, _ := indexed(t)
	s := open(t, dir)
	must(t, set{"d", 60, 900}.commit(t.Context(), s)) // with a new index
	if bytes.Equal(read(t, path), good) {
		t.Fatal("the index was not made anew")
	}
	want = append(want, "d")
	for name, data := range map[string][]byte{
		"lost": nil, "empty": {}, "NUL": make([]byte, len(good)), "short": good[:len(good)-1], "old": good,
		"of another store": read(t, filepath.Join(other, indexName)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyStore(t, dir)
			if data == nil {
				must(t, os.Remove(filepath.Join(dir, indexName)))
			} else {
				write(t, filepath.Join(dir, indexName), data)
			}
			s := open(t, dir)
			if got := names(t, s); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			must(t, set{"e", 60, 900}.commit(t.Context(), s))
			works(t, dir, append(want, "e")...)
		})
	}
}

// TestIndexFlipped flips each byte of the index: everything is found all the same, and Check says it.
func TestIndexFlipped(t *testing.T) {
	t.Parallel()
	dir, want := indexed(t)
	path := filepath.Join(dir, indexName)
	good := read(t, path)
	step := 1
	for i := 0; i < len(good); i += step {
		if i > 120 {
			step = 397
		}
		data := bytes.Clone(good)
		data[i] ^= 0x10
		write(t, path, data)
		s := open(t, dir)
		faults, err := s.Check(t.Context())
		generation := i >= 8 && i < 16 // it is one of another time then
		if err != nil || len(faults) == 0 && !generation {
			t.Errorf("byte %d: %v %v", i, faults, err)
		}
		if got := names(t, s); !slices.Equal(got, want) {
			t.Fatalf("byte %d: %q, want %q", i, got, want)
		}
		must(t, s.Close())
	}
}

// TestIndexMadeAnew commits where the index is damaged, and has a good one then.
func TestIndexMadeAnew(t *testing.T) {
	t.Parallel()
	dir, want := indexed(t)
	path := filepath.Join(dir, indexName)
	data := read(t, path)
	data[len(data)-blockSize/2] ^= 1
	write(t, path, data)
	s := open(t, dir)
	must(t, set{"d", 60, 900}.commit(t.Context(), s))
	sound(t, s)
	works(t, dir, append(want, "d")...)
}

// TestIndexWithCollision finds ids that share their beginning across the blocks.
func TestIndexWithCollision(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var list []located
	for i := range 3 * perBlock {
		id := ID{7: 1, 30: byte(i >> 8), 31: byte(i)}
		if i < 10 {
			id[7] = 0
		}
		list = append(list, located{id, location{pack: 1, offset: uint32(i), size: 60}})
	}
	must(t, writeIndex(dir, 7, map[uint32]int64{1: 9}, list, nil))
	x, err := openIndex(dir)
	must(t, err)
	defer closeIndex(x)
	for _, want := range list {
		at, ok, err := x.find(want.id)
		if !ok || err != nil || at != want.location {
			t.Fatalf("%v: %v %v %v", want, at, ok, err)
		}
	}
	for _, id := range []ID{{6: 1}, {0: 0xff}, {7: 1, 20: 9}, {7: 2}} {
		if at, ok, err := x.find(id); ok || err != nil {
			t.Errorf("%v: %v %v", id, at, err)
		}
	}
}
