package pack

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestPrune prunes most of a store, in which each set shares an object with all others.
func TestPrune(t *testing.T) {
	t.Parallel()
	var sets []set
	for i := range 12 {
		sets = append(sets, set{fmt.Sprint("s", i), 10, 2000})
	}
	s := fresh(t, sets...)
	other := open(t, s.dir) // it learns of it
	must(t, sets[0].complete(other))
	before, err := s.Size()
	must(t, err)
	keep := func(name string) bool { return name == "s3" || name == "s4" || name == "s10" }
	pruned, err := keeping(t.Context(), s, keep)
	must(t, err)
	after, err := s.Size()
	must(t, err)
	if pruned.Commits != 9 || pruned.Objects != 9*9 || pruned.Bytes != before-after || after > before/3 {
		t.Errorf("%+v, from %d to %d", pruned, before, after)
	}
	for _, s := range []*Store{s, other, open(t, s.dir)} {
		if got := names(t, s); !slices.Equal(got, []string{"s3", "s4", "s10"}) {
			t.Errorf("%q", got)
		}
		if _, err := s.Get(IDOf(sets[0].objects()[1])); !isMissing(err) {
			t.Error(err)
		}
	}
	if again, err := keeping(t.Context(), s, keep); err != nil || again.Commits+again.Objects > 0 || again.Bytes < 0 {
		t.Errorf("%+v %v", again, err)
	}
	works(t, s.dir, "s3", "s4", "s10")
}

// TestDeadStayDead keeps most of a pack: what is dead in it does not come back without the index, and can be put again.
func TestDeadStayDead(t *testing.T) {
	t.Parallel()
	a, b := set{"a0", 20, 1000}, set{"b1", 3, 1000}
	s := fresh(t, a, b)
	_, err := keeping(t.Context(), s, even)
	must(t, err)
	if len(packPaths(t, s.dir)) != 1 || !strings.HasSuffix(packPaths(t, s.dir)[0], packName(1)) {
		t.Fatalf("%q: want it left where it is", packPaths(t, s.dir))
	}
	if again, err := keeping(t.Context(), s, even); err != nil || again.Objects+again.Commits > 0 {
		t.Errorf("pruned again: %+v %v", again, err)
	}
	for range 2 {
		if has, err := s.Has(IDOf(b.objects()[1])); has || err != nil {
			t.Errorf("the dead came back: %v", err)
		}
		must(t, os.RemoveAll(s.dir+"/index"))
		s = open(t, s.dir)
	}
	must(t, b.commit(t.Context(), s))
	must(t, os.RemoveAll(s.dir+"/index"))
	s = open(t, s.dir)
	if got := names(t, s); !slices.Equal(got, []string{"a0", "b1"}) {
		t.Errorf("%q", got)
	}
	works(t, s.dir, "a0", "b1")
}

// TestOrderSurvives moves the oldest commits behind newer ones.
func TestOrderSurvives(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	var want []string
	for i := range 30 {
		c := set{fmt.Sprint("s", i), 2 + i%5*4, 800}
		must(t, c.commit(t.Context(), s))
		if want = append(want, c.name); i%7 == 6 {
			drop := want[len(want)/2]
			want = slices.Delete(want, len(want)/2, len(want)/2+1)
			_, err := keeping(t.Context(), s, func(name string) bool { return name != drop })
			must(t, err)
		}
		if got := names(t, s); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	works(t, s.dir, want...)
}

// TestPruneWaitsForBatch has another process build on objects that the prune would remove.
func TestPruneWaitsForBatch(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a0", 20, 1000}, set{"old0", 4, 700})
	cmd := another(t, s.dir, "batch")
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || lines.Text() != "begun" {
		t.Fatal(lines.Text())
	}
	before := names(t, s)
	var prune sync.WaitGroup
	prune.Go(func() {
		_, err := s.Prune(t.Context(), func(commits []Commit) (map[ID]bool, map[ID]bool, error) {
			if len(commits) != len(before) { // the batch's record is that of a set that was there
				t.Errorf("%d commits", len(commits))
			}
			keep, objects := map[ID]bool{}, map[ID]bool{}
			for _, commit := range commits {
				keep[commit.ID] = true
				c, _ := parseSet(commit.Content)
				for _, content := range c.objects() {
					objects[IDOf(content)] = true
				}
			}
			return keep, objects, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	_, err = stdin.Write([]byte("go on\n"))
	must(t, err)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "error") {
			t.Error(lines.Text())
		}
	}
	must(t, cmd.Wait())
	prune.Wait()
	works(t, s.dir, "a0", "old0")
}

// TestDamagedPackIsLeftAlone prunes around damage.
func TestDamagedPackIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a1", 20, 1000}, set{"b0", 3, 1000})
	path := packPaths(t, s.dir)[0]
	data := read(t, path)
	data[5000] ^= 1
	write(t, path, data)
	_, err := keeping(t.Context(), s, even)
	must(t, err)
	if !slices.Equal(read(t, path), data) {
		t.Error("it was changed")
	}
	if got := names(t, s); !slices.Equal(got, []string{"b0"}) {
		t.Errorf("%q", got)
	}
}

// TestLeftovers finds what dead processes were writing, and what a live one writes.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s := fresh(t, set{"a", 3, 100})
	b, err := s.Begin(t.Context())
	must(t, err)
	for _, content := range (set{"b", 30, 2000}).objects() {
		_, err := b.Put(content)
		must(t, err)
	}
	left, err := s.leftovers()
	if err != nil || len(left) != 1 {
		t.Fatalf("%q %v", left, err)
	}
	for _, name := range []string{"temp-1-00", "index.tmp77", ".dead123"} {
		write(t, s.dir+"/"+name, []byte("x"))
	}
	must(t, set{"c", 3, 100}.commit(t.Context(), s)) // beside a live one it removes nothing
	if left, err = s.leftovers(); err != nil || len(left) != 4 {
		t.Errorf("%q %v", left, err)
	}
	_, err = b.Commit(t.Context(), set{"b", 30, 2000}.record())
	must(t, err)
	works(t, s.dir, "a", "b", "c")
}

// TestReadingWhilePruned reads what lives, without a hold, while another process adds and this one prunes.
func TestReadingWhilePruned(t *testing.T) {
	t.Parallel()
	a := set{"a0", 12, 1500}
	s := fresh(t, set{"b1", 20, 1500}, a, set{"c1", 20, 1500})
	pruned := make(chan struct{})
	var all sync.WaitGroup
	for _, reader := range []*Store{s, open(t, s.dir), open(t, s.dir)} {
		all.Go(func() {
			for more := true; more; {
				select {
				case <-pruned:
					more = false
				default:
				}
				if err := a.complete(reader); err != nil {
					t.Error(err)
					return
				}
				if _, err := reader.Commits(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		if said := tell(t, another(t, s.dir, "large d")); len(said.done) != 2 {
			t.Errorf("%v", said)
		}
	})
	for i := range 12 {
		_, err := keeping(t.Context(), s, even)
		must(t, err)
		must(t, set{fmt.Sprint("e", i), 8, 1500}.commit(t.Context(), s))
	}
	close(pruned)
	all.Wait()
	works(t, s.dir, "a0", "d0", "e10")
}
