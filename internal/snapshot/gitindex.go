package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// indexHash is the length of the names that an index has for objects.
const indexHash = 20

// indexPaths reads the paths of git's index (gitformat-index(5), versions 2 to 4 with SHA-1), in order of their bytes.
// That of a split index builds upon another, which shared reads: git itself would touch that one. It refuses what it does
// not know: a sparse index, SHA-256, damage.
func indexPaths(data []byte, shared func(name string) ([]byte, error)) (paths []string, ok bool) {
	index, ok := parseIndex(data)
	if !ok {
		return nil, false
	}
	base := index.base()
	if base == "" {
		return index.paths, slices.IsSorted(index.paths) && !slices.Contains(index.paths, "")
	}
	if data, err := shared(base); err == nil {
		return index.over(data)
	}
	return nil, false
}

// gitIndex is an index file. A path is empty where an entry replaces one of the index below, whose path stays.
type gitIndex struct {
	paths []string
	link  []byte // what the extension of a split index holds: the name of the index below, removed and replaced entries
}

// base names the index that this one builds upon; empty for none.
func (x gitIndex) base() string {
	if len(x.link) < indexHash || len(bytes.Trim(x.link[:indexHash], "\x00")) == 0 {
		return ""
	}
	return hex.EncodeToString(x.link[:indexHash])
}

// over gives the paths of the index together with those of the one below.
func (x gitIndex) over(data []byte) ([]string, bool) {
	below, ok := parseIndex(data)
	if !ok || below.base() != "" {
		return nil, false
	}
	removed, ok := bitsOf(x.link[indexHash:], len(below.paths))
	if !ok {
		return nil, false
	}
	paths := slices.DeleteFunc(x.paths, func(path string) bool { return path == "" })
	for i, path := range below.paths {
		if i/64 >= len(removed) || removed[i/64]>>(i%64)&1 == 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, true
}

func parseIndex(data []byte) (x gitIndex, ok bool) {
	const head, fixed = 12, 62
	if len(data) < head+indexHash || string(data[:4]) != "DIRC" {
		return x, false
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || uint64(count)*fixed > uint64(len(data)) {
		return x, false
	}
	x.paths = make([]string, 0, count)
	rest, path := data[head:len(data)-indexHash], ""
	for range count {
		if len(rest) < fixed+2 {
			return x, false
		}
		length := fixed
		if rest[fixed-2]&0x40 != 0 { // extended
			length += 2
		}
		before := len(rest)
		path, rest, ok = indexPath(rest[length:], path, version)
		if version < 4 && ok { // padded with zeros to a multiple of eight, the one that ends the path among them
			pad := -(before - len(rest)) & 7
			ok = len(rest) >= pad
			rest = rest[min(pad, len(rest)):]
		}
		if !ok || strings.HasSuffix(path, "/") { // a sparse folder
			return x, false
		}
		x.paths = append(x.paths, path)
	}
	x.link, ok = linkExtension(rest)
	return x, ok
}

// indexPath reads an entry's path. In version 4 it says how much of the path before goes, and what comes instead.
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

// linkExtension looks through what follows the entries. Upper-case extensions may be passed over, but the lower-case
// ones change what the entries mean: "link" is understood here, "sdir" is not.
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
		case name[0] < 'A' || name[0] > 'Z':
			return nil, false
		}
		rest = rest[8+size:]
	}
	return link, true
}

// bitsOf reads the first bitmap of data, of at most so many bits, compressed as EWAH (gitformat-bitmap(5), appendix A): runs of equal words, each
// with a number of words that stand behind it as they are.
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

// offsetVarint reads a number as git's packs write offsets: big end first, each byte but the last with the top bit set
// and one added.
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
