package snapshot

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// FileDiff is the change of one file, by lines.
type FileDiff struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`             // added, removed, changed, mode or type
	SHA256 string `json:"sha256,omitempty"` // of the new content; missing for none, a link, or more than 8 MiB
	Binary bool   `json:"binary,omitempty"` // binary or very large: it has no hunks
	More   bool   `json:"more,omitempty"`   // only the first hunks are here
	Hunks  []Hunk `json:"hunks"`
}

// Hunk is a part of a file that changes, with some lines around it.
type Hunk struct {
	Header string `json:"header"` // such as "@@ -1,3 +1,4 @@"
	Lines  []Line `json:"lines"`
}

// Line is a line of a hunk.
type Line struct {
	Op   string `json:"op"` // " ", "+" or "-"
	Text string `json:"text"`
}

// Hunks returns the changes of at most so many files with at most so many lines, and whether there are more. Folders are left out.
func (c *Comparison) Hunks(maxFiles, maxLines int) (files []FileDiff, more bool, err error) {
	files = []FileDiff{}
	for _, change := range c.Changes {
		old, now := fileSide(change.Old), fileSide(change.New)
		if old == nil && now == nil {
			continue
		}
		if len(files) == maxFiles {
			return files, true, nil
		}
		f := FileDiff{Path: change.Path, Kind: change.What(), Hunks: []Hunk{}, Binary: size(old) > maxPatch || size(now) > maxPatch}
		if now != nil && now.Kind == File {
			f.SHA256 = now.ID.String()
		}
		if !f.Binary {
			if err := c.addHunks(&f, Change{Path: change.Path, Old: old, New: now}, &maxLines); err != nil {
				return nil, false, err
			}
		}
		files, more = append(files, f), more || f.More
	}
	return files, more, nil
}

func (c *Comparison) addHunks(f *FileDiff, change Change, maxLines *int) error {
	old, err := c.Old(change)
	if err != nil {
		return err
	}
	now, err := c.New(change)
	if err != nil {
		return err
	}
	if f.Binary = isBinary(old) || isBinary(now); !f.Binary {
		f.add(HunksOf(string(old), string(now)), maxLines)
	}
	return nil
}

// add adds hunks as long as lines are left.
func (f *FileDiff) add(hunks []Hunk, maxLines *int) {
	for _, h := range hunks {
		if f.More = len(h.Lines) > *maxLines; f.More {
			*maxLines = 0
			return
		}
		*maxLines -= len(h.Lines)
		f.Hunks = append(f.Hunks, h)
	}
}

// HunksOf returns the changes from one text to another.
func HunksOf(old, now string) []Hunk {
	hunks := []Hunk{}
	for line := range strings.SplitSeq(udiff.Unified("a", "b", old, now), "\n") {
		switch op := line[:min(1, len(line))]; {
		case op == "@":
			hunks = append(hunks, Hunk{Header: line, Lines: []Line{}})
		case len(hunks) > 0 && (op == " " || op == "+" || op == "-"):
			last := &hunks[len(hunks)-1]
			last.Lines = append(last.Lines, Line{Op: op, Text: line[1:]})
		}
	}
	return hunks
}
