package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// gitIndex is the part of git's index (gitformat-index(5), versions 2 to 4) that tells which files are tracked. In a
// split index, an entry that replaces one of the shared index has an empty path. In a sparse index, the path of a
// folder ends in a slash.
type gitIndex struct {
	hash   int // length of object names: 20, or 32 for SHA-256
	paths  []string
	sparse map[string]string // folder → its tree
	link   []byte            // content of the split index extension: the shared index, removed and replaced entries
}

// readIndex parses an index. For a split index it also parses the shared one, which shared reads; running git would
// touch that file's times. It rejects damaged indexes and unknown extensions.
func readIndex(data []byte, below func(name string) ([]byte, error)) (x gitIndex, ok bool) {
	if x, ok = parseIndex(data); !ok {
		return x, false
	}
	base := x.base()
	if base == "" {
		return x, slices.IsSorted(x.paths) && !slices.Contains(x.paths, "")
	}
	data, err := below(base)
	if err != nil {
		return x, false
	}
	lower, ok := parseIndex(data)
	if !ok || lower.base() != "" || lower.hash != x.hash {
		return x, false
	}
	return x, x.stack(lower)
}

// stack adds the entries of the shared index, without those that the split index removes.
func (x *gitIndex) stack(below gitIndex) (ok bool) {
	removed, ok := bitsOf(x.link[x.hash:], len(below.paths))
	x.paths = slices.DeleteFunc(x.paths, func(path string) bool { return path == "" })
	for i, path := range below.paths {
		if i/64 >= len(removed) || removed[i/64]>>(i%64)&1 == 0 {
			x.paths = append(x.paths, path)
		}
	}
	slices.Sort(x.paths)
	maps.Copy(x.sparse, below.sparse)
	return ok
}

// base returns the name of the shared index, or "".
func (x *gitIndex) base() string {
	if len(x.link) < x.hash || len(bytes.Trim(x.link[:x.hash], "\x00")) == 0 {
		return ""
	}
	return hex.EncodeToString(x.link[:x.hash])
}

// parseIndex parses an index file. The file does not name its hash, and an index of the one hash does not parse with
// the other.
func parseIndex(data []byte) (x gitIndex, ok bool) {
	if x, ok = parseHashed(data, 20); !ok {
		x, ok = parseHashed(data, 32)
	}
	return x, ok
}

func parseHashed(data []byte, hash int) (x gitIndex, ok bool) {
	const head = 12
	if len(data) < head+hash || string(data[:4]) != "DIRC" {
		return x, false
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || uint64(count)*42 > uint64(len(data)) {
		return x, false
	}
	x = gitIndex{hash: hash, paths: make([]string, 0, count), sparse: map[string]string{}}
	rest, path := data[head:len(data)-hash], ""
	for range count {
		if path, rest, ok = x.entry(rest, path, version); !ok {
			return x, false
		}
		x.paths = append(x.paths, path)
	}
	x.link, ok = linkExtension(rest)
	return x, ok
}

// entry parses one entry: 40 bytes of times and numbers, the object name, flags, maybe extended flags, the path.
func (x *gitIndex) entry(data []byte, last string, version uint32) (path string, rest []byte, ok bool) {
	const numbers = 40
	length := numbers + x.hash + 2
	if len(data) < length+2 {
		return "", nil, false
	}
	flags := binary.BigEndian.Uint16(data[length-2:])
	if flags&0x4000 != 0 {
		length += 2
	}
	path, rest, ok = indexPath(data[length:], last, version)
	if !ok || int(flags&0xfff) != min(len(path), 0xfff) {
		return "", nil, false
	}
	if version < 4 { // padded with NULs to a multiple of eight, the terminator among them
		pad := -(len(data) - len(rest)) & 7
		if len(rest) < pad {
			return "", nil, false
		}
		rest = rest[pad:]
	}
	if strings.HasSuffix(path, "/") {
		x.sparse[path] = hex.EncodeToString(data[numbers : numbers+x.hash])
	}
	return path, rest, true
}

// indexPath parses an entry's path. Version 4 stores how many bytes to cut from the previous path, and the rest.
func indexPath(data []byte, last string, version uint32) (path string, rest []byte, ok bool) {
	keep := 0
	if version == 4 {
		drop, n := offsetVarint(data)
		if n == 0 || drop > uint64(len(last)) {
			return "", nil, false
		}
		keep, data = len(last)-int(drop), data[n:]
	}
	end := bytes.IndexByte(data, 0)
	if end < 0 {
		return "", nil, false
	}
	return last[:keep] + string(data[:end]), data[end+1:], true
}

// linkExtension finds the split index among the extensions. Upper-case extensions are optional. Lower-case ones change
// the meaning of the entries; only "link" and "sdir" (sparse folders) are known, and any other is an error.
func linkExtension(rest []byte) (link []byte, ok bool) {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return nil, false
		}
		name, size := string(rest[:4]), binary.BigEndian.Uint32(rest[4:])
		if uint64(size) > uint64(len(rest)-8) {
			return nil, false
		}
		switch {
		case name == "link":
			link = rest[8 : 8+size]
		case name != "sdir" && (name[0] < 'A' || name[0] > 'Z'):
			return nil, false
		}
		rest = rest[8+size:]
	}
	return link, true
}

// bitsOf decodes the first EWAH bitmap in data (gitformat-bitmap(5), appendix A): runs of equal words, each followed by
// a number of literal words. The bitmap may have at most the given number of bits.
func bitsOf(data []byte, most int) (words []uint64, ok bool) {
	if len(data) == 0 {
		return nil, true
	}
	if len(data) < 8 {
		return nil, false
	}
	limit, count := most/64+1, int(binary.BigEndian.Uint32(data[4:]))
	data = data[8:]
	if count > len(data)/8 {
		return nil, false
	}
	next := func() uint64 {
		word := binary.BigEndian.Uint64(data)
		data, count = data[8:], count-1
		return word
	}
	for count > 0 {
		run := next()
		equal, plain := int(run>>1&0xffffffff), int(run>>33)
		if plain > count || len(words)+equal+plain > limit {
			return nil, false
		}
		words = append(words, slices.Repeat([]uint64{-(run & 1)}, equal)...)
		for range plain {
			words = append(words, next())
		}
	}
	return words, true
}

// offsetVarint decodes a number as git's packs encode offsets: big-endian, the top bit set in all bytes but the last,
// and one added for each byte that follows.
func offsetVarint(data []byte) (n uint64, length int) {
	for i, b := range data {
		if i > 8 {
			return 0, 0
		}
		n = n<<7 | uint64(b&0x7f)
		if b < 0x80 {
			return n, i + 1
		}
		n++
	}
	return 0, 0
}
