package snapshot

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"pawl/internal/oneline"
)

const (
	sniffLen = 8000    // bytes searched for a NUL, which makes a file binary; git's value
	maxPatch = 4 << 20 // larger files are not compared line by line
)

// Patch writes the comparison as a patch for `git apply`. For very large files it only says that they differ.
func (c *Comparison) Patch(out io.Writer) error {
	for _, change := range c.Changes {
		old, now := fileSide(change.Old), fileSide(change.New)
		if old == nil && now == nil {
			continue // patches have no folders
		}
		if old != nil && now != nil && (old.Kind == Link) != (now.Kind == Link) { // like git: a removal and an addition
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
	a, z := oneline.Path("a/"+change.Path), oneline.Path("b/"+change.Path)
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

// TextPatch returns the change of one file as a patch; nil content means no file.
func TextPatch(path string, old, now []byte) string {
	a, z := oneline.Path("a/"+path), oneline.Path("b/"+path)
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

func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), sniffLen)], 0) >= 0 }

// gitMode returns git's mode for the entry; git has two modes for files.
func gitMode(e Entry) string {
	switch {
	case e.Kind == Link:
		return "120000"
	case e.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// Stat is the amount of change in one file.
type Stat struct {
	Path           string
	Added, Removed int   // lines
	Binary         bool  // binary or very large: only Bytes is set
	Bytes          int64 // growth; negative if the file shrank
}

// Stat returns the change of each file.
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

// countLines counts lines; the last one may lack its newline.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
