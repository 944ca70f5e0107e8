package project

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/redact"
	"pawl/internal/userdir"
)

// Remembered is one memory, with the file that contains it.
type Remembered struct {
	pawl.Memory
	File       string `json:"file"`
	Unverified bool   `json:"unverified,omitempty"` // no command of this user wrote it: the file was edited or pulled
	Source     string `json:"source,omitempty"`     // where an unverified one comes from; see FindSources
}

// headings are the section titles in MEMORY.md, in the order of output.
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

// Learn adds m to MEMORY.md, redacted, as a bullet under its heading, unless the bullet exists. It preserves everything else in
// the file byte for byte. When it returns nil, the bullet survives a power failure.
func (p *Project) Learn(m pawl.Memory) (added bool, err error) {
	if titleOf(m.Kind) == "" {
		return false, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("unknown kind of memory %q: use %s", m.Kind, kindNames())}
	}
	m.Text = normalize(redact.OfProcess().Text(m.Text))
	if first, _, _ := strings.Cut(m.Text, "\n"); isRule(first) {
		return false, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("nothing to learn: the first line has no words")}
	}
	if err := p.recordMemory(m); err != nil {
		return false, err
	}
	err = p.editMemory(func(doc []byte) []byte {
		doc, added = insertBullet(doc, m)
		return doc
	})
	return added && err == nil, err
}

// recordMemory records in the user's state folder that this user's pawl writes a memory.
func (p *Project) recordMemory(m pawl.Memory) error {
	recorded, err := p.recordedMemories()
	if err != nil || recorded[sumOf(m)] {
		return err
	}
	if err := p.Trusted(); err != nil {
		return err
	}
	if err := disk.AppendLine(p.memoryRecord(), []byte(sumOf(m))); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	return nil
}

// RecordMemories makes all memories of the project count as written by this user's pawl.
func (p *Project) RecordMemories() error {
	all, err := p.OwnMemories()
	for _, m := range all {
		err = errors.Join(err, p.recordMemory(m.Memory))
	}
	return err
}

// recordedMemories returns the sums of the memories that this user's pawl wrote.
func (p *Project) recordedMemories() (map[string]bool, error) {
	data, err := disk.ReadFile(p.memoryRecord(), disk.MemoryLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	recorded := map[string]bool{}
	for _, sum := range strings.Fields(string(data)) {
		recorded[sum] = true
	}
	return recorded, nil
}

func (p *Project) memoryRecord() string { return filepath.Join(p.Trust.Folder, "memories") }

// sumOf returns the SHA-256 of a memory in hex.
func sumOf(m pawl.Memory) string {
	sum := sha256.Sum256([]byte(string(m.Kind) + " " + m.Text))
	return hex.EncodeToString(sum[:])
}

// LearnAll adds several memories of others at once, which stay unverified. It skips those that Learn would reject.
func (p *Project) LearnAll(all []pawl.Memory) error {
	all = slices.Clone(all)
	for i := range all {
		all[i].Text = normalize(redact.OfProcess().Text(all[i].Text))
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

// editMemory durably changes MEMORY.md.
func (p *Project) editMemory(edit func(doc []byte) []byte) error {
	err := p.WithEditLock(func() error {
		path := p.Memory()
		doc, err := disk.ReadFile(path, disk.MemoryLimit)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		edited := edit(doc)
		if bytes.Equal(edited, doc) {
			return disk.SyncFolder(filepath.Dir(path)) // its writer may have crashed before the sync
		}
		return disk.Replace(path, edited)
	})
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	return nil
}

// Memories returns the memories of this project, then those that apply to all of the user's projects.
func (p *Project) Memories() ([]Remembered, error) {
	all, err := p.OwnMemories()
	if err != nil {
		return nil, err
	}
	folder, err := userdir.Config()
	if err != nil || userdir.Within(folder, p.Root) {
		return all, nil // without a folder of the user's there are none
	}
	shared, err := memoriesIn(filepath.Join(folder, "MEMORY.md"))
	return append(all, shared...), err
}

// OwnMemories returns the memories of this project alone.
func (p *Project) OwnMemories() ([]Remembered, error) {
	all, err := memoriesIn(p.Memory())
	if err != nil || len(all) == 0 {
		return nil, err
	}
	recorded := map[string]bool{}
	if p.Trust.Trusted() {
		if recorded, err = p.recordedMemories(); err != nil {
			return nil, err
		}
	}
	for i := range all {
		all[i].Unverified = !recorded[sumOf(all[i].Memory)]
	}
	return all, nil
}

func memoriesIn(file string) ([]Remembered, error) {
	doc, err := disk.ReadFile(file, disk.MemoryLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	var all []Remembered
	for _, m := range memories(doc) {
		all = append(all, Remembered{Memory: m, File: file})
	}
	return all, nil
}

// insertBullet returns doc with m at the end of its section. It returns false if doc contains m already.
func insertBullet(doc []byte, m pawl.Memory) ([]byte, bool) {
	m.Text = normalize(m.Text)
	if slices.Contains(memories(doc), m) {
		return doc, false
	}
	return insertBullets(doc, m.Kind, bullet(m.Text)), true
}

// insertAll is insertBullet for several memories, without duplicates.
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

// newSection returns the text to add to a document without a section for the bullets.
func newSection(lines []line, kind pawl.MemoryKind, bullets string) string {
	text := "## " + titleOf(kind) + "\n\n" + bullets
	switch {
	case !slices.ContainsFunc(lines, func(l line) bool { return l.kind != blank }):
		return "# Memory\n\n" + text
	case lines[len(lines)-1].kind != blank:
		return "\n" + text
	}
	return text
}

// inSection returns the text to insert after lines[0], the last line of the section that is not blank.
func inSection(lines []line, text string) string {
	if lines[0].kind != item && lines[0].kind != indented {
		text = "\n" + text
	}
	if len(lines) > 1 && lines[1].kind != blank {
		text += "\n"
	}
	return text
}

// endOfSection returns the last line of the kind's first section that is not blank, or -1.
func endOfSection(lines []line, kind pawl.MemoryKind) int {
	start := slices.IndexFunc(lines, func(l line) bool { return l.kind == heading && kindOf(l.text) == kind })
	if start < 0 {
		return -1
	}
	last := start
	for i := start + 1; i < len(lines) && lines[i].kind != heading; i++ {
		if lines[i].kind != blank {
			last = i
		}
	}
	return last
}

// located is a memory with its first and last line in a document.
type located struct {
	pawl.Memory
	first, last int
}

// memories returns the bullets under the known headings, in order.
func memories(doc []byte) []pawl.Memory {
	var found []pawl.Memory
	for _, m := range locatedMemories(doc) {
		found = append(found, m.Memory)
	}
	return found
}

// locatedMemories is memories with the lines of each.
func locatedMemories(doc []byte) []located {
	var found []located
	var kind pawl.MemoryKind // of the current section; empty in unknown ones
	level := 0               // of its heading
	reading := false         // the last item of found may continue
	for i, l := range outline(doc) {
		if l.kind == heading {
			reading = false
			if known := kindOf(l.text); known != "" || l.level <= level {
				kind, level = known, l.level
			}
			continue
		}
		if kind == "" {
			continue
		}
		if l.kind == item {
			reading = true
			found = append(found, located{pawl.Memory{Kind: kind, Text: l.text}, i, i})
			continue
		}
		last := len(found) - 1
		if reading = reading && continues(l, found[last].Text); reading {
			found[last].Text += "\n" + l.text
		}
		if reading && l.kind != blank {
			found[last].last = i
		}
	}
	for i := range found {
		found[i].Text = normalize(found[i].Text)
	}
	return found
}

// continues reports whether a line belongs to the item with this text.
func continues(l line, text string) bool {
	switch l.kind {
	case blank, indented:
		return true
	case other:
		return !isRule(l.text) && !strings.HasSuffix(text, "\n") // otherwise it is a separate paragraph
	}
	return false
}

// bullet formats text as a list item, with further lines indented.
func bullet(text string) string {
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = "  " + lines[i]
		}
	}
	return "- " + strings.Join(lines, "\n") + "\n"
}

// normalize returns the form in which texts are written and compared: lines end in "\n", without surrounding space.
func normalize(text string) string {
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
