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

// Kind is what an entry of a folder is.
type Kind byte

// The kinds.
const (
	File   Kind = 'f' // ID is its content
	Blocks Kind = 'b' // a file over largeFile: ID is the list of its blocks' ids, one after another
	Folder Kind = 'd' // ID is its tree
	Link   Kind = 'l' // a symbolic link to Target
)

// String is the kind as people know it.
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

// Entry is one name of a folder. Times and owners are not kept: what is restored is new to whoever looks at times, as
// with git.
type Entry struct {
	Name   string
	Kind   Kind
	Mode   uint32 // permission bits with setuid, setgid and sticky; 0 for links
	Size   int64  // bytes; of all files below, for a folder
	Files  int    // a folder's: files and links below it
	ID     pack.ID
	Target string // a link's
}

// same reports whether two entries have the same content and mode, whatever their names.
func (e Entry) same(other Entry) bool {
	e.Name, other.Name = "", ""
	return e == other
}

// class is the kind, large and small files being one.
func (e Entry) class() string { return e.Kind.String() }

// count is how many files and links the entry stands for.
func (e Entry) count() int {
	if e.Kind == Folder {
		return e.Files
	}
	return 1
}

// treeMagic begins each tree object, so that no file's content is taken for one by mistake.
const treeMagic = "pawl tree 1\n"

// maxPath is the longest path below the root, in bytes, that the system's calls take; what lies deeper is left out.
const maxPath = 4095

// encodeTree gives the object of a folder. The entries must be in order of their names' bytes.
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

// decodeTree reads a folder's object. Whatever the bytes are, it gives either entries that are safe to make below a
// folder, in order and with plain names, or an error.
func decodeTree(data []byte) ([]Entry, error) {
	rest, ok := strings.CutPrefix(string(data), treeMagic)
	if !ok {
		return nil, errors.New("not a tree")
	}
	r := reader{rest: rest}
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

// plainName reports whether name can stand for an entry of a folder. Git's folder and our own never do.
func plainName(name string) bool {
	return name != ".git" && name != project.Folder && name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// reader takes an object apart. After the first fault everything it gives is zero.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) entry() Entry {
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

func (r *reader) bytes(n int) string {
	if r.bad || len(r.rest) < n {
		r.bad = true
		return ""
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != "" {
		return b[0]
	}
	return 0
}

// number reads an unsigned number of at most limit.
func (r *reader) number(limit uint64) uint64 {
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

func (r *reader) text() string { return r.bytes(int(r.number(math.MaxInt32))) }
