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

	"pawl/internal/disk"
)

const packPrefix = "pack-"

func packName(number uint32) string { return fmt.Sprintf("%s%08d", packPrefix, number) }

// packFile is an open pack.
type packFile struct {
	number  uint32
	file    *os.File // for reading
	covered int64    // indexed bytes
	end     int64    // end of the valid segments
	size    int64    // size at the last refresh; if greater than end, the tail is torn
}

// view is what a process knows of the folder: the index, and what was appended since.
type view struct {
	dir     string
	packs   map[uint32]*packFile
	dead    *deadList
	index   *index           // nil: missing or unusable
	known   map[uint32]int64 // bytes that each pack had according to the index, even an unusable one
	tail    map[ID]location  // objects not in the index
	records []recordLocation // commit records not in the index
	bad     map[ID]*DamagedError
}

// load reads the folder. It starts again if a file is removed meanwhile.
func load(dir string, useIndex bool) (*view, error) {
	for tries := 1; ; tries++ {
		v := &view{dir: dir, packs: map[uint32]*packFile{}, tail: map[ID]location{}, bad: map[ID]*DamagedError{}}
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
	v.adoptIndex()
	for _, number := range numbers {
		if err := v.open(number); err != nil {
			return err
		}
	}
	if v.index != nil && (!useIndex || !v.hasIndexedData()) {
		v.index = closeIndex(v.index)
	}
	for _, p := range v.packs {
		if v.index != nil {
			p.covered = v.known[p.number]
			p.end, p.size = p.covered, p.covered
		}
	}
	return v.readAppended()
}

// adoptIndex uses the index if it is intact and matches the dead list.
func (v *view) adoptIndex() {
	index, err := openIndex(v.dir)
	if err == nil && index.generation == v.dead.generation {
		v.index, v.known = index, index.covered
	} else if err == nil {
		closeIndex(index)
	}
}

// closeIndex closes an index that is not used. It returns nil.
func closeIndex(x *index) *index {
	_ = x.close()
	return nil
}

func (v *view) open(number uint32) error {
	file, err := disk.Open(filepath.Join(v.dir, packName(number)))
	if err != nil {
		return err
	}
	v.packs[number] = &packFile{number: number, file: file}
	return nil
}

// hasIndexedData reports whether the packs hold all that the index covers.
func (v *view) hasIndexedData() bool {
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

// readAppended reads what was appended to the packs since the last refresh.
func (v *view) readAppended() error {
	for _, number := range v.numbers() {
		p := v.packs[number]
		size, err := p.length()
		if err != nil {
			return err
		}
		if size == p.size {
			continue
		}
		if err := v.readTail(p); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) readTail(p *packFile) error {
	found, size, err := p.scan(p.end, v.known[p.number])
	if err != nil {
		return fmt.Errorf("%s: %w", packName(p.number), err)
	}
	if len(v.tail) == 0 {
		v.tail = make(map[ID]location, len(found.entries))
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

// length returns the current size of the pack's file. Bytes beyond maxPack do not count.
func (p *packFile) length() (int64, error) {
	info, err := p.file.Stat()
	if err != nil {
		return 0, err
	}
	return min(info.Size(), maxPack), nil
}

// scan scans the pack from an offset. Damage is read twice, since another process may just be truncating or rewriting a
// failed append.
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
	return nil, 0, errors.New("the pack keeps changing")
}

// add adds an entry that is not in the index.
func (v *view) add(pack uint32, e entry) {
	if v.dead.holds(pack, e.offset) {
		return
	}
	if e.kind == kindCommit {
		v.records = append(v.records, recordLocation{born: e.bornIn(pack), location: e.in(pack)})
	} else {
		v.tail[e.id] = e.in(pack)
	}
}

// forget removes a deleted pack from the view. It had no live entries.
func (v *view) forget(number uint32) {
	p := v.packs[number]
	if p == nil {
		return
	}
	_ = p.file.Close() // read-only: nothing can be lost
	delete(v.packs, number)
	maps.DeleteFunc(v.tail, func(_ ID, at location) bool { return at.pack == number })
	v.records = slices.DeleteFunc(v.records, func(r recordLocation) bool { return r.pack == number })
}

// find returns the location of an object, or errIndex if the index is damaged.
func (v *view) find(id ID) (location, bool, error) {
	if at, ok := v.tail[id]; ok {
		return at, true, nil
	}
	return v.index.find(id)
}

// numbers returns the numbers of the packs, oldest first.
func (v *view) numbers() []uint32 {
	numbers := make([]uint32, 0, len(v.packs))
	for number := range v.packs {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	return numbers
}

// newest returns the newest pack, or nil.
func (v *view) newest() *packFile {
	var last *packFile
	for _, p := range v.packs {
		if last == nil || p.number > last.number {
			last = p
		}
	}
	return last
}

// next returns the number for a new pack, one that was never used.
func (v *view) next() uint32 {
	next := uint32(max(v.dead.next, 1))
	for number := range v.packs {
		next = max(next, number+1)
	}
	return next
}

// unindexed returns the number of bytes that are not indexed.
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

// listPacks returns the numbers of the packs in a folder, oldest first.
func listPacks(dir string) ([]uint32, error) {
	entries, err := disk.ReadDir(dir)                  // sorted by name, thus by number below 100 million
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing store is empty
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
