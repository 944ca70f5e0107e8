package pack

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"pawl/internal/disk"
)

const (
	deadName  = "dead"
	deadMagic = "pawldead"
	deadHead  = 28
)

// location is the place of an entry.
type location struct {
	pack   uint32
	offset uint32
	size   uint32 // including the header
}

// deadList names the entries that were pruned but are still in their packs. Without it, rebuilding the index would
// bring them back, and a dead tree could then lack its children. It is one file, replaced as a whole:
//
//	magic 8 | generation 8 | next pack 8 | count 4 | count × (pack 4, offset 4) | crc 4
//
// Numbers of packs below next are never used again, so a location identifies one entry forever.
type deadList struct {
	generation uint64 // random, new with every prune; 0: never pruned
	next       uint64
	locations  map[[2]uint32]bool // pack and offset
	damaged    error              // non-nil if the list is damaged
}

func (d *deadList) holds(pack uint32, offset int64) bool {
	return d.locations[[2]uint32{pack, uint32(offset)}]
}

func readDead(dir string) (*deadList, error) {
	path := filepath.Join(dir, deadName)
	buf, err := disk.ReadFile(path, disk.CacheLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return &deadList{}, nil
	}
	if err != nil {
		return nil, err
	}
	d := &deadList{locations: map[[2]uint32]bool{}}
	if !d.parse(buf) {
		d.damaged = fmt.Errorf("%s is damaged: %w", path, errDamaged)
	}
	return d, nil
}

func (d *deadList) parse(buf []byte) bool {
	le := binary.LittleEndian
	body := len(buf) - 4
	var head [16]byte
	copy(head[:], buf)
	d.generation = le.Uint64(head[8:])
	if body < deadHead || string(buf[:8]) != deadMagic || le.Uint32(buf[body:]) != checksum(buf[:body]) ||
		int64(body) != deadHead+8*int64(le.Uint32(buf[24:])) {
		return false
	}
	d.next = le.Uint64(buf[16:])
	for at := deadHead; at < body; at += 8 {
		d.locations[[2]uint32{le.Uint32(buf[at:]), le.Uint32(buf[at+4:])}] = true
	}
	return true
}

// readGeneration returns the generation of the dead list on disk.
func readGeneration(dir string) (uint64, error) {
	file, err := disk.Open(filepath.Join(dir, deadName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var head [16]byte
	if _, err := file.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return binary.LittleEndian.Uint64(head[8:]), nil
}

// write durably replaces the list, with a new generation.
func (d *deadList) write(dir string) error {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	d.generation = binary.LittleEndian.Uint64(random[:])
	le := binary.LittleEndian
	buf := append(make([]byte, 0, deadHead+8*len(d.locations)+4), deadMagic...)
	buf = le.AppendUint64(buf, d.generation)
	buf = le.AppendUint64(buf, d.next)
	buf = le.AppendUint32(buf, uint32(len(d.locations)))
	for p := range d.locations {
		buf = le.AppendUint32(le.AppendUint32(buf, p[0]), p[1])
	}
	return disk.Replace(filepath.Join(dir, deadName), le.AppendUint32(buf, checksum(buf)))
}
