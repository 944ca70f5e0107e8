package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Kinds of entries, stored in their first four bytes.
const (
	kindMark   = "\xa7"           // starts every kind, so that entries can be found after damage
	kindPlain  = kindMark + "raw" // an uncompressed object
	kindZstd   = kindMark + "zst" // a compressed object
	kindCommit = kindMark + "cmt" // a commit record
)

const (
	// MaxObject is the maximum size of an object, in bytes.
	MaxObject = 64 << 20
	// MaxRecord is the maximum size of a commit record, in bytes.
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
	born   uint64 // for a moved record, its first location, which orders the records; otherwise 0
	id     ID
	sum    uint32
	offset int64 // of the header in the pack
}

func (e entry) size() int64 { return entryHeader + int64(e.stored) }

func (e entry) end() int64 { return e.offset + e.size() }

// in returns the entry's location.
func (e entry) in(pack uint32) location {
	return location{pack: pack, offset: uint32(e.offset), size: uint32(e.size())}
}

// bornIn returns a record's first location as a number. Newer packs have higher numbers, so this orders all records.
func (e entry) bornIn(pack uint32) uint64 {
	if e.born > 0 {
		return e.born
	}
	return uint64(pack)<<32 | uint64(e.offset)
}

// append appends the encoded header to buf.
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

// parseEntry parses the header at the start of buf.
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

// Coders are expensive to create, so they are pooled. Each serves one goroutine at a time.
var (
	encoders = sync.Pool{New: func() any {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false),
			zstd.WithAllLitEntropyCompression(true)) // otherwise text without repetitions is not compressed
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

// encoder is a compressor with its output buffer.
type encoder struct {
	*zstd.Encoder
	out []byte
}

// pack returns an object's entry and its stored bytes, which are valid until the next call.
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

// unpack returns an entry's content after verifying its hash.
func (e entry) unpack(stored []byte) ([]byte, error) {
	content := stored
	if e.kind == kindZstd {
		var head zstd.Header
		if err := head.Decode(stored); err != nil || head.HasFCS && head.FrameContentSize != uint64(e.raw) || !head.HasFCS && e.raw >= 256 {
			return nil, errors.New("decompress: size mismatch") // checked before allocating
		}
		dec := decoders.Get().(*zstd.Decoder)
		defer decoders.Put(dec)
		var err error
		if content, err = dec.DecodeAll(stored, make([]byte, 0, e.raw)); err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
	}
	if IDOf(content) != e.id {
		return nil, errors.New("content does not match its hash")
	}
	return content, nil
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }
