package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"pawl/internal/project"
	"pawl/internal/snapshot/pack"
)

// Kind is the type of a folder's entry.
type Kind byte

// Kinds of entries.
const (
	File   Kind = 'f' // ID is the content
	Blocks Kind = 'b' // a file over largeFile: ID is the list of its block IDs
	Folder Kind = 'd' // ID is the tree
	Link   Kind = 'l' // a symbolic link to Target
)

// String returns the kind for output.
func (k Kind) String() string {
	switch k {
	case File, Blocks:
		return "file"
	case Folder:
		return "folder"
	case Link:
		return "link"
	}
	return "unknown"
}

// Entry is one name in a folder. Times and owners are not stored: as with git, restored files get the current time.
type Entry struct {
	Name   string
	Kind   Kind
	Mode   uint32 // permission bits with setuid, setgid and sticky; 0 for links
	Size   int64  // bytes; for a folder, the sum of all files below
	Files  int    // for a folder: number of files and links below
	ID     pack.ID
	Target string // of a link
}

// same reports whether two entries are equal, ignoring their names.
func (e Entry) same(other Entry) bool {
	e.Name, other.Name = "", ""
	return e == other
}

// class is the kind, the same for large and small files.
// compareName compares the name of an entry with another one.
func compareName(e Entry, name string) int { return strings.Compare(e.Name, name) }

func (e Entry) class() string { return e.Kind.String() }

// count returns the number of files and links that the entry stands for.
func (e Entry) count() int {
	if e.Kind == Folder {
		return e.Files
	}
	return 1
}

// treeMagic starts each tree object, to tell it from file content.
const treeMagic = "pawl tree 1\n"

// maxPath is the longest path that system calls accept, in bytes. Paths that are longer, relative to the root, are left
// out.
const maxPath = 4095

// encodeTree encodes a folder. The entries must be sorted by name, bytewise.
func encodeTree(entries []Entry) []byte {
	out := make([]byte, 0, len(treeMagic)+len(entries)*64)
	out = append(out, treeMagic...)
	for i := range entries {
		e := &entries[i]
		out = append(out, byte(e.Kind))
		out = appendText(out, e.Name)
		if e.Kind == Link {
			out = appendText(out, e.Target)
			continue
		}
		out = binary.AppendUvarint(out, uint64(e.Mode))
		out = binary.AppendUvarint(out, uint64(e.Size))
		if e.Kind == Folder {
			out = binary.AppendUvarint(out, uint64(e.Files))
		}
		out = append(out, e.ID[:]...)
	}
	return out
}

func appendText(out []byte, text string) []byte {
	out = binary.AppendUvarint(out, uint64(len(text)))
	return append(out, text...)
}

// decodeTree decodes a folder. For any input it returns either sorted entries with plain names, which are safe to
// create below a folder, or an error.
func decodeTree(data []byte) ([]Entry, error) {
	rest, ok := strings.CutPrefix(string(data), treeMagic)
	if !ok {
		return nil, errors.New("not a tree")
	}
	r := treeReader{rest: rest}
	var entries []Entry
	for len(r.rest) > 0 && !r.bad {
		e := r.entry()
		if r.bad || !plainName(e.Name) || len(entries) > 0 && entries[len(entries)-1].Name >= e.Name {
			return nil, fmt.Errorf("damaged tree: entry %d", len(entries)+1)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// plainName reports whether name is valid for an entry. The names .git and .pawl are not.
func plainName(name string) bool {
	return name != ".git" && name != project.Folder && name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// treeReader decodes a tree. After a fault, it returns zero values.
type treeReader struct {
	rest string
	bad  bool
}

func (r *treeReader) entry() Entry {
	e := Entry{Kind: Kind(r.byte()), Name: r.text()}
	switch e.Kind {
	case Link:
		e.Target = r.text()
	case File, Blocks, Folder:
		e.Mode = uint32(r.number(0o7777))
		e.Size = int64(r.number(math.MaxInt64))
		if e.Kind == Folder {
			e.Files = int(r.number(math.MaxInt32))
		}
		copy(e.ID[:], r.bytes(len(e.ID)))
	default:
		r.bad = true
	}
	return e
}

func (r *treeReader) bytes(n int) string {
	if r.bad || len(r.rest) < n {
		r.bad = true
		return ""
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *treeReader) byte() byte {
	if b := r.bytes(1); b != "" {
		return b[0]
	}
	return 0
}

// number decodes an unsigned varint of at most limit.
func (r *treeReader) number(limit uint64) uint64 {
	var n uint64
	for shift := uint(0); ; shift += 7 {
		b := r.byte()
		if r.bad || shift > 63 || shift == 63 && b > 1 {
			r.bad = true
			return 0
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	if n > limit {
		r.bad = true
		return 0
	}
	return n
}

func (r *treeReader) text() string { return r.bytes(int(r.number(math.MaxInt32))) }
