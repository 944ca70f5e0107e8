package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// tree is a generated workspace, always the same for the same number of files: most files are small, some large, and
// one in twenty is not a text.
type tree struct {
	root  string
	files int
	even  int // bytes in each file. Defaults to sizes as they are.
}

const (
	perFolder = 67      // files
	subtrees  = 8       // folders in a folder
	largest   = 4 << 20 // bytes
	noise     = 20      // one file in so many
)

// path is where file i is, below the root.
func (t *tree) path(i int) string {
	return filepath.Join(folderOf(i/perFolder), fmt.Sprintf("file-%06d.txt", i))
}

func folderOf(n int) string {
	if n == 0 {
		return "."
	}
	return filepath.Join(folderOf((n-1)/subtrees), fmt.Sprintf("folder-%d", n))
}

// folders is how many folders a tree has, the root not counted.
func (t *tree) folders() int { return (t.files - 1) / perFolder }

// grow makes the tree, with two writers.
func (t *tree) grow() error {
	for n := range t.folders() + 1 {
		if err := os.MkdirAll(filepath.Join(t.root, folderOf(n)), 0o700); err != nil {
			return err
		}
	}
	const writers = 2
	var errs [writers]error
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := w; i < t.files && errs[w] == nil; i += writers {
				errs[w] = t.write(i, 0)
			}
		})
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// write writes file i in place, in its nth edition. Each edition has a size of its own.
func (t *tree) write(i, edition int) error {
	return os.WriteFile(filepath.Join(t.root, t.path(i)), t.content(i, edition), 0o600)
}

// content makes a file's content. The sizes are log-normal, with a median of 3.6 KB and a mean of 9.7 KB.
func (t *tree) content(i, edition int) []byte {
	random := rand.New(rand.NewPCG(uint64(i), uint64(edition)))
	size := min(int(math.Exp(8.2+1.4*random.NormFloat64())), largest)
	if t.even > 0 {
		size = t.even
	}
	data := make([]byte, size)
	if i%noise == 0 {
		fillNoise(random, data)
	} else {
		fillText(random, data)
	}
	return data
}

func fillNoise(random *rand.Rand, data []byte) {
	for at := range data {
		data[at] = byte(random.Uint32())
	}
}

// vocabulary are the words of all texts: as in a program, few are frequent and many are rare.
var vocabulary = func() []string {
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 2000)
	for i := range words {
		words[i] = word(random, 2+random.IntN(10))
	}
	return words
}()

// word makes a new word.
func word(random *rand.Rand, length int) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = byte('a' + random.IntN(26))
	}
	return string(text)
}

// fillText fills data with lines of words, one in eight of them never seen before.
func fillText(random *rand.Rand, data []byte) {
	for at, n := 0, 1; at < len(data); n++ {
		next := vocabulary[int(float64(len(vocabulary))*math.Pow(random.Float64(), 3))]
		if n%8 == 0 {
			next = word(random, 8)
		}
		at += copy(data[at:], next)
		end := byte(' ')
		if n%10 == 0 {
			end = '\n'
		}
		if at < len(data) {
			data[at] = end
			at++
		}
	}
}

// edit writes ten files anew, others in each round, and returns their paths.
func (t *tree) edit(round int) ([]string, error) {
	paths := make([]string, 10)
	for k := range paths {
		i := (round*7919 + k*t.files/len(paths)) % t.files
		if err := t.write(i, round); err != nil {
			return nil, err
		}
		paths[k] = t.path(i)
	}
	return paths, nil
}

// read gives the content of some files.
func (t *tree) read(paths []string) ([]string, error) {
	texts := make([]string, len(paths))
	for i, path := range paths {
		data, err := os.ReadFile(filepath.Join(t.root, path))
		if err != nil {
			return nil, err
		}
		texts[i] = string(data)
	}
	return texts, nil
}

// extent is how much there is below a folder.
type extent struct {
	files, folders int
	bytes          int64 // in the files
	disk           int64 // that they and their folders take, as du counts
}

// measure looks at all that is below a folder, but for what pawl keeps there.
func measure(folder string) (extent, error) {
	var e extent
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".pawl" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e.disk += blocksOf(info)
		if d.IsDir() {
			e.folders++
			return nil
		}
		e.files, e.bytes = e.files+1, e.bytes+info.Size()
		return nil
	})
	return e, err
}

// sameAs reports what a folder has else than a tree.
func sameAs(folder string, want extent) error {
	got, err := measure(folder)
	if err == nil && (got.files != want.files || got.bytes != want.bytes) {
		err = fmt.Errorf("%s has %d files and %d bytes, not %d and %d", folder, got.files, got.bytes, want.files, want.bytes)
	}
	return err
}

// writeDatabase makes a file like a database's: pages of 4 KiB, of which three of four are empty but for a number.
func writeDatabase(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for at := int64(0); at < size; at += mebibyte {
		if err := writePages(f, at, 0); err != nil {
			return err
		}
	}
	return f.Close()
}

const mebibyte = 1 << 20

// writePages writes the pages of one MiB, in their nth edition.
func writePages(f *os.File, at int64, edition int) error {
	const page = 4096
	random := rand.New(rand.NewPCG(uint64(at), uint64(edition)))
	data := make([]byte, mebibyte)
	for i := 0; i < len(data); i += page {
		copy(data[i:], "page "+strconv.FormatInt(at+int64(i), 10))
		if i/page%4 == 0 {
			fillText(random, data[i+32:i+page])
		}
	}
	_, err := f.WriteAt(data, at)
	return err
}

// changeDatabase writes one MiB of it anew, in place.
func changeDatabase(path string, at int64, edition int) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(writePages(f, at, edition), f.Close())
}
