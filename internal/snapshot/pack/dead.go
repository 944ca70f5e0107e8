package pack

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/disk"
)

const (
	deadName  = "dead"
	deadMagic = "pawldead"
	deadHead  = 28
)

// place is where an entry stands.
type place struct {
	pack   uint32
	offset uint32
	size   uint32 // with its header
}

// deadList names the entries that were pruned, but still stand in their packs. Without it they would come back when
// the index is made anew, and a dead tree would then be there without its children. It is one file, replaced whole:
//
//	magic 8 | generation 8 | next pack 8 | count 4 | count × (pack 4, offset 4) | crc 4
//
// Packs are never given a number below the next one again, so a place means one entry for ever.
type deadList struct {
	generation uint64 // drawn by each prune; 0: there was none
	next       uint64
	places     map[[2]uint32]bool // pack and offset
	damaged    error              // why it cannot be believed
}

func (d *deadList) holds(pack uint32, offset int64) bool {
	return d.places[[2]uint32{pack, uint32(offset)}]
}

func readDead(dir string) (*deadList, error) {
	path := filepath.Join(dir, deadName)
	buf, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &deadList{}, nil
	}
	if err != nil {
		return nil, err
	}
	d := &deadList{places: map[[2]uint32]bool{}}
	if !d.parse(buf) {
		d.damaged = fmt.Errorf("%s is not as it was written: %w", path, errDamaged)
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
		d.places[[2]uint32{le.Uint32(buf[at:]), le.Uint32(buf[at+4:])}] = true
	}
	return true
}

// readGeneration returns which dead list is there.
func readGeneration(dir string) (uint64, error) {
	file, err := os.Open(filepath.Join(dir, deadName))
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

// write replaces the list, durably, by one of a new generation.
func (d *deadList) write(dir string) error {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	d.generation = binary.LittleEndian.Uint64(random[:])
	le := binary.LittleEndian
	buf := append(make([]byte, 0, deadHead+8*len(d.places)+4), deadMagic...)
	buf = le.AppendUint64(buf, d.generation)
	buf = le.AppendUint64(buf, d.next)
	buf = le.AppendUint32(buf, uint32(len(d.places)))
	for p := range d.places {
		buf = le.AppendUint32(le.AppendUint32(buf, p[0]), p[1])
	}
	return disk.Replace(filepath.Join(dir, deadName), le.AppendUint32(buf, checksum(buf)))
}
