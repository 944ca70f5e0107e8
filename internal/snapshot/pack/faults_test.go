package pack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/disk/disktest"
)

// story is what another process does to a store while it dies or fails.
type story struct {
	do    string
	sets  []set            // that are there before
	spoil func(dir string) // what happened to them
	keeps func(name string) bool
	least int // calls that change the disk
}

func stories() map[string]story {
	all := func(string) bool { return true }
	some := []set{{"a0", 6, 700}, {"b1", 6, 800}}
	var many []set
	for i := range 12 {
		many = append(many, set{fmt.Sprint("s", i), 10, 1500})
	}
	return map[string]story{
		"small":       {do: "small new", sets: some, keeps: all, least: 24},
		"first":       {do: "small new", keeps: all, least: 30},
		"behind torn": {do: "small new", sets: some, keeps: all, least: 26, spoil: tear},
		"large":       {do: "large new", sets: some, keeps: all, least: 30},
		"prune":       {do: "prune", sets: many, keeps: even, least: 30},
		"prune again": {do: "prune", sets: many, keeps: even, least: 20, spoil: half},
		"repair":      {do: "repair", sets: append(many, some...), keeps: all, least: 15, spoil: flip},
	}
}

// tear leaves half a segment, and the mark of one who died.
func tear(dir string) {
	paths, err := filepath.Glob(filepath.Join(dir, packPrefix+"*"))
	if err == nil {
		var f *os.File
		f, err = os.OpenFile(paths[len(paths)-1], os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(segmentMagic + "cut off")
			f.Close()
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, commitLockName), []byte{begun}, 0o600)
	}
	if err != nil {
		panic(err)
	}
}

// half removes the index, so that the packs must be read.
func half(dir string) {
	if err := os.Remove(filepath.Join(dir, indexName)); err != nil {
		panic(err)
	}
}

// flip damages the object that no set but s1 has.
func flip(dir string) {
	content := (set{"s1", 10, 1500}).objects()[1]
	paths, err := filepath.Glob(filepath.Join(dir, packPrefix+"*"))
	if err != nil {
		panic(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		if i := bytes.Index(data, content); i >= 0 {
			data[i+100] ^= 1
			if err := os.WriteFile(path, data, 0o600); err != nil {
				panic(err)
			}
			return
		}
	}
	panic("not found")
}

// TestEveryFault kills another process, or makes calls fail once or from then on, at the calls that change the disk.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for name, story := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, story.sets...)
			must(t, s.Close())
			if story.spoil != nil {
				story.spoil(s.dir)
			}
			path := filepath.Join(t.TempDir(), "calls")
			said := tell(t, another(t, copyStore(t, s.dir), story.do, disktest.FaultVar+"=count", disktest.FaultLog+"="+path))
			calls := bytes.Count(read(t, path), []byte("\n"))
			if len(said.errors) > 0 || calls < story.least {
				t.Fatalf("%d calls, %v: %s", calls, said, read(t, path))
			}
			faults := []string{"die:%d", "ENOSPC:%d", "EIO:%d", "ENOSPC:%d-", "EIO:%d-"}
			for kind, fault := range faults {
				for n := range disktest.FaultPoints(kind, len(faults), calls) {
					spec := fmt.Sprintf(fault, n)
					dir := copyStore(t, s.dir)
					got := tell(t, another(t, dir, story.do, disktest.FaultVar+"="+spec))
					if got.killed != strings.HasPrefix(spec, "die") {
						t.Fatalf("%s: %v", spec, got)
					}
					if strings.HasSuffix(spec, fmt.Sprint(":", n)) && !got.killed && len(got.done) < len(said.done)-1 {
						t.Errorf("%s: after one failure %v", spec, got)
					}
					story.verify(t, spec, dir, got)
					must(t, os.RemoveAll(dir))
				}
			}
		})
	}
}

// verify checks that what was acknowledged is there, now and for what comes.
func (story story) verify(t *testing.T, spec, dir string, said report) {
	t.Helper()
	before := t.Failed()
	if story.do == "repair" {
		s := open(t, dir)
		done, err := s.Repair(t.Context())
		must(t, err)
		lost := IDOf((set{"s1", 10, 1500}).objects()[1])
		kept, err := filepath.Glob(filepath.Join(dir, quarantineName, "pack*"))
		if err != nil || len(kept) != 1 || len(done.Lost) > 0 && !slices.Equal(done.Lost, []ID{lost}) {
			t.Errorf("%s: %v, in quarantine %q", spec, done, kept)
		}
		sound(t, s)
		must(t, (set{"s1", 10, 1500}).commit(t.Context(), s))
		must(t, s.Close())
	}
	var want []string
	for _, c := range story.sets {
		if story.keeps(c.name) {
			want = append(want, c.name)
		}
	}
	for _, name := range said.done {
		if strings.HasPrefix(name, "new") {
			want = append(want, name)
		}
	}
	works(t, dir, want...)
	if t.Failed() && !before {
		t.Errorf("that was %s: %v", spec, said)
	}
}

// TestFailedSync fails the sync of a commit: once, and it is made good; for good, and it is an error, but nothing that
// others commit later is built on sand.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a0", 6, 700})
	must(t, s.Close())
	path := filepath.Join(t.TempDir(), "calls")
	tell(t, another(t, copyStore(t, s.dir), "small new", disktest.FaultVar+"=count", disktest.FaultLog+"="+path))
	lines := strings.Split(strings.TrimSpace(string(read(t, path))), "\n")
	tried := 0
	for i, line := range lines {
		if !strings.HasSuffix(line, " sync") {
			continue
		}
		tried++
		dir := copyStore(t, s.dir)
		said := tell(t, another(t, dir, "small new", fmt.Sprintf("%s=EIO:%d", disktest.FaultVar, i+1)))
		if len(said.done) != 4 || len(said.errors) > 0 {
			t.Errorf("EIO:%d: %v: want it made good", i+1, said)
		}
		works(t, dir, append(said.done, "a0")...)
		dir = copyStore(t, s.dir)
		said = tell(t, another(t, dir, "small new", fmt.Sprintf("%s=EIO:%d-", disktest.FaultVar, i+1)))
		if len(said.done) > tried-1 || len(said.errors) == 0 {
			t.Errorf("EIO:%d-: %v", i+1, said)
		}
		if mark := read(t, filepath.Join(dir, commitLockName)); string(mark) != string(begun) {
			t.Errorf("EIO:%d-: the mark is %q", i+1, mark)
		}
		works(t, dir, append(said.done, "a0")...)
	}
	if tried != 4 {
		t.Errorf("%d syncs, want one for each commit: %q", tried, lines)
	}
}

// TestCallsOfACommit has every call that changes the disk, in order: what is synced before what.
func TestCallsOfACommit(t *testing.T) {
	t.Parallel()
	const (
		small  = "create:lock create:commit.lock write:begun create:pack write sync write:ended"
		healed = "create:lock create:commit.lock sync:folder create:pack write sync write:ended write:begun create:pack write sync write:ended"
		large  = "create:lock create:temp write write write write write write create:temp write write sync write sync create:commit.lock write:begun " +
			"rename sync:folder rename sync:folder write:ended write rename"
	)
	for want, c := range map[string]set{small: {"x", 3, 700}, healed: {"y", 3, 700}, large: {"z", 30, 3000}} {
		s := fresh(t, set{"a", 4, 700})
		if want == healed {
			write(t, filepath.Join(s.dir, commitLockName), []byte{begun})
		}
		path := filepath.Join(t.TempDir(), "calls")
		do := fmt.Sprintf("one %s %d %d", c.name, c.count, c.size)
		if said := tell(t, another(t, s.dir, do, disktest.FaultVar+"=count", disktest.FaultLog+"="+path)); len(said.done) != 1 {
			t.Fatal(said)
		}
		var got []string
		for line := range strings.Lines(string(read(t, path))) {
			got = append(got, strings.Fields(line)[2])
		}
		words := strings.Fields(want)
		for i := range words {
			words[i], _, _ = strings.Cut(words[i], ":")
		}
		if !slices.Equal(got, words) {
			t.Errorf("%s:\n%q, want\n%s", do, got, want)
		}
	}
}
