package pack

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// text returns content that compresses as source code does.
func text(rng *rand.Rand, size int) []byte {
	content := make([]byte, 0, size+8)
	for len(content) < size {
		content = fmt.Appendf(content, "%x ", rng.Uint64N(1<<20)*2654435761%(1<<24))
	}
	return content
}

// BenchmarkPut puts objects of 10 KB by one goroutine, and commits 10,000 at a time.
func BenchmarkPut(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "s"))
	must(b, err)
	defer s.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	content := text(rng, 10_000)
	b.SetBytes(int64(len(content)))
	batch, err := s.Begin(b.Context())
	must(b, err)
	for i := 0; b.Loop(); i++ {
		binary.LittleEndian.PutUint64(content[i%9000:], rng.Uint64())
		_, err := batch.Put(content)
		must(b, err)
		if i%10_000 == 9_999 {
			_, err := batch.Commit(b.Context(), fmt.Append(nil, i))
			must(b, err)
			batch, err = s.Begin(b.Context())
			must(b, err)
		}
	}
	must(b, batch.Abort())
}

// many makes a store of 200,000 objects.
func many(b *testing.B) (dir string, ids []ID) {
	dir = filepath.Join(b.TempDir(), "s")
	s, err := Open(b.Context(), dir)
	must(b, err)
	batch, err := s.Begin(b.Context())
	must(b, err)
	for i := range 200_000 {
		id, err := batch.Put(fmt.Append(nil, "object ", i))
		must(b, err)
		ids = append(ids, id)
	}
	_, err = batch.Commit(b.Context(), []byte("many"))
	must(b, err)
	must(b, s.Close())
	return dir, ids
}

func BenchmarkOpen(b *testing.B) {
	dir, _ := many(b)
	for b.Loop() {
		s, err := Open(b.Context(), dir)
		must(b, err)
		must(b, s.Close())
	}
}

func BenchmarkHas(b *testing.B) {
	dir, ids := many(b)
	s, err := Open(b.Context(), dir)
	must(b, err)
	defer s.Close()
	for i := 0; b.Loop(); i++ {
		if has, err := s.Has(ids[i*7919%len(ids)]); !has || err != nil {
			b.Fatal(has, err)
		}
	}
}

// BenchmarkCommit commits ten small objects to a store of 200,000.
func BenchmarkCommit(b *testing.B) {
	dir, _ := many(b)
	s, err := Open(b.Context(), dir)
	must(b, err)
	defer s.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	content := text(rng, 2000)
	for i := 0; b.Loop(); i++ {
		batch, err := s.Begin(b.Context())
		must(b, err)
		for range 10 {
			binary.LittleEndian.PutUint64(content, rng.Uint64())
			_, err := batch.Put(content)
			must(b, err)
		}
		_, err = batch.Commit(b.Context(), fmt.Append(nil, i))
		must(b, err)
	}
}
