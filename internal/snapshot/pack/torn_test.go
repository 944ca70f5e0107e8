package pack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTornTail cuts the last segment at every byte, as a death does, and from whole sectors on it has NUL up to its end,
// as a power cut does.
func TestTornTail(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 100})
	path := packPaths(t, s.dir)[0]
	before := len(read(t, path))
	must(t, set{"b", 3, 90}.commit(t.Context(), s))
	whole := read(t, path)
	must(t, os.Remove(filepath.Join(s.dir, commitLockName)))
	for cut := before; cut < len(whole); cut++ {
		for _, tail := range [][]byte{nil, make([]byte, len(whole)-cut)} {
			if len(tail) > 0 && cut > before && cut%512 > 0 {
				continue
			}
			write(t, path, slices.Concat(whole[:cut], tail))
			dir := s.dir
			if cut%10 == 0 { // it is to be written to
				dir = copyStore(t, s.dir)
			}
			if cut%50 == 0 {
				works(t, dir, "a")
			}
			s := open(t, dir)
			if got := names(t, s); !slices.Equal(got, []string{"a"}) {
				t.Fatalf("cut at %d, %d NUL: %q", cut, len(tail), got)
			}
			sound(t, s)
			if cut%10 > 0 {
				must(t, s.Close())
				continue
			}
			must(t, set{"b", 3, 90}.commit(t.Context(), s))
			if got := names(t, s); !slices.Equal(got, []string{"a", "b"}) {
				t.Fatalf("cut at %d, %d NUL: %q", cut, len(tail), got)
			}
			sound(t, s)
			must(t, s.Close())
		}
	}
}

// TestHolesInTail has single sectors of the last segment that never reached the disk, wherever the segment begins in one.
func TestHolesInTail(t *testing.T) {
	t.Parallel()
	for size := range 24 {
		s := fresh(t, set{"a", 3, 100 + 11*size})
		path := packPaths(t, s.dir)[0]
		before := len(read(t, path))
		must(t, set{"b", 4, 900}.commit(t.Context(), s))
		whole := read(t, path)
		for sector := before / 512 * 512; sector < len(whole); sector += 512 {
			data := bytes.Clone(whole)
			clear(data[max(sector, before):min(sector+512, len(data))])
			write(t, path, data)
			s := open(t, s.dir)
			if got := names(t, s); !slices.Equal(got, []string{"a"}) {
				t.Fatalf("segment at %d, hole at %d: %q", before, sector, got)
			}
			sound(t, s)
			must(t, s.Close())
		}
	}
}

// TestShortWrite has another process hit a limit in the middle of a segment: it takes back what was written of it, and
// whoever has space goes on in the same pack.
func TestShortWrite(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 100})
	path := packPaths(t, s.dir)[0]
	limit := len(read(t, path)) + 5000
	said := tell(t, another(t, s.dir, "small b", fmt.Sprintf("%s=%d", limitVar, limit)))
	if len(said.done) == 0 || len(said.errors) == 0 || !strings.Contains(said.errors[0], "file too large") {
		t.Fatalf("%v: want some of both", said)
	}
	if got := len(read(t, path)); got > limit-500 {
		t.Errorf("%d bytes of %d: want the last segment taken back", got, limit)
	}
	works(t, s.dir, append(said.done, "a")...)
	if got := packPaths(t, s.dir); len(got) != 1 {
		t.Errorf("%q, want one pack", got)
	}
}

// TestPackWithinAPack tears a segment whose object contains the bytes of a pack: they are content, not segments.
func TestPackWithinAPack(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 100})
	path := packPaths(t, s.dir)[0]
	before := read(t, path)
	b, err := s.Begin(t.Context())
	must(t, err)
	e := commitEntry(before)
	e.kind = kindPlain // as if it could not be compressed
	must(t, b.add(e, before))
	_, err = b.Commit(t.Context(), set{"b", 0, 0}.record())
	must(t, err)
	must(t, os.Truncate(path, int64(2*len(before)+segmentHeader+entryHeader)))
	works(t, s.dir, "a")
}

// TestCutPack loses the end of a pack that the index knows: that is damage, and not a torn tail.
func TestCutPack(t *testing.T) {
	t.Parallel()
	c := set{"a", 30, 1000}
	s := fresh(t, c)
	must(t, os.Truncate(packPaths(t, s.dir)[0], 15000))
	s = open(t, s.dir)
	all := map[ID][]byte{}
	for _, content := range c.objects() {
		all[IDOf(content)] = content
	}
	bad := unreadable(t, s, all)
	faults, err := s.Check(t.Context())
	if err != nil || len(faults) < len(bad) {
		t.Errorf("%v %v", faults, err)
	}
	done, err := s.Repair(t.Context())
	if err != nil || len(bad) < 10 || len(bad) > 20 {
		t.Errorf("cannot read %d, %v", len(bad), err)
	}
	for _, id := range bad {
		if !slices.Contains(done.Lost, id) {
			t.Errorf("%s is not said to be lost", id)
		}
	}
	if again := unreadable(t, s, all); len(again) != len(bad) || len(done.Lost) != len(bad) {
		t.Errorf("cannot read %d of %d, %d said to be lost", len(again), len(bad), len(done.Lost))
	}
	works(t, s.dir)
}

// TestHugeFile opens a sparse file of 100 GB with the header of a pack.
func TestHugeFile(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 100})
	must(t, os.Truncate(packPaths(t, s.dir)[0], 100<<30))
	must(t, os.WriteFile(s.dir+"/"+packName(7), nil, 0o600))
	must(t, os.Truncate(s.dir+"/"+packName(7), 100<<30))
	s = open(t, s.dir)
	if got := names(t, s); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q", got)
	}
	must(t, set{"b", 3, 100}.commit(t.Context(), s))
	if got := names(t, s); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
}
