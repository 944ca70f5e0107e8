package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// What an entry is, in its first bytes.
const (
	kindMark   = "\xa7"           // begins them all, so that entries can be found behind damage
	kindPlain  = kindMark + "raw" // an object as it is
	kindZstd   = kindMark + "zst" // an object, compressed
	kindCommit = kindMark + "cmt" // a commit record
)

const (
	// MaxObject is how large an object may be.
	MaxObject = 64 << 20
	// MaxRecord is how large a commit record may be.
	MaxRecord = 1 << 20

	entryHeader = 60
	tiny        = 64 // smaller objects are not worth compressing
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is one object or commit record in a pack: a header, then the stored bytes.
//
//	kind 4 | raw size 4 | stored size 4 | born 8 | id 32 | crc of the stored bytes 4 | crc of the header 4
type entry struct {
	kind   string
	raw    uint32
	stored uint32
	born   uint64 // of a record that was moved: where it first stood, which keeps records in order; 0: here
	id     ID
	sum    uint32
	offset int64 // of the header, in the pack
}

func (e entry) size() int64 { return entryHeader + int64(e.stored) }

func (e entry) end() int64 { return e.offset + e.size() }

// in returns the entry's place.
func (e entry) in(pack uint32) place {
	return place{pack: pack, offset: uint32(e.offset), size: uint32(e.size())}
}

// bornIn returns where a record first stood. New packs have higher numbers, so this tells the order of all records.
func (e entry) bornIn(pack uint32) uint64 {
	if e.born > 0 {
		return e.born
	}
	return uint64(pack)<<32 | uint64(e.offset)
}

// append appends the header.
func (e entry) append(buf []byte) []byte {
	start := len(buf)
	buf = append(buf, e.kind...)
	buf = binary.LittleEndian.AppendUint32(buf, e.raw)
	buf = binary.LittleEndian.AppendUint32(buf, e.stored)
	buf = binary.LittleEndian.AppendUint64(buf, e.born)
	buf = append(buf, e.id[:]...)
	buf = binary.LittleEndian.AppendUint32(buf, e.sum)
	return binary.LittleEndian.AppendUint32(buf, checksum(buf[start:]))
}

// parseEntry reads the header at the beginning of buf.
func parseEntry(buf []byte, offset int64) (entry, bool) {
	if len(buf) < entryHeader {
		return entry{}, false
	}
	le := binary.LittleEndian
	e := entry{kind: string(buf[:4]), raw: le.Uint32(buf[4:]), stored: le.Uint32(buf[8:]), born: le.Uint64(buf[12:]), sum: le.Uint32(buf[52:]), offset: offset}
	copy(e.id[:], buf[20:])
	return e, le.Uint32(buf[56:]) == checksum(buf[:56]) && e.sizesFit()
}

func (e entry) sizesFit() bool {
	switch e.kind {
	case kindPlain:
		return e.raw <= MaxObject && e.stored == e.raw
	case kindZstd:
		return e.raw <= MaxObject && e.stored < e.raw
	case kindCommit:
		return e.raw <= MaxRecord && e.stored == e.raw
	}
	return false
}

// coders are costly to make and are used again. Each encoder serves one goroutine at a time.
var (
	encoders = sync.Pool{New: func() any {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false),
			zstd.WithAllLitEntropyCompression(true)) // else text without repeats stays as it is
		if err != nil {
			panic(err) // the options are constant
		}
		return &encoder{Encoder: enc}
	}}
	decoders = sync.Pool{New: func() any {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(MaxObject), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(err)
		}
		return dec
	}}
)

// encoder is a compressor with the room for what it makes.
type encoder struct {
	*zstd.Encoder
	out []byte
}

// pack returns an object's entry and its stored bytes, which are valid until the encoder's next use.
func (enc *encoder) pack(id ID, content []byte) (entry, []byte) {
	e := entry{kind: kindPlain, raw: uint32(len(content)), id: id}
	stored := content
	if len(content) >= tiny {
		enc.out = enc.EncodeAll(content, enc.out[:0])
		if len(enc.out) < len(content) {
			e.kind, stored = kindZstd, enc.out
		}
	}
	e.stored, e.sum = uint32(len(stored)), checksum(stored)
	return e, stored
}

func commitEntry(content []byte) entry {
	n := uint32(len(content))
	return entry{kind: kindCommit, raw: n, stored: n, id: IDOf(content), sum: checksum(content)}
}

// unpack returns the content of an entry from its stored bytes, having checked it by its ID.
func (e entry) unpack(stored []byte) ([]byte, error) {
	content := stored
	if e.kind == kindZstd {
		var head zstd.Header
		if err := head.Decode(stored); err != nil || head.HasFCS && head.FrameContentSize != uint64(e.raw) || !head.HasFCS && e.raw >= 256 {
			return nil, errors.New("decompress: it has another size") // before room is made for it
		}
		dec := decoders.Get().(*zstd.Decoder)
		defer decoders.Put(dec)
		var err error
		if content, err = dec.DecodeAll(stored, make([]byte, 0, e.raw)); err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
	}
	if IDOf(content) != e.id {
		return nil, errors.New("its content has another hash")
	}
	return content, nil
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }
