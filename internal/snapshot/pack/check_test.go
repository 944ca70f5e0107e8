package pack

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestEveryFlippedByte flips each byte of a pack. Check sees it; what is not meant can be read. For some of
// them Repair sets it aside and says what is lost, and what is lost can be put again.
func TestEveryFlippedByte(t *testing.T) {
	t.Parallel()
	sets := []set{{"a", 3, 150}, {"b", 4, 70}, {"c", 2, 10}}
	s := fresh(t, sets...)
	path := packPaths(t, s.dir)[0]
	good := read(t, path)
	all := map[ID][]byte{}
	for _, c := range sets {
		for _, content := range c.objects() {
			all[IDOf(content)] = content
		}
	}
	for i := range good {
		data := bytes.Clone(good)
		data[i] ^= 0x20
		write(t, path, data)
		dir := s.dir
		if i%11 == 0 { // it is to be repaired
			dir = copyStore(t, s.dir)
		}
		s := open(t, dir)
		faults, err := s.Check(t.Context())
		if err != nil || len(faults) == 0 || len(faults) > 2 {
			t.Fatalf("byte %d: %v %v", i, faults, err)
		}
		if at := faults[0]; at.File != filepath.Join(dir, filepath.Base(path)) || at.Offset > int64(i) || at.Offset < int64(i)-250 {
			t.Fatalf("byte %d: %v", i, at)
		}
		bad := unreadable(t, s, all)
		if i%11 > 0 {
			must(t, s.Close())
			continue
		}
		done, err := s.Repair(t.Context())
		if err != nil || len(done.Quarantined) != len(faults) || len(bad) > 1 {
			t.Fatalf("byte %d: %v %v, cannot read %v", i, done, err, bad)
		}
		kept := read(t, done.Quarantined[0])
		if !bytes.Equal(kept, data[faults[0].Offset:][:len(kept)]) {
			t.Fatalf("byte %d: %d other bytes in quarantine", i, len(kept))
		}
		for _, id := range done.Lost {
			if all[id] != nil && !slices.Contains(bad, id) {
				t.Fatalf("byte %d: %s is said to be lost", i, id)
			}
		}
		sound(t, s)
		again := unreadable(t, s, all)
		if !slices.Equal(again, bad) {
			t.Fatalf("byte %d: lost %v by the repair", i, again)
		}
		for _, c := range sets {
			must(t, c.commit(t.Context(), s))
		}
		if got := names(t, s); len(got) != len(sets) {
			t.Fatalf("byte %d: %q after all was put again", i, got)
		}
		must(t, s.Close())
		must(t, os.RemoveAll(dir))
	}
}

// unreadable returns what cannot be read, each with an error that says so.
func unreadable(t *testing.T, s *Store, all map[ID][]byte) (bad []ID) {
	t.Helper()
	for id, content := range all {
		got, err := s.Get(id)
		switch {
		case err != nil && !isDamage(err):
			t.Fatal(err)
		case err != nil:
			bad = append(bad, id)
		case !bytes.Equal(got, content):
			t.Fatalf("%s has another content", id)
		}
	}
	return bad
}

// TestDamageNamesItsPlace reads an object that is damaged where the index says it stands.
func TestDamageNamesItsPlace(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 40, 700})
	content := (set{"a", 40, 700}).objects()[20]
	path := packPaths(t, s.dir)[0]
	data := read(t, path)
	at := bytes.Index(data, content)
	data[at+300] ^= 1
	write(t, path, data)
	for _, s := range []*Store{s, open(t, s.dir)} {
		for range 2 {
			_, err := s.Get(IDOf(content))
			damage, ok := errors.AsType[*DamagedError](err)
			if !ok || damage.File != path || damage.Offset != int64(at)-entryHeader || damage.ID != IDOf(content) {
				t.Errorf("%v", err)
			}
		}
	}
	s = open(t, s.dir)
	done, err := s.Repair(t.Context())
	if err != nil || !slices.Equal(done.Lost, []ID{IDOf(content)}) {
		t.Errorf("%v %v", done, err)
	}
	must(t, set{"a", 40, 700}.commit(t.Context(), s))
	works(t, s.dir, "a")
}

// TestAnotherHash finds content that is not what it is named by, although all sums are right.
func TestAnotherHash(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 700})
	path := packPaths(t, s.dir)[0]
	data := read(t, path)
	content := (set{"a", 3, 700}).objects()[1]
	at := bytes.Index(data, content)
	data[at+9] ^= 1
	e, _ := parseEntry(data[at-entryHeader:], 0)
	e.sum = checksum(data[at : at+len(content)])
	e.append(data[at-entryHeader : at-entryHeader])
	write(t, path, data)
	s = open(t, s.dir)
	if _, err := s.Get(IDOf(content)); !isDamage(err) || isMissing(err) {
		t.Error(err)
	}
	if faults, err := s.Check(t.Context()); err != nil || len(faults) != 1 || faults[0].ID != IDOf(content) {
		t.Errorf("%v %v", faults, err)
	}
	done, err := s.Repair(t.Context())
	if err != nil || !slices.Equal(done.Lost, []ID{IDOf(content)}) || len(done.Quarantined) != 1 {
		t.Errorf("%v %v", done, err)
	}
	must(t, set{"a", 3, 700}.commit(t.Context(), s))
	works(t, s.dir, "a")
}

// TestRepairRevivesNobody repairs a pack in which much is dead.
func TestRepairRevivesNobody(t *testing.T) {
	t.Parallel()
	a, b := set{"a0", 20, 1000}, set{"b1", 3, 1000}
	s := fresh(t, a, b)
	_, err := keeping(t.Context(), s, even)
	must(t, err)
	path := packPaths(t, s.dir)[0]
	data := read(t, path)
	data[bytes.Index(data, a.objects()[1])] ^= 1
	data[bytes.Index(data, b.objects()[1])] ^= 1
	write(t, path, data)
	done, err := s.Repair(t.Context())
	if err != nil || !slices.Equal(done.Lost, []ID{IDOf(a.objects()[1])}) || len(done.Quarantined) != 2 {
		t.Errorf("%v %v", done, err)
	}
	if has, err := s.Has(IDOf(b.objects()[2])); has || err != nil {
		t.Errorf("the dead came back: %v", err)
	}
	must(t, a.commit(t.Context(), s))
	works(t, s.dir, "a0")
}

// TestPackLost loses a whole pack: Check and Repair say what is lost with it, as the index knows.
func TestPackLost(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 30, 5000}, set{"b", 60, 900})
	paths := packPaths(t, s.dir)
	if len(paths) < 3 {
		t.Fatal(paths)
	}
	must(t, os.Remove(paths[1]))
	s = open(t, s.dir)
	faults, err := s.Check(t.Context())
	if err != nil || len(faults) < 10 {
		t.Errorf("%v %v", faults, err)
	}
	done, err := s.Repair(t.Context())
	if err != nil || len(done.Lost) != len(faults)-1 || len(done.Quarantined) > 0 {
		t.Errorf("%v %v", done, err)
	}
	sound(t, s)
}

// TestDeadListDamaged refuses to guess what was pruned, until Repair makes a new list.
func TestDeadListDamaged(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a0", 20, 200}, set{"b1", 3, 200}, set{"c0", 3, 200})
	_, err := keeping(t.Context(), s, even)
	must(t, err)
	path := filepath.Join(s.dir, deadName)
	good := read(t, path)
	for i := range good {
		data := bytes.Clone(good)
		data[i] ^= 0x04
		write(t, path, data)
		dir := s.dir
		if i%7 == 0 { // it is to be repaired
			dir = copyStore(t, s.dir)
		}
		s := open(t, dir)
		if _, err := s.Commits(); !isDamage(err) {
			t.Fatalf("byte %d: %v", i, err)
		}
		if _, err := s.Begin(t.Context()); !isDamage(err) {
			t.Fatalf("byte %d: %v", i, err)
		}
		if faults, err := s.Check(t.Context()); err != nil || len(faults) != 1 {
			t.Fatalf("byte %d: %v %v", i, faults, err)
		}
		if i%7 > 0 {
			continue
		}
		done, err := s.Repair(t.Context())
		if err != nil || !done.DeadListLost || !bytes.Equal(read(t, done.Quarantined[0]), data) {
			t.Fatalf("byte %d: %v %v", i, done, err)
		}
		sound(t, s)
		_, err = keeping(t.Context(), s, even)
		must(t, err)
		if got := names(t, s); !slices.Equal(got, []string{"a0", "c0"}) {
			t.Fatalf("byte %d: %q", i, got)
		}
		must(t, os.RemoveAll(dir))
	}
}
