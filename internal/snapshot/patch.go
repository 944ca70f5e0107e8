package snapshot

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	sniffed  = 8000    // bytes in which a NUL makes a file binary, as git has it
	maxPatch = 4 << 20 // bytes of a file up to which its lines are compared
)

// Patch writes the comparison as a patch that `git apply` takes, but for very large files: of those it only says that they
// differ.
func (c *Comparison) Patch(out io.Writer) error {
	for _, change := range c.Changes {
		old, now := fileSide(change.Old), fileSide(change.New)
		if old == nil && now == nil {
			continue // a folder: patches know none
		}
		if old != nil && now != nil && (old.Kind == Link) != (now.Kind == Link) { // as git: one goes, another comes
			for _, half := range []Change{{Path: change.Path, Old: old}, {Path: change.Path, New: now}} {
				if err := c.patchOne(out, half); err != nil {
					return err
				}
			}
			continue
		}
		if err := c.patchOne(out, Change{Path: change.Path, Old: old, New: now}); err != nil {
			return err
		}
	}
	return nil
}

func fileSide(e *Entry) *Entry {
	if e == nil || e.Kind == Folder {
		return nil
	}
	return e
}

func (c *Comparison) patchOne(out io.Writer, change Change) error {
	var b bytes.Buffer
	a, z := quoted("a/"+change.Path), quoted("b/"+change.Path)
	fmt.Fprintf(&b, "diff --git %s %s\n", a, z)
	switch old, now := change.Old, change.New; {
	case old == nil:
		fmt.Fprintf(&b, "new file mode %s\n", gitMode(*now))
		a = "/dev/null"
	case now == nil:
		fmt.Fprintf(&b, "deleted file mode %s\n", gitMode(*old))
		z = "/dev/null"
	case gitMode(*old) != gitMode(*now):
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", gitMode(*old), gitMode(*now))
	}
	if size(change.Old) > maxPatch || size(change.New) > maxPatch {
		fmt.Fprintf(&b, "Files %s and %s differ\n", a, z)
	} else if err := c.lines(&b, change, a, z); err != nil {
		return err
	}
	_, err := out.Write(b.Bytes())
	return err
}

func (c *Comparison) lines(b *bytes.Buffer, change Change, a, z string) error {
	old, err := c.Old(change)
	if err != nil {
		return err
	}
	now, err := c.New(change)
	if err != nil {
		return err
	}
	switch {
	case bytes.Equal(old, now):
	case isBinary(old) || isBinary(now):
		return binaryPatch(b, change, old, now)
	default:
		b.WriteString(udiff.Unified(a, z, string(old), string(now)))
	}
	return nil
}

// TextPatch returns how the content of one file changes, as a patch; nil content is no file.
func TextPatch(path string, old, now []byte) string {
	a, z := quoted("a/"+path), quoted("b/"+path)
	if old == nil {
		a = "/dev/null"
	}
	if now == nil {
		z = "/dev/null"
	}
	return udiff.Unified(a, z, string(old), string(now))
}

func size(e *Entry) int64 {
	if e == nil {
		return 0
	}
	return e.Size
}

func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0 }

// gitMode is the mode that git would give the entry; it knows two of files.
func gitMode(e Entry) string {
	switch {
	case e.Kind == Link:
		return "120000"
	case e.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// quoted writes a name as git does where it holds what a line of a patch cannot.
func quoted(name string) string {
	plain := !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f || r == '\uFFFD' })
	if plain {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Stat is how much of a path changed.
type Stat struct {
	Path           string
	Added, Removed int   // lines
	Binary         bool  // or very large: then only Bytes counts
	Bytes          int64 // how much longer it is now
}

// Stat counts what changed, path by path, folders left out.
func (c *Comparison) Stat() ([]Stat, error) {
	var stats []Stat
	for _, change := range c.Changes {
		old, now := fileSide(change.Old), fileSide(change.New)
		if old == nil && now == nil {
			continue
		}
		s := Stat{Path: change.Path, Bytes: size(now) - size(old), Binary: size(old) > maxPatch || size(now) > maxPatch}
		if !s.Binary {
			if err := c.count(&s, Change{Path: change.Path, Old: old, New: now}); err != nil {
				return nil, err
			}
		}
		stats = append(stats, s)
	}
	return stats, nil
}

func (c *Comparison) count(s *Stat, change Change) error {
	old, err := c.Old(change)
	if err != nil {
		return err
	}
	now, err := c.New(change)
	if err != nil {
		return err
	}
	if s.Binary = isBinary(old) || isBinary(now); s.Binary {
		return nil
	}
	for _, edit := range udiff.Lines(string(old), string(now)) {
		s.Added += countLines(edit.New)
		s.Removed += countLines(string(old[edit.Start:edit.End]))
	}
	return nil
}

// countLines counts lines, the last of which need not be ended.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
