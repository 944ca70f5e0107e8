package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// A pack is a file of segments, one behind the other, each written by one commit:
//
//	magic 8 | key 8 | offset 8 | size 8 | crc 4 | entries
//
// The key is the pack's own random number, and the offset that of the segment: so the bytes of another pack that stand
// in an object's content are never taken for a segment of this one. A segment without its end was never acknowledged.
const (
	segmentMagic  = "pawlseg\x01"
	segmentHeader = 36
)

type segment struct {
	key    uint64
	offset int64
	size   int64 // with its header
}

func (s segment) append(buf []byte) []byte {
	start := len(buf)
	buf = append(buf, segmentMagic...)
	buf = binary.LittleEndian.AppendUint64(buf, s.key)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.offset))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(s.size))
	return binary.LittleEndian.AppendUint32(buf, checksum(buf[start:]))
}

// parseSegment reads the header at the beginning of buf, which stands at offset.
func parseSegment(buf []byte, offset int64) (segment, bool) {
	if len(buf) < segmentHeader || string(buf[:8]) != segmentMagic {
		return segment{}, false
	}
	le := binary.LittleEndian
	s := segment{key: le.Uint64(buf[8:]), offset: int64(le.Uint64(buf[16:])), size: int64(le.Uint64(buf[24:]))}
	whole := le.Uint32(buf[32:]) == checksum(buf[:32])
	return s, whole && s.offset == offset && s.size >= segmentHeader && s.size <= maxPack
}

// stretch is a part of a pack that is not what was written there.
type stretch struct {
	from, to int64
	entry    entry // what it was, where that is known
	why      string
}

// scan is what a pack holds from some offset on.
type scan struct {
	in      window
	known   int64  // what is before this offset was acknowledged, as the index says
	key     uint64 // the pack's; 0 while no segment has told it
	entries []entry
	bad     []stretch
	end     int64 // of what can be understood. What follows was never acknowledged.
}

// scanPack reads a pack of this size from an offset, where a segment begins. It checks each entry's sums, not its hash.
func scanPack(file io.ReaderAt, from, size, known int64) (*scan, error) {
	s := &scan{in: window{file: file, size: size}, known: known, end: from}
	for goOn := true; goOn && s.end < size; {
		var err error
		if goOn, err = s.segment(); err != nil {
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

// segment reads what stands at s.end. It is false at a torn tail.
func (s *scan) segment() (goOn bool, err error) {
	head, err := s.in.bytes(s.end, segmentHeader)
	if err != nil {
		return false, err
	}
	found, ok := s.header(head, s.end)
	to := s.end + found.size
	if !ok || to > s.in.size {
		unwritten := ok || len(head) < segmentHeader || s.missing(s.end, s.end+segmentHeader)
		if to, err = s.next(s.end + 1); err != nil {
			return false, err
		}
		if to == s.in.size && unwritten && s.end >= s.known {
			return false, nil
		}
		s.bad = append(s.bad, stretch{from: s.end, to: min(s.end+segmentHeader, to), why: "here should be the header of a segment"})
	}
	entries, bad, err := s.walk(min(s.end+segmentHeader, to), to)
	if err != nil || to == s.in.size && s.end >= s.known && s.torn(bad) {
		return false, err
	}
	s.entries, s.bad, s.end = append(s.entries, entries...), append(s.bad, bad...), to
	return true, nil
}

// header reads a segment's header that stands at an offset of this pack.
func (s *scan) header(buf []byte, offset int64) (segment, bool) {
	found, ok := parseSegment(buf, offset)
	if ok && s.key == 0 {
		s.key = found.key
	}
	return found, ok && found.key == s.key
}

// next returns where the next segment begins, or the pack's size.
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

// walk reads the entries from one offset to another.
func (s *scan) walk(from, to int64) (entries []entry, bad []stretch, err error) {
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
			bad = append(bad, stretch{from: at, to: next, why: "here should be the header of an object"})
			at = next
			continue
		}
		stored, err := s.in.bytes(at+entryHeader, int(e.stored))
		if err != nil {
			return nil, nil, err
		}
		if checksum(stored) == e.sum {
			entries = append(entries, e)
		} else {
			bad = append(bad, stretch{from: at, to: e.end(), entry: e, why: "its bytes have another checksum"})
		}
		at = e.end()
	}
	return entries, bad, nil
}

// entry reads the header at an offset. The entry ends before to.
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

// torn reports whether bad stretches are what a power cut leaves of a segment that was never synced: sectors that never
// reached the disk and read as NUL.
func (s *scan) torn(bad []stretch) bool {
	for _, b := range bad {
		if !s.missing(b.from, b.to) {
			return false
		}
	}
	return len(bad) > 0
}

// missing reports whether a sector that has bytes from one offset to another is all NUL, as far as it belongs to the
// segment at s.end: no segment begins or ends with a NUL.
func (s *scan) missing(from, to int64) bool {
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
