package pack

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstAMap does random things to a store by two users of it, and compares with a map.
func TestAgainstAMap(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "snapshots")
	rapid.Check(t, func(rt *rapid.T) {
		if err := os.RemoveAll(dir); err != nil {
			rt.Fatal(err)
		}
		m := newModel(rt, dir)
		defer m.close()
		rt.Repeat(map[string]func(*rapid.T){
			"commit": m.commit,
			"abort":  m.abort,
			"get":    m.get,
			"list":   m.list,
			"prune":  m.prune,
			"reopen": m.reopen,
			"lose":   m.loseIndex,
			"tear":   m.tear,
			"repair": m.repair,
			"":       m.check,
		})
	})
}

// TestTearsOnce has a torn pack be the newest once more. The store adds nothing to it, so there is nobody who could tear
// it a second time: two tails, one behind the other, would be damage.
func TestTearsOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "snapshots")
	rapid.Check(t, func(rt *rapid.T) {
		must(t, os.RemoveAll(dir))
		m := newModel(rt, dir)
		defer m.close()
		must(t, set{"a", 4, 900}.commit(t.Context(), m.stores[0]))
		m.tear(rt)
		path := packPaths(t, dir)[0]
		torn := read(t, path)
		must(t, set{"b", 4, 900}.commit(t.Context(), m.store(rt)))
		m.tear(rt)
		_, err := keeping(t.Context(), m.store(rt), func(name string) bool { return name == "a" })
		must(t, err)
		if got := packPaths(t, dir); !slices.Equal(got, []string{path}) {
			rt.Fatalf("%q, want the torn pack alone", got)
		}
		m.tear(rt)
		must(t, set{"c", 4, 900}.commit(t.Context(), m.store(rt)))
		if got := read(t, path); !bytes.Equal(got, torn) {
			rt.Errorf("%d bytes were added to a torn pack", len(got)-len(torn))
		}
		m.check(rt)
	})
}

type model struct {
	dir     string
	stores  [2]*Store
	objects map[ID][]byte // all that should be there
	records []string
	made    int
	torn    map[uint32]bool // the packs that end in a torn tail, even those that are gone: no number comes back
}

func newModel(t *rapid.T, dir string) *model {
	m := &model{dir: dir, objects: map[ID][]byte{}, torn: map[uint32]bool{}}
	for i := range m.stores {
		m.stores[i] = m.open(t)
	}
	return m
}

func (m *model) close() {
	for _, s := range m.stores {
		s.Close()
	}
}

func (m *model) open(t *rapid.T) *Store {
	s, err := openAt(t.Context(), m.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.limits = limits{memory: 3000, flush: 2000, pack: 9000, index: 4000, tail: 9, small: 600}
	return s
}

func (m *model) store(t *rapid.T) *Store { return m.stores[rapid.IntRange(0, 1).Draw(t, "store")] }

func contents(t *rapid.T) (all [][]byte) {
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 199), 0, 6).Draw(t, "contents") {
		size := []int{0, 3, 70, 500, 2500}[n%5]
		all = append(all, set{fmt.Sprint(n / 5), 2, size}.objects()[1])
	}
	return all
}

func (m *model) batch(t *rapid.T) (*Batch, [][]byte) {
	b, err := m.store(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := contents(t)
	for _, content := range all {
		if id, err := b.Put(content); err != nil || id != IDOf(content) {
			t.Fatal(id, err)
		}
		if has, err := b.Has(IDOf(content)); !has || err != nil {
			t.Fatal(has, err)
		}
	}
	return b, all
}

func (m *model) commit(t *rapid.T) {
	b, all := m.batch(t)
	record := fmt.Sprint("record ", m.made)
	m.made++
	if _, err := b.Commit(t.Context(), []byte(record)); err != nil {
		t.Fatal(err)
	}
	m.records = append(m.records, record)
	for _, content := range all {
		m.objects[IDOf(content)] = content
	}
}

func (m *model) abort(t *rapid.T) {
	b, _ := m.batch(t)
	if err := b.Abort(); err != nil {
		t.Fatal(err)
	}
}

func (m *model) get(t *rapid.T) {
	s := m.store(t)
	for _, content := range contents(t) {
		_, want := m.objects[IDOf(content)]
		if has, err := s.Has(IDOf(content)); err != nil || has != want {
			t.Fatalf("has %v, want %v: %v", has, want, err)
		}
		got, err := s.Get(IDOf(content))
		if want && (err != nil || !bytes.Equal(got, content)) || !want && !isMissing(err) {
			t.Fatalf("%d bytes, want %v: %v", len(got), want, err)
		}
	}
}

func (m *model) list(t *rapid.T) {
	commits, err := m.store(t).Commits()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range commits {
		got = append(got, string(c.Content))
	}
	if !slices.Equal(got, m.records) {
		t.Fatalf("%q, want %q", got, m.records)
	}
}

func (m *model) prune(t *rapid.T) {
	drop := func(string) bool { return rapid.IntRange(0, 3).Draw(t, "drop") == 0 }
	_, err := m.store(t).Prune(t.Context(), func(commits []Commit) (map[ID]bool, map[ID]bool, error) {
		keep, objects := map[ID]bool{}, map[ID]bool{}
		m.records = slices.DeleteFunc(m.records, drop)
		for _, record := range m.records {
			keep[IDOf([]byte(record))] = true
		}
		for _, id := range slices.SortedFunc(maps.Keys(m.objects), func(a, b ID) int { return bytes.Compare(a[:], b[:]) }) {
			if drop("") {
				delete(m.objects, id)
			} else {
				objects[id] = true
			}
		}
		return keep, objects, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.stores { // they learn of it with their next look at least
		if err := m.stores[i].refresh(); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *model) reopen(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "store")
	if err := m.stores[i].Close(); err != nil {
		t.Fatal(err)
	}
	m.stores[i] = m.open(t)
}

func (m *model) loseIndex(t *rapid.T) {
	path := filepath.Join(m.dir, indexName)
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	if len(data) > 0 && rapid.Bool().Draw(t, "flip") {
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1
		err = os.WriteFile(path, data, 0o600)
	} else {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tear does what a writer does that dies. None writes behind a torn tail.
func (m *model) tear(t *rapid.T) {
	numbers, err := listPacks(m.dir)
	if err != nil || len(numbers) == 0 || m.torn[numbers[len(numbers)-1]] {
		return
	}
	m.torn[numbers[len(numbers)-1]] = true
	f, err := os.OpenFile(filepath.Join(m.dir, packName(numbers[len(numbers)-1])), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tail := rapid.SampledFrom([]string{"p", segmentMagic, "\x00\x00\x00", string(make([]byte, 600))}).Draw(t, "tail")
	if _, err := f.WriteString(tail); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, commitLockName), []byte{begun}, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *model) repair(t *rapid.T) {
	done, err := m.store(t).Repair(t.Context())
	if err != nil || done.DeadListLost || len(done.Lost)+len(done.Quarantined) > 0 {
		t.Fatalf("%+v %v", done, err)
	}
}

func (m *model) check(t *rapid.T) {
	faults, err := m.stores[0].Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if filepath.Base(f.File) != indexName {
			t.Fatal(f)
		}
	}
}
