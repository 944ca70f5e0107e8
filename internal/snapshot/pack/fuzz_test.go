package pack

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzStore opens anything as a pack, an index and a list of the dead. It neither crashes nor takes long; what it gives
// out has the hash that it is named by, and Check knows of what it refuses.
func FuzzStore(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "seed")
	s, err := openAt(f.Context(), dir)
	must(f, err)
	s.limits.index, s.limits.tail = 1, 1
	c := set{"a0", 4, 80}
	must(f, c.commit(f.Context(), s))
	must(f, set{"b1", 2, 70}.commit(f.Context(), s))
	good, index := read(f, packPaths(f, dir)[0]), read(f, filepath.Join(dir, indexName))
	_, err = keeping(f.Context(), s, even)
	must(f, err)
	dead := read(f, filepath.Join(dir, deadName))
	must(f, s.Close())
	f.Add(good, []byte{}, []byte{}, false)
	f.Add(good, index, []byte{}, false)
	f.Add(good, index[:300], dead, false)
	f.Add(good[:len(good)-30], []byte{}, dead, true)
	f.Add(append(bytes.Clone(good), good...), index, dead, true)
	f.Add(append(bytes.Clone(good), make([]byte, 700)...), index, dead, false)
	home := filepath.Join(f.TempDir(), "store")
	f.Fuzz(func(t *testing.T, pack, index, dead []byte, resealed bool) {
		if resealed {
			reseal(pack)
		}
		must(t, os.RemoveAll(home))
		must(t, os.Mkdir(home, 0o700))
		for name, data := range map[string][]byte{packName(1): pack, indexName: index, deadName: dead} {
			if len(data) > 0 {
				write(t, filepath.Join(home, name), data)
			}
		}
		s, err := openAt(t.Context(), home)
		must(t, err)
		defer s.Close()
		before, err := s.Check(t.Context())
		must(t, err)
		for _, content := range c.objects() {
			got, err := s.Get(IDOf(content))
			if err == nil && !bytes.Equal(got, content) || err != nil && !isDamage(err) {
				t.Fatal(err)
			}
			if _, damaged := errors.AsType[*DamagedError](err); damaged && len(before) == 0 {
				t.Fatalf("Check does not know that %v", err)
			}
		}
		if _, err := s.Commits(); err != nil && (len(before) == 0 || !isDamage(err)) {
			t.Fatalf("%v; %v", err, before)
		}
	})
}

// reseal makes the checksums of a pack right, as far as its headers can be followed.
func reseal(pack []byte) {
	for at := int64(0); at+segmentHeader <= int64(len(pack)); {
		size := int64(len(pack)) - at
		if s, ok := parseSegment(pack[at:], at); ok && s.size <= size {
			size = s.size
		}
		segment{key: 1, offset: at, size: size}.append(pack[at:at])
		end := at + size
		for at += segmentHeader; at+entryHeader <= end; {
			e := entryAt(pack[at:end])
			e.append(pack[at:at])
			at += e.size()
		}
		at = end
	}
}

// entryAt reads what could be an entry, and makes it one.
func entryAt(buf []byte) entry {
	e, ok := parseEntry(buf, 0)
	if !ok {
		e.kind, e.born = []string{kindPlain, kindZstd, kindCommit}[buf[0]%3], 0
		e.stored = min(uint32(buf[8]), uint32(len(buf)-entryHeader))
		e.raw = e.stored
		if e.kind == kindZstd {
			e.raw = MaxObject - uint32(buf[4])
		}
	}
	if e.size() <= int64(len(buf)) {
		e.sum = checksum(buf[entryHeader:e.size()])
	}
	return e
}
