package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// A pack is a file of consecutive segments, each written by one commit:
//
//	magic 8 | key 8 | offset 8 | size 8 | crc 4 | entries
//
// The key is a random number of the pack, and the offset is that of the segment. So content that happens to hold bytes
// of another pack is never mistaken for a segment of this one. An incomplete segment was never acknowledged.
const (
	segmentMagic  = "pawlseg\x01"
	segmentHeader = 36
)

type segment struct {
	key    uint64
	offset int64
	size   int64 // including the header
}

func (s segment) append(buf []byte) []byte {
	start := len(buf)
	buf = append(buf, segmentMagic...)
	buf = binary.LittleEndian.AppendUint64(buf, s.key)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.offset))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.size))
	return binary.LittleEndian.AppendUint32(buf, checksum(buf[start:]))
}

// parseSegment parses the header at the start of buf, which must name the given offset.
func parseSegment(buf []byte, offset int64) (segment, bool) {
	if len(buf) < segmentHeader || string(buf[:8]) != segmentMagic {
		return segment{}, false
	}
	le := binary.LittleEndian
	s := segment{key: le.Uint64(buf[8:]), offset: int64(le.Uint64(buf[16:])), size: int64(le.Uint64(buf[24:]))}
	whole := le.Uint32(buf[32:]) == checksum(buf[:32])
	return s, whole && s.offset == offset && s.size >= segmentHeader && s.size <= maxPack
}

// badRange is a damaged part of a pack.
type badRange struct {
	from, to int64
	entry    entry // the damaged entry, if known
	why      string
}

// scan is the content of a pack from some offset on.
type scan struct {
	in      window
	known   int64  // acknowledged bytes, according to the index
	key     uint64 // the pack's key; 0 before the first segment
	entries []entry
	bad     []badRange
	end     int64 // end of the valid segments; anything after was never acknowledged
}

// scanPack scans a pack of the given size from an offset where a segment starts. It verifies checksums, but not hashes.
func scanPack(file io.ReaderAt, from, size, known int64) (*scan, error) {
	s := &scan{in: window{file: file, size: size}, known: known, end: from}
	for more := true; more && s.end < size; {
		var err error
		if more, err = s.segment(); err != nil {
			return nil, err
		}
	}
	for i := range s.bad {
		if s.in.unread != nil {
			s.bad[i].why += fmt.Sprintf(" (%v)", s.in.unread)
		}
	}
	return s, nil
}

// segment scans the segment at s.end. It returns false at a torn tail.
func (s *scan) segment() (more bool, err error) {
	head, err := s.in.bytes(s.end, segmentHeader)
	if err != nil {
		return false, err
	}
	found, ok := s.header(head, s.end)
	to := s.end + found.size
	if !ok || to > s.in.size {
		unwritten := ok || len(head) < segmentHeader || s.hasUnwrittenSector(s.end, s.end+segmentHeader)
		if to, err = s.next(s.end + 1); err != nil {
			return false, err
		}
		if to == s.in.size && unwritten && s.end >= s.known {
			return false, nil
		}
		s.bad = append(s.bad, badRange{from: s.end, to: min(s.end+segmentHeader, to), why: "segment header expected"})
	}
	entries, bad, err := s.entriesIn(min(s.end+segmentHeader, to), to)
	if err != nil || to == s.in.size && s.end >= s.known && s.torn(bad) {
		return false, err
	}
	if len(s.entries) > 0 {
		entries = append(s.entries, entries...)
	}
	s.entries, s.bad, s.end = entries, append(s.bad, bad...), to
	return true, nil
}

// header parses a segment header at an offset of this pack.
func (s *scan) header(buf []byte, offset int64) (segment, bool) {
	found, ok := parseSegment(buf, offset)
	if ok && s.key == 0 {
		s.key = found.key
	}
	return found, ok && found.key == s.key
}

// next returns the offset of the next segment, or the size of the pack.
func (s *scan) next(from int64) (int64, error) {
	return s.in.find(from, s.in.size, segmentMagic, func(at int64) (bool, error) {
		buf, err := s.in.bytes(at, segmentHeader)
		if err != nil {
			return false, err
		}
		_, ok := s.header(buf, at)
		return ok, nil
	})
}

// entriesIn scans the entries in a range.
func (s *scan) entriesIn(from, to int64) (entries []entry, bad []badRange, err error) {
	for at := from; at < to; {
		e, ok, err := s.entry(at, to)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			next, err := s.nextEntry(at+1, to)
			if err != nil {
				return nil, nil, err
			}
			bad = append(bad, badRange{from: at, to: next, why: "entry header expected"})
			at = next
			continue
		}
		stored, err := s.in.bytes(at+entryHeader, int(e.stored))
		if err != nil {
			return nil, nil, err
		}
		if checksum(stored) == e.sum {
			if n := len(entries); n == cap(entries) { // there may be as many per byte in the rest
				entries = slices.Grow(entries, int(min(3*int64(n), int64(n)*(to-at)/(at-from+1)))+16)
			}
			entries = append(entries, e)
		} else {
			bad = append(bad, badRange{from: at, to: e.end(), entry: e, why: "checksum mismatch"})
		}
		at = e.end()
	}
	return entries, bad, nil
}

// entry parses the header at an offset. The entry must end before to.
func (s *scan) entry(at, to int64) (entry, bool, error) {
	buf, err := s.in.bytes(at, entryHeader)
	if err != nil {
		return entry{}, false, err
	}
	e, ok := parseEntry(buf, at)
	return e, ok && e.end() <= to, nil
}

func (s *scan) nextEntry(from, to int64) (int64, error) {
	return s.in.find(from, to, kindMark, func(at int64) (bool, error) {
		_, ok, err := s.entry(at, to)
		return ok, err
	})
}

// torn reports whether the bad ranges are what a power failure leaves of an unsynced segment: sectors that never
// reached the disk, and read as NUL.
func (s *scan) torn(bad []badRange) bool {
	for _, b := range bad {
		if !s.hasUnwrittenSector(b.from, b.to) {
			return false
		}
	}
	return len(bad) > 0
}

// hasUnwrittenSector reports whether a sector that overlaps the range is all NUL, as far as it belongs to the segment
// at s.end. No segment starts or ends with a NUL.
func (s *scan) hasUnwrittenSector(from, to int64) bool {
	const sector = 512
	for at := from / sector * sector; at < to; at += sector {
		begin := max(at, s.end)
		buf, err := s.in.bytes(begin, int(at+sector-begin))
		if err == nil && len(bytes.Trim(buf, "\x00")) == 0 {
			return true
		}
	}
	return false
}
