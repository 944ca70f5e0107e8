package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pawl"
	"pawl/internal/disk"
)

// Remembered is one thing learned, with the file that it stands in.
type Remembered struct {
	pawl.Memory
	File string `json:"file"`
}

// headings are the titles in MEMORY.md, in the order in which the kinds are listed to people.
var headings = []struct {
	kind  pawl.MemoryKind
	title string
}{
	{pawl.Pattern, "Patterns"},
	{pawl.Gotcha, "Gotchas"},
	{pawl.Preference, "Preferences"},
	{pawl.DecisionMem, "Decisions"},
	{pawl.RejectedIdea, "Rejected"},
	{pawl.Fragile, "Fragile areas"},
}

// Learn adds m to MEMORY.md as one bullet under its heading, unless the same bullet stands there. Everything else in
// the file stays as it is, byte for byte. When it returns without an error, the bullet survives a power cut.
func (p *Project) Learn(m pawl.Memory) (added bool, err error) {
	if titleOf(m.Kind) == "" {
		return false, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%q is not a kind of memory: use %s", m.Kind, kindNames())}
	}
	m.Text = clean(m.Text)
	if first, _, _ := strings.Cut(m.Text, "\n"); isRule(first) {
		return false, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("nothing to learn: no words in its first line")}
	}
	err = p.editMemory(func(doc []byte) []byte {
		doc, added = insertBullet(doc, m)
		return doc
	})
	return added && err == nil, err
}

// LearnAll is Learn of many at once, of which those are passed over that nothing is to be learned from.
func (p *Project) LearnAll(all []pawl.Memory) error {
	all = slices.Clone(all)
	for i := range all {
		all[i].Text = clean(all[i].Text)
	}
	all = slices.DeleteFunc(all, func(m pawl.Memory) bool {
		first, _, _ := strings.Cut(m.Text, "\n")
		return titleOf(m.Kind) == "" || isRule(first)
	})
	if len(all) == 0 {
		return nil
	}
	return p.editMemory(func(doc []byte) []byte { return insertAll(doc, all) })
}

// editMemory changes MEMORY.md, durably.
func (p *Project) editMemory(edit func(doc []byte) []byte) error {
	err := p.Editing(func() error {
		path := followed(p.Memory())
		doc, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		edited := edit(doc)
		if bytes.Equal(edited, doc) {
			return disk.SyncFolder(filepath.Dir(path)) // whoever wrote it so may have died before that
		}
		return disk.Replace(path, edited)
	})
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	return nil
}

// followed returns what path links to, so that replacing it leaves the link.
func followed(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// Memories returns what was learned: in this project first, then what goes for all of the user's projects.
func (p *Project) Memories() ([]Remembered, error) {
	files := []string{p.Memory()}
	if folder, err := userFolder("XDG_CONFIG_HOME", ".config"); err == nil {
		files = append(files, filepath.Join(folder, "MEMORY.md"))
	}
	var all []Remembered
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read what was learned: %w", err)
		}
		for _, m := range memories(doc) {
			all = append(all, Remembered{Memory: m, File: file})
		}
	}
	return all, nil
}

// insertBullet returns doc with m at the end of its section, and whether it was not there already.
func insertBullet(doc []byte, m pawl.Memory) ([]byte, bool) {
	m.Text = clean(m.Text)
	if slices.Contains(memories(doc), m) {
		return doc, false
	}
	return insertBullets(doc, m.Kind, bullet(m.Text)), true
}

// insertAll is insertBullet of many, each of which is inserted once.
func insertAll(doc []byte, all []pawl.Memory) []byte {
	there := map[pawl.Memory]bool{}
	for _, m := range memories(doc) {
		there[m] = true
	}
	for _, h := range headings {
		var text strings.Builder
		for _, m := range all {
			if m.Kind == h.kind && !there[m] {
				there[m] = true
				text.WriteString(bullet(m.Text))
			}
		}
		if text.Len() > 0 {
			doc = insertBullets(doc, h.kind, text.String())
		}
	}
	return doc
}

// insertBullets returns doc with bullets at the end of their section.
func insertBullets(doc []byte, kind pawl.MemoryKind, bullets string) []byte {
	eol := "\n"
	if first, _, ok := strings.Cut(string(doc), "\n"); ok && strings.HasSuffix(first, "\r") {
		eol = "\r\n"
	}
	lines := outline(doc)
	at, text := len(doc), newSection(lines, kind, bullets)
	if last := endOfSection(lines, kind); last >= 0 {
		at, text = lines[last].end, inSection(lines[last:], bullets)
	}
	if at > 0 && doc[at-1] != '\n' {
		text = "\n" + text
	}
	text = strings.ReplaceAll(text, "\n", eol)
	return slices.Concat(doc[:at], []byte(text), doc[at:])
}

// newSection is what is added to a document that has no section for them.
func newSection(lines []line, kind pawl.MemoryKind, bullets string) string {
	text := "## " + titleOf(kind) + "\n\n" + bullets
	switch {
	case !slices.ContainsFunc(lines, func(l line) bool { return l.is != blank }):
		return "# Memory\n\n" + text
	case lines[len(lines)-1].is != blank:
		return "\n" + text
	}
	return text
}

// inSection is what is added behind the first of lines, the last of their section that is not blank.
func inSection(lines []line, text string) string {
	if lines[0].is != item && lines[0].is != indented {
		text = "\n" + text
	}
	if len(lines) > 1 && lines[1].is != blank {
		text += "\n"
	}
	return text
}

// endOfSection returns the last line before the next heading that is not blank in the kind's first section, or -1.
func endOfSection(lines []line, kind pawl.MemoryKind) int {
	start := slices.IndexFunc(lines, func(l line) bool { return l.is == heading && kindOf(l.text) == kind })
	if start < 0 {
		return -1
	}
	last := start
	for i := start + 1; i < len(lines) && lines[i].is != heading; i++ {
		if lines[i].is != blank {
			last = i
		}
	}
	return last
}

// memories reads the bullets under the known headings, in order.
func memories(doc []byte) []pawl.Memory {
	var found []pawl.Memory
	var kind pawl.MemoryKind // of the section, empty outside of those that we know
	level := 0               // of its heading
	reading := false         // the last of found may go on
	for _, l := range outline(doc) {
		if l.is == heading {
			reading = false
			if known := kindOf(l.text); known != "" || l.level <= level {
				kind, level = known, l.level
			}
			continue
		}
		if kind == "" {
			continue
		}
		if l.is == item {
			reading = true
			found = append(found, pawl.Memory{Kind: kind, Text: l.text})
			continue
		}
		last := len(found) - 1
		reading = reading && belongs(l, found[last].Text)
		if reading {
			found[last].Text += "\n" + l.text
		}
	}
	for i := range found {
		found[i].Text = clean(found[i].Text)
	}
	return found
}

// belongs reports whether a line goes on with the item whose text has been read so far.
func belongs(l line, text string) bool {
	switch l.is {
	case blank, indented:
		return true
	case other:
		return !isRule(l.text) && !strings.HasSuffix(text, "\n") // else it is a paragraph of its own
	}
	return false
}

// bullet writes text as a list item: further lines are indented, so that they belong to it.
func bullet(text string) string {
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = "  " + lines[i]
		}
	}
	return "- " + strings.Join(lines, "\n") + "\n"
}

// clean is the form in which texts are written and compared: "\n" between lines, no space around.
func clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRightFunc(l, unicode.IsSpace)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func titleOf(kind pawl.MemoryKind) string {
	for _, h := range headings {
		if h.kind == kind {
			return h.title
		}
	}
	return ""
}

func kindOf(title string) pawl.MemoryKind {
	for _, h := range headings {
		if strings.EqualFold(h.title, title) {
			return h.kind
		}
	}
	return ""
}

func kindNames() string {
	var names []string
	for _, h := range headings {
		names = append(names, string(h.kind))
	}
	return strings.Join(names, ", ")
}
