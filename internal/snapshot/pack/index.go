package pack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"

	"pawl/internal/disk"
)

const (
	indexName   = "index"
	indexMagic  = "pawlidx\x01"
	indexHeader = 40
	blockSize   = 4096
	blockHeader = 6 // crc 4, count 2
	indexEntry  = 44
	perBlock    = (blockSize - blockHeader) / indexEntry
)

// errIndex means that the index is damaged. The index is a cache: callers read the packs instead.
var errIndex = errors.New("the index is damaged")

// index maps objects to their locations, for a prefix of each pack. It is a cache, replaced as a whole by a committing
// process:
//
//	magic 8 | generation of the dead list 8 | packs 4 | blocks 4 | records 4 | entries 4 | crc of head 4 | crc of records 4
//	head: packs × (number 4, length 8), blocks × the first 8 bytes of the block's first id
//	records × (born 8, pack 4, offset 4, size 4)
//	blocks of 4096 bytes: crc 4 | count 2 | count × (id 32, pack 4, offset 4, size 4), by id
//
// Opening reads only the head. A lookup reads one block and verifies it.
type index struct {
	file       *os.File
	info       os.FileInfo
	generation uint64
	covered    map[uint32]int64 // indexed bytes of each pack
	first      []uint64         // prefix of the first ID of each block
	entries    int
	records    int
	recordsSum uint32
	recordsAt  int64
	blocksAt   int64
}

// openIndex opens the index. It returns errIndex if the index is damaged.
func openIndex(dir string) (*index, error) {
	file, err := disk.Open(filepath.Join(dir, indexName))
	if err != nil {
		return nil, err
	}
	x := &index{file: file}
	if err := x.readHead(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return x, nil
}

func (x *index) readHead() (err error) {
	if x.info, err = x.file.Stat(); err != nil {
		return err
	}
	var fixed [indexHeader]byte
	if _, err := x.file.ReadAt(fixed[:], 0); err != nil || string(fixed[:8]) != indexMagic {
		return fmt.Errorf("%w: %s", errIndex, "no header")
	}
	le := binary.LittleEndian
	packs, blocks, records := int64(le.Uint32(fixed[16:])), int64(le.Uint32(fixed[20:])), int64(le.Uint32(fixed[24:]))
	x.generation, x.entries, x.records, x.recordsSum = le.Uint64(fixed[8:]), int(le.Uint32(fixed[28:])), int(records), le.Uint32(fixed[36:])
	x.recordsAt = indexHeader + 12*packs + 8*blocks
	x.blocksAt = x.recordsAt + 20*records
	if x.blocksAt+blocks*blockSize != x.info.Size() {
		return fmt.Errorf("%w: size mismatch", errIndex)
	}
	head := make([]byte, x.recordsAt-indexHeader)
	if _, err := x.file.ReadAt(head, indexHeader); err != nil {
		return err
	}
	sum := crc32.Update(checksum(fixed[:32]), castagnoli, fixed[36:])
	if crc32.Update(sum, castagnoli, head) != le.Uint32(fixed[32:]) {
		return fmt.Errorf("%w: checksum mismatch in the head", errIndex)
	}
	x.covered = make(map[uint32]int64, packs)
	for range packs {
		x.covered[le.Uint32(head)] = int64(le.Uint64(head[4:]))
		head = head[12:]
	}
	for ; len(head) > 0; head = head[8:] {
		x.first = append(x.first, le.Uint64(head))
	}
	return nil
}

func (x *index) close() error {
	if x == nil {
		return nil
	}
	return x.file.Close()
}

// blockBuffers holds buffers for lookups.
var blockBuffers = sync.Pool{New: func() any { return new([blockSize]byte) }}

// find returns the location of an object.
func (x *index) find(id ID) (location, bool, error) {
	if x == nil {
		return location{}, false, nil
	}
	prefix := binary.BigEndian.Uint64(id[:])
	after := sort.Search(len(x.first), func(i int) bool { return x.first[i] > prefix })
	buf := blockBuffers.Get().(*[blockSize]byte)
	defer blockBuffers.Put(buf)
	for b := after - 1; b >= 0; b-- {
		entries, err := x.block(buf[:], b)
		if err != nil {
			return location{}, false, err
		}
		n := len(entries) / indexEntry
		i := sort.Search(n, func(i int) bool { return bytes.Compare(entries[i*indexEntry:][:len(id)], id[:]) >= 0 })
		if i < n && bytes.Equal(entries[i*indexEntry:][:len(id)], id[:]) {
			return parseLocation(entries[i*indexEntry+len(id):]), true, nil
		}
		if x.first[b] < prefix {
			break // otherwise the previous block may hold it
		}
	}
	return location{}, false, nil
}

func parseLocation(buf []byte) location {
	le := binary.LittleEndian
	return location{pack: le.Uint32(buf), offset: le.Uint32(buf[4:]), size: le.Uint32(buf[8:])}
}

// block reads a block's entries into buf.
func (x *index) block(buf []byte, b int) ([]byte, error) {
	if _, err := x.file.ReadAt(buf, x.blocksAt+int64(b)*blockSize); err != nil {
		return nil, fmt.Errorf("%w: %w", errIndex, err)
	}
	n := int(binary.LittleEndian.Uint16(buf[4:]))
	if n > perBlock || binary.LittleEndian.Uint32(buf) != checksum(buf[4:]) {
		return nil, fmt.Errorf("%w: checksum mismatch in block %d", errIndex, b)
	}
	return buf[blockHeader : blockHeader+n*indexEntry], nil
}

// located is an object with its location.
type located struct {
	id ID
	location
}

// all returns all objects in the index, by ID.
func (x *index) all() ([]located, error) {
	if x == nil {
		return nil, nil
	}
	all := make([]located, 0, len(x.first)*perBlock)
	var buf [blockSize]byte
	for b := range x.first {
		entries, err := x.block(buf[:], b)
		if err != nil {
			return nil, err
		}
		for ; len(entries) > 0; entries = entries[indexEntry:] {
			all = append(all, located{id: ID(entries[:32]), location: parseLocation(entries[32:])})
		}
	}
	return all, nil
}

// recordLocation is the location of a commit record, with its position in the order of all records.
type recordLocation struct {
	born uint64
	location
}

// commits returns the locations of the indexed commit records.
func (x *index) commits() ([]recordLocation, error) {
	if x == nil {
		return nil, nil
	}
	buf := make([]byte, x.blocksAt-x.recordsAt)
	if _, err := x.file.ReadAt(buf, x.recordsAt); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", errIndex, err)
	}
	if checksum(buf) != x.recordsSum {
		return nil, fmt.Errorf("%w: checksum mismatch in the list of records", errIndex)
	}
	records := make([]recordLocation, 0, x.records)
	for ; len(buf) > 0; buf = buf[20:] {
		records = append(records, recordLocation{born: binary.LittleEndian.Uint64(buf), location: parseLocation(buf[8:])})
	}
	return records, nil
}

// writeIndex replaces the index without syncing it.
func writeIndex(dir string, generation uint64, covered map[uint32]int64, objects []located, records []recordLocation) error {
	le := binary.LittleEndian
	blocks := (len(objects) + perBlock - 1) / perBlock
	size := indexHeader + 12*len(covered) + 8*blocks + 20*len(records)
	buf := append(make([]byte, 0, size+blocks*blockSize), indexMagic...)
	buf = le.AppendUint64(buf, generation)
	for _, n := range []int{len(covered), blocks, len(records), len(objects), 0, 0} {
		buf = le.AppendUint32(buf, uint32(n))
	}
	for number, length := range covered {
		buf = le.AppendUint64(le.AppendUint32(buf, number), uint64(length))
	}
	for i := 0; i < len(objects); i += perBlock {
		buf = le.AppendUint64(buf, binary.BigEndian.Uint64(objects[i].id[:]))
	}
	head := len(buf)
	for _, r := range records {
		buf = r.append(le.AppendUint64(buf, r.born))
	}
	le.PutUint32(buf[36:], checksum(buf[head:]))
	sum := crc32.Update(checksum(buf[:32]), castagnoli, buf[36:head])
	le.PutUint32(buf[32:], sum)
	for some := range slices.Chunk(objects, perBlock) {
		buf = appendBlock(buf, some)
	}
	return disk.Put(filepath.Join(dir, indexName), buf)
}

func appendBlock(buf []byte, objects []located) []byte {
	start := len(buf)
	buf = append(buf, 0, 0, 0, 0)
	buf = binary.LittleEndian.AppendUint16(buf, uint16(len(objects)))
	for _, o := range objects {
		buf = o.append(append(buf, o.id[:]...))
	}
	buf = append(buf, make([]byte, blockSize-(len(buf)-start))...)
	binary.LittleEndian.PutUint32(buf[start:], checksum(buf[start+4:]))
	return buf
}

func (p location) append(buf []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint32(le.AppendUint32(le.AppendUint32(buf, p.pack), p.offset), p.size)
}

// merge merges two lists sorted by ID. For objects in both it takes the second.
func merge(a, b []located) []located {
	all := make([]located, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := bytes.Compare(a[0].id[:], b[0].id[:]); {
		case c < 0:
			all, a = append(all, a[0]), a[1:]
		case c == 0:
			a = a[1:]
		default:
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// sorted returns the objects by ID.
func sorted(objects map[ID]location) []located {
	list := make([]located, 0, len(objects))
	for id, at := range objects {
		list = append(list, located{id, at})
	}
	slices.SortFunc(list, func(a, b located) int {
		return cmp.Or(cmp.Compare(binary.BigEndian.Uint64(a.id[:]), binary.BigEndian.Uint64(b.id[:])), bytes.Compare(a.id[:], b.id[:]))
	})
	return list
}
