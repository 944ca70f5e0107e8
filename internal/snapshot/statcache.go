package snapshot

import (
	"encoding/binary"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
	"pawl/internal/snapshot/ignore"
	"pawl/internal/snapshot/pack"
)

// statCache records the tree of each folder at the last walk, and the size, times, inode and content ID of each name in
// it. Names that still match need not be read again, and a folder that still has its times need not be listed again. A cache that is
// damaged in any way counts as empty.
//
// File format: statMagic, start of the walk (8 bytes), index key (16 bytes), blocks, CRC-32C of everything before. A
// block is one folder.
type statCache struct {
	started int64 // start of the walk in ns; files changed around or after it must be read again
	index   indexKey
	blocks  map[string]*block
}

// block is one folder of the cache.
type block struct {
	raw     []byte // the encoded block, as in the file
	path    string
	mode    uint32
	stamp   folderStamp
	names   int // number of entries
	tree    pack.ID
	size    int64 // of all files below
	files   int   // below
	rules   ignore.Sum
	entries []byte // encoded stamps
	unsaved bool   // the stat file lacks it. The Store's mutex guards it.
}

// stamp is the record of one name. For a folder it records only that it exists; the folder has its own block. For a
// left-out name it records only the reason.
type stamp struct {
	kind         byte // a Kind, or leftOutKind
	name         string
	mode         uint32 // st_mode; for a left-out name, its DT type
	size         int64
	mtime, ctime int64 // ns
	inode        uint64
	id           pack.ID
	text         string // link target, or the reason for leaving out
	tracked      bool   // ignored by a pattern, but tracked by git
}

const (
	statMagic   = "pawl stat 2\n"
	leftOutKind = 'x'
	trackedBit  = 0x80 // set in a stamp's kind
)

// clockGrain is how far file timestamps may lag behind the clock: twice the longest kernel tick. A file modified that
// late before the walk may have been modified again within the same tick.
const clockGrain = 20e6 // ns

// settled reports whether what has this ctime can no longer change without getting another one, for a walk that started then. A file system
// that keeps whole seconds, such as ext4 with inodes of 128 bytes, may give it the same one for a second.
func settled(ctime, started int64) bool {
	grain := int64(clockGrain)
	if ctime%1e9 == 0 {
		grain += 1e9
	}
	return ctime < started-grain
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readStatCache reads the cache. It is empty if the file is missing, unreadable, damaged or of another format.
func readStatCache(path string) *statCache {
	data, err := disk.ReadFile(path, disk.CacheLimit)
	if err == nil {
		if c, ok := parseStatCache(data); ok {
			return c
		}
	}
	return emptyStatCache()
}

// lastCache is what this process knows of the last walk: the stat file as it was read or written last, or what a walk has found since.
type lastCache struct {
	file   fs.FileInfo // nil: there was none
	cache  *statCache
	unread int64 // bytes of files read since
}

// statCache returns what the last walk of this process found, or the stat file, if that was replaced since; nobody changes one in place. What an
// older one says is true as well: the walk compares it with the files and the store. The caller holds s.mu.
func (s *Store) statCache() *statCache {
	file, err := disk.Lstat(s.statFile())
	if err != nil {
		s.last = lastCache{}
		return emptyStatCache()
	}
	if was := s.last.file; was == nil || !os.SameFile(was, file) || was.Size() != file.Size() || !was.ModTime().Equal(file.ModTime()) {
		s.last = lastCache{file: file, cache: readStatCache(s.statFile())}
	}
	return s.last.cache
}

// ReadAhead reads what the next walk compares the files with, while the caller does something else.
func (s *Store) ReadAhead() {
	s.reading.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.statCache()
	})
}

func emptyStatCache() *statCache { return &statCache{blocks: map[string]*block{}} }

func parseStatCache(data []byte) (c *statCache, ok bool) {
	head := len(statMagic) + 8 + len(indexKey{})
	if len(data) < head+4 || string(data[:len(statMagic)]) != statMagic {
		return nil, false
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, false
	}
	c = &statCache{started: int64(binary.LittleEndian.Uint64(data[len(statMagic):])), blocks: make(map[string]*block, 64)}
	copy(c.index[:], body[len(statMagic)+8:])
	for rest := body[head:]; len(rest) > 0; {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return nil, false
		}
		end := n + int(length)
		b, ok := readBlock(rest[:end:end], rest[n:end:end])
		if !ok {
			return nil, false
		}
		c.blocks[b.path] = b
		rest = rest[end:]
	}
	return c, true
}

func readBlock(raw, body []byte) (*block, bool) {
	f := blockReader{rest: body}
	b := &block{raw: raw, path: string(f.text()), mode: uint32(f.number())}
	b.stamp = folderStamp{inode: f.number(), mtime: f.long(), ctime: f.long()}
	names := f.number()
	copy(b.tree[:], f.bytes(len(b.tree)))
	b.size, b.files = int64(f.number()), int(f.number())
	copy(b.rules[:], f.bytes(len(b.rules)))
	b.entries, b.names = f.rest, int(names)
	return b, !f.bad && names <= uint64(len(b.entries))
}

// writeStatCache writes the cache without syncing it. It needs an open batch: the next batch removes the temporary file
// that a crash leaves.
func writeStatCache(path string, started int64, index indexKey, blocks []*block) error {
	size := len(statMagic) + 12 + len(index)
	for _, b := range blocks {
		size += len(b.raw)
	}
	out := make([]byte, 0, size)
	out = append(out, statMagic...)
	out = binary.LittleEndian.AppendUint64(out, uint64(started))
	out = append(out, index[:]...)
	for _, b := range blocks {
		out = append(out, b.raw...)
	}
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	temp := filepath.Join(filepath.Dir(path), "temp-stat-"+disk.RandomHex(8))
	return disk.PutBy(temp, path, out)
}

const (
	smallCache = 1 << 17 // bytes of a stat file that is written whenever it changes
	smallPart  = 16      // a larger one may lack 1/smallPart of its blocks
)

// lacksLittle reports whether the stat file lacks so little that the next walk finds it out in less time than it takes to write all of the
// file now. What it lacks adds up from walk to walk, until it is written. A change of git's index alone is little if few names depend on it.
func (l *scan) lacksLittle(lacks int) bool {
	if l.watched.remembers() || len(l.blocks) < len(l.old.blocks)/2 { // what it lacks is not known, or most of it is of folders that are gone
		return false
	}
	size := l.cacheSize()
	return size > l.store.small && lacks < size/l.store.part && l.store.last.unread < int64(size)
}

// lacks returns how many bytes of what the walk found are not in the stat file. Times of folders do not count.
func (w *walk) lacks() (bytes int) {
	for _, b := range w.blocks {
		if b.unsaved {
			bytes += len(b.raw)
		}
	}
	return bytes
}

// agedMuch reports whether a new stat file would spare the next walk the listing of many folders.
func (l *scan) agedMuch() bool { return l.aged > l.cacheSize()/l.store.part }

// found returns what the walk found as a stat cache.
func (w *walk) found() *statCache {
	c := &statCache{started: w.started.UnixNano(), index: w.tracked.key, blocks: make(map[string]*block, len(w.blocks))}
	for _, b := range w.blocks {
		c.blocks[b.path] = b
	}
	return c
}

// cacheSize returns the size of the stat file that the walk would write, in bytes.
func (w *walk) cacheSize() (size int) {
	for _, b := range w.blocks {
		size += len(b.raw)
	}
	return size
}

// noteRead notes that bytes of a file are read.
func (w *walk) noteRead(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read += bytes
}

// encode sets raw: the block, preceded by its length.
func (b *block) encode() {
	body := make([]byte, 0, len(b.path)+len(b.entries)+112)
	body = appendText(body, b.path)
	body = binary.AppendUvarint(body, uint64(b.mode))
	body = binary.AppendUvarint(body, b.stamp.inode)
	body = binary.LittleEndian.AppendUint64(body, uint64(b.stamp.mtime))
	body = binary.LittleEndian.AppendUint64(body, uint64(b.stamp.ctime))
	body = binary.AppendUvarint(body, uint64(b.names))
	body = append(body, b.tree[:]...)
	body = binary.AppendUvarint(body, uint64(b.size))
	body = binary.AppendUvarint(body, uint64(b.files))
	body = append(body, b.rules[:]...)
	body = append(body, b.entries...)
	b.raw = append(binary.AppendUvarint(make([]byte, 0, len(body)+4), uint64(len(body))), body...)
	b.entries = b.raw[len(b.raw)-len(b.entries):] // once in memory
}

// entry returns the folder as an entry without name.
func (b *block) entry() Entry {
	return Entry{Kind: Folder, Mode: b.mode, Size: b.size, Files: b.files, ID: b.tree}
}

// stamps decodes the block's entries.
func (b *block) stamps() []stamp {
	var all []stamp
	var s stamp
	for f := (blockReader{rest: b.entries}); ; s = (stamp{}) {
		name, ok := f.next(&s)
		if !ok {
			return all
		}
		s.name = string(name)
		all = append(all, s)
	}
}

// append encodes the stamp.
func (s *stamp) append(out []byte) []byte {
	kind := s.kind
	if s.tracked {
		kind |= trackedBit
	}
	out = append(out, kind)
	out = appendText(out, s.name)
	switch Kind(s.kind) {
	case Folder:
		return out
	case leftOutKind:
		return appendText(append(out, byte(s.mode)), s.text)
	}
	out = binary.AppendUvarint(out, uint64(s.mode))
	out = binary.AppendUvarint(out, uint64(s.size))
	out = binary.LittleEndian.AppendUint64(out, uint64(s.mtime))
	out = binary.LittleEndian.AppendUint64(out, uint64(s.ctime))
	out = binary.AppendUvarint(out, s.inode)
	if Kind(s.kind) == Link {
		return appendText(out, s.text)
	}
	return append(out, s.id[:]...)
}

// blockReader decodes a block without copying. After a fault, it returns zero values.
type blockReader struct {
	rest []byte
	bad  bool
}

// next decodes the next stamp. The name is a slice of the block.
func (f *blockReader) next(s *stamp) (name []byte, ok bool) {
	if len(f.rest) == 0 || f.bad {
		return nil, false
	}
	s.kind, s.tracked = f.rest[0]&^trackedBit, f.rest[0]&trackedBit != 0
	f.rest = f.rest[1:]
	name = f.text()
	switch Kind(s.kind) {
	case Folder:
		return name, !f.bad
	case leftOutKind:
		if b := f.bytes(1); b != nil {
			s.mode = uint32(b[0])
		}
		s.text = string(f.text())
		return name, !f.bad
	}
	s.mode, s.size = uint32(f.number()), int64(f.number())
	s.mtime, s.ctime = f.long(), f.long()
	s.inode = f.number()
	if Kind(s.kind) == Link {
		s.text = string(f.text())
	} else {
		copy(s.id[:], f.bytes(len(s.id)))
	}
	return name, !f.bad
}

func (f *blockReader) bytes(n int) []byte {
	if n < 0 || len(f.rest) < n {
		f.bad, f.rest = true, nil
		return nil
	}
	out := f.rest[:n:n]
	f.rest = f.rest[n:]
	return out
}

func (f *blockReader) number() uint64 {
	n, length := binary.Uvarint(f.rest)
	if length <= 0 {
		f.bad, f.rest = true, nil
		return 0
	}
	f.rest = f.rest[length:]
	return n
}

func (f *blockReader) long() int64 {
	if b := f.bytes(8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (f *blockReader) text() []byte { return f.bytes(int(f.number())) }

// matches reports whether the file still has the size, times, inode and mode of the stamp.
func (s *stamp) matches(st *unix.Stat_t) bool {
	mtime, ctime := timesOf(st)
	return s.size == st.Size && s.mtime == mtime && s.ctime == ctime && s.inode == st.Ino && s.mode == uint32(st.Mode)
}

// set records the file's size, times, inode and mode.
func (s *stamp) set(st *unix.Stat_t) {
	s.size, s.inode, s.mode = st.Size, st.Ino, uint32(st.Mode)
	s.mtime, s.ctime = timesOf(st)
}

// isDerived reports whether the name was left out because a tool can make it again.
func (s *stamp) isDerived() bool {
	return s.kind == leftOutKind && strings.HasPrefix(s.text, derivedPrefix)
}

// entry returns the stamp of a file or link as an entry.
func (s *stamp) entry(name string) Entry {
	if Kind(s.kind) == Link {
		return Entry{Name: name, Kind: Link, Target: s.text}
	}
	return Entry{Name: name, Kind: Kind(s.kind), Mode: s.mode & 0o7777, Size: s.size, ID: s.id}
}

// dependsOnIndex reports whether the name is where it is because git's index has it, or does not have it.
func (s stamp) dependsOnIndex() bool { return s.tracked || s.kind == leftOutKind }

// mustReread reports whether a file must be read again even if it matches the stamp.
func (c *statCache) mustReread(s stamp) bool {
	return s.kind != leftOutKind && Kind(s.kind) != Folder && !c.settled(s.ctime)
}

// settled reports whether a file with this ctime can no longer change without getting another one.
func (c *statCache) settled(ctime int64) bool { return settled(ctime, c.started) }
