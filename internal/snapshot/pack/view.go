package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const packPrefix = "pack-"

func packName(number uint32) string { return fmt.Sprintf("%s%08d", packPrefix, number) }

// packFile is a pack as far as it is known.
type packFile struct {
	number  uint32
	file    *os.File // for reading
	covered int64    // how much the index knows
	end     int64    // how much is understood
	size    int64    // when it was last looked at; more than end: the tail is torn
}

// view is what a process knows of the folder: the index, and what was added behind it.
type view struct {
	dir     string
	packs   map[uint32]*packFile
	dead    *deadList
	index   *index           // nil: there is none, or none that is any good
	known   map[uint32]int64 // how much of each pack was once there, as the index says, even one that is no good now
	tail    map[ID]place     // objects that the index does not know
	records []record         // commit records that the index does not know
	bad     map[ID]*DamagedError
}

// load reads the folder. What others remove meanwhile makes it begin again.
func load(dir string, useIndex bool) (*view, error) {
	for tries := 1; ; tries++ {
		v := &view{dir: dir, packs: map[uint32]*packFile{}, tail: map[ID]place{}, bad: map[ID]*DamagedError{}}
		err := v.read(useIndex)
		if err == nil {
			return v, nil
		}
		err = errors.Join(err, v.close())
		if !errors.Is(err, fs.ErrNotExist) || tries == 10 {
			return nil, fmt.Errorf("read %s: %w", dir, err)
		}
	}
}

func (v *view) read(useIndex bool) (err error) {
	if v.dead, err = readDead(v.dir); err != nil {
		return err
	}
	numbers, err := listPacks(v.dir)
	if err != nil {
		return err
	}
	v.takeIndex()
	for _, number := range numbers {
		if err := v.open(number); err != nil {
			return err
		}
	}
	if v.index != nil && (!useIndex || !v.holdsIndexed()) {
		v.index = drop(v.index)
	}
	for _, p := range v.packs {
		if v.index != nil {
			p.covered = v.known[p.number]
			p.end, p.size = p.covered, p.covered
		}
	}
	return v.rest()
}

// takeIndex takes the index where it is good and of this dead list.
func (v *view) takeIndex() {
	index, err := openIndex(v.dir)
	if err == nil && index.generation == v.dead.generation {
		v.index, v.known = index, index.covered
	} else if err == nil {
		drop(index)
	}
}

// drop closes an index that is no good.
func drop(x *index) *index {
	_ = x.close()
	return nil
}

func (v *view) open(number uint32) error {
	file, err := os.Open(filepath.Join(v.dir, packName(number)))
	if err != nil {
		return err
	}
	v.packs[number] = &packFile{number: number, file: file}
	return nil
}

// holdsIndexed reports whether all that the index covers is there.
func (v *view) holdsIndexed() bool {
	for number, covered := range v.index.covered {
		p := v.packs[number]
		if p == nil {
			return false
		}
		if size, err := p.length(); err != nil || size < covered {
			return false
		}
	}
	return true
}

// rest reads what was added to the packs since they were last looked at.
func (v *view) rest() error {
	for _, number := range v.numbers() {
		p := v.packs[number]
		size, err := p.length()
		if err != nil {
			return err
		}
		if size == p.size {
			continue
		}
		if err := v.more(p); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) more(p *packFile) error {
	found, size, err := p.scan(p.end, v.known[p.number])
	if err != nil {
		return fmt.Errorf("%s: %w", packName(p.number), err)
	}
	for _, e := range found.entries {
		v.add(p.number, e)
	}
	for _, b := range found.bad {
		v.bad[b.entry.id] = &DamagedError{ID: b.entry.id, File: p.file.Name(), Offset: b.from, Why: b.why}
	}
	p.size, p.end = size, found.end
	return nil
}

// length returns how long the pack's file is now. What stands behind the largest length of a pack is none of it.
func (p *packFile) length() (int64, error) {
	info, err := p.file.Stat()
	if err != nil {
		return 0, err
	}
	return min(info.Size(), maxPack), nil
}

// scan reads the pack from an offset on. Damage is read twice: another process may just be taking back, or writing
// anew, what it could not write.
func (p *packFile) scan(from, known int64) (found *scan, size int64, err error) {
	bad := 0
	for range 10 {
		if size, err = p.length(); err != nil {
			return nil, 0, err
		}
		found, err = scanPack(p.file, from, size, known)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			continue
		}
		if err != nil || len(found.bad) == bad {
			return found, size, err
		}
		bad = len(found.bad)
	}
	return nil, 0, errors.New("it changes all the time")
}

// add takes an entry in that the index does not know.
func (v *view) add(pack uint32, e entry) {
	if v.dead.holds(pack, e.offset) {
		return
	}
	if e.kind == kindCommit {
		v.records = append(v.records, record{born: e.bornIn(pack), place: e.in(pack)})
	} else {
		v.tail[e.id] = e.in(pack)
	}
}

// forget drops a pack that was removed. Nothing in it was alive.
func (v *view) forget(number uint32) {
	p := v.packs[number]
	if p == nil {
		return
	}
	_ = p.file.Close() // it was only read
	delete(v.packs, number)
	maps.DeleteFunc(v.tail, func(_ ID, at place) bool { return at.pack == number })
	v.records = slices.DeleteFunc(v.records, func(r record) bool { return r.pack == number })
}

// find returns where an object stands. errIndex: the index is no good.
func (v *view) find(id ID) (place, bool, error) {
	if at, ok := v.tail[id]; ok {
		return at, true, nil
	}
	return v.index.find(id)
}

// numbers returns the packs' numbers, the oldest first.
func (v *view) numbers() []uint32 {
	numbers := make([]uint32, 0, len(v.packs))
	for number := range v.packs {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	return numbers
}

// newest returns the pack that was begun last, nil where there is none.
func (v *view) newest() *packFile {
	var last *packFile
	for _, p := range v.packs {
		if last == nil || p.number > last.number {
			last = p
		}
	}
	return last
}

// next returns the number of the next new pack: none that was ever in use.
func (v *view) next() uint32 {
	next := uint32(max(v.dead.next, 1))
	for number := range v.packs {
		next = max(next, number+1)
	}
	return next
}

// unindexed returns how much the index does not cover.
func (v *view) unindexed() int64 {
	var n int64
	for _, p := range v.packs {
		n += p.end - p.covered
	}
	return n
}

func (v *view) close() error {
	errs := []error{v.index.close()}
	for _, p := range v.packs {
		errs = append(errs, p.file.Close())
	}
	return errors.Join(errs...)
}

// listPacks returns the numbers of the packs in a folder, the oldest first.
func listPacks(dir string) ([]uint32, error) {
	entries, err := os.ReadDir(dir) // by name, so by number while there are fewer than 100 million
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, entry := range entries {
		digits, ok := strings.CutPrefix(entry.Name(), packPrefix)
		if !ok {
			continue
		}
		if number, err := strconv.ParseUint(digits, 10, 32); err == nil && packName(uint32(number)) == entry.Name() {
			numbers = append(numbers, uint32(number))
		}
	}
	return numbers, nil
}
