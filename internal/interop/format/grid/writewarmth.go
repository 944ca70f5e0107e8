package grid

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// warmth updates WARMTH.md: each memory once, in all six categories. Once the mission is complete, the file is archived, and
// memories that may help in other projects are added to LEARNINGS.md.
func (w *clusterWriter) warmth() {
	if w.Status != pawl.StatusCompleted || w.unknownPlans {
		w.addMemories("WARMTH.md", w.Memories)
		return
	}
	archived := w.archived("WARMTH.md")
	if f := w.file("WARMTH.md"); f != nil && w.file(archived) == nil {
		w.put(archived, slices.Clone(f.Data))
		w.remove("WARMTH.md")
	}
	w.addMemories(archived, w.Memories)
	w.addMemories("LEARNINGS.md", slices.DeleteFunc(slices.Clone(w.Memories), func(m pawl.Memory) bool {
		return m.Kind == pawl.DecisionMem || m.Kind == pawl.Fragile // only useful in this project
	}))
	w.archiveScratchpad()
}

// memoriesIn returns the memories in a file.
func (w *clusterWriter) memoriesIn(f *format.File) map[pawl.Memory]bool {
	name := path.Base(f.Path)
	r := &clusterReader{files: format.Files{{Path: name, Data: f.Data}}, now: w.Now,
		learned: map[pawl.Memory]bool{}}
	r.out.Facts = map[string]string{}
	r.readWarmth(name)
	known := map[pawl.Memory]bool{}
	for m := range r.learned {
		known[pawl.Memory{Kind: m.Kind, Text: oneLine(m.Text)}] = true
	}
	return known
}

// newMemories returns the memories that are missing in WARMTH.md.
func (w *clusterWriter) newMemories() []pawl.Memory {
	known := map[pawl.Memory]bool{}
	for _, name := range []string{"WARMTH.md", w.archived("WARMTH.md")} {
		if f := w.file(name); f != nil {
			known = w.memoriesIn(f)
		}
	}
	return missing(w.Memories, known)
}

func missing(memories []pawl.Memory, known map[pawl.Memory]bool) []pawl.Memory {
	var learned []pawl.Memory
	for _, m := range memories {
		m.Text = oneLine(m.Text)
		if !known[m] && m.Validate() == nil {
			known[m] = true
			learned = append(learned, m)
		}
	}
	return learned
}

// addMemories adds missing memories to a file, in its shape.
func (w *clusterWriter) addMemories(name string, memories []pawl.Memory) {
	f := w.file(name)
	if f == nil {
		if learned := missing(memories, map[pawl.Memory]bool{}); len(learned) > 0 {
			w.put(name, w.newWarmth(name, learned))
		}
		return
	}
	learned := missing(memories, w.memoriesIn(f))
	if len(learned) == 0 && !(name != "LEARNINGS.md" && w.unnamedSource(f.Data)) {
		return
	}
	if hasHeadings(f.Data) || name == "LEARNINGS.md" {
		w.put(name, w.addBullets(f.Data, learned, name))
		return
	}
	w.appendToLists(name, f, learned)
}

// newWarmth returns a new file. WARMTH.md has all six headings, LEARNINGS.md only those with memories.
func (w *clusterWriter) newWarmth(name string, learned []pawl.Memory) []byte {
	var b strings.Builder
	if name == "LEARNINGS.md" {
		b.WriteString("# Learnings\n")
	}
	for _, l := range categories {
		bullets := bulletsOf(learned, l.kind, true)
		if name != "LEARNINGS.md" || bullets != "" {
			b.WriteString("\n## " + l.title + "\n" + bullets)
		}
	}
	if name == "LEARNINGS.md" {
		return []byte(b.String())
	}
	want := yamledit.MapOf(pair("cluster", yamledit.Word(w.cluster)), pair("accumulated_from", yamledit.ListOf(w.sources()...)),
		pair("last_updated", yamledit.Text(stamp(w.State.Updated))))
	return newFrontMatter(want, b.String())
}

func bulletsOf(memories []pawl.Memory, kind pawl.MemoryKind, quotes bool) string {
	var b strings.Builder
	for _, m := range memories {
		switch {
		case m.Kind != kind:
		case quotes:
			b.WriteString("- \"" + m.Text + "\"\n")
		default:
			b.WriteString("- " + m.Text + "\n")
		}
	}
	return b.String()
}

// sources returns the complete blocks, which the document names as the sources of memories.
func (w *clusterWriter) sources() []*yamledit.Value {
	var names []*yamledit.Value
	for _, k := range w.works {
		if k.done() {
			names = append(names, yamledit.Word(k.source()))
		}
	}
	return names
}

func (k *blockStep) source() string { return "executor-" + k.block + " (block " + k.block + ")" }

// unnamedSource reports whether a complete block that reported memories is missing among the sources that a document names.
// Its memories may have been added while it ran.
func (w *clusterWriter) unnamedSource(data []byte) bool {
	part, _, _, fenced := markdown.Front(data)
	if !fenced || w.LearnedIn == nil {
		return false
	}
	y, err := yamledit.Read(data, part)
	if err != nil {
		return false
	}
	named := namedSources(y.Root)
	return slices.ContainsFunc(w.works, func(k *blockStep) bool {
		return k.done() && !isNamed(named, k.source()) && len(w.LearnedIn(k.ID)) > 0
	})
}

// namedSources returns the sources that a document names, one a line.
func namedSources(head *yamledit.Value) string {
	if named := head.Get("accumulated_from"); named != nil && named.Kind == yamledit.List {
		return strings.Join(named.Texts(), "\n")
	}
	return ""
}

// isNamed reports whether a document names the executor or the block of a source.
func isNamed(named, source string) bool {
	executor, block, _ := strings.Cut(strings.TrimSuffix(source, ")"), " (")
	return strings.Contains(named, block) || strings.Contains(named, executor)
}

// addBullets adds bullets to the end of their sections, and missing sections.
func (w *clusterWriter) addBullets(data []byte, learned []pawl.Memory, name string) []byte {
	_, body, _, fenced := markdown.Front(data)
	if !fenced {
		body = textedit.Whole(data)
	}
	sections := markdown.Sections(bodyLines(data, body))
	eol := textedit.EOL(data)
	quotes := bytes.Contains(data, []byte("- \"")) || !bytes.Contains(data, []byte("\n- "))
	var edits []textedit.Edit
	tail := ""
	for _, l := range categories {
		text := bulletsOf(learned, l.kind, quotes)
		if text == "" {
			continue
		}
		at := slices.IndexFunc(sections, func(s markdown.Section) bool { c := categoryOf(s.Title); return c != nil && c.kind == l.kind })
		if at < 0 {
			tail += "\n## " + l.title + "\n" + text
			continue
		}
		end := sections[at].End()
		if data[end-1] != '\n' {
			text = "\n" + strings.TrimSuffix(text, "\n")
		}
		edits = append(edits, textedit.Edit{From: end, To: end, Text: strings.ReplaceAll(text, "\n", eol)})
	}
	if tail != "" {
		edits = append(edits, textedit.Edit{From: len(data), To: len(data), Text: strings.ReplaceAll(onNewLine(data, tail), "\n", eol)})
	}
	if fenced && name != "LEARNINGS.md" {
		return w.warmthFrom(textedit.Apply(data, edits))
	}
	return textedit.Apply(data, edits)
}

// onNewLine returns a text that begins on its own line if it is appended to data.
func onNewLine(data []byte, text string) string {
	if len(data) > 0 && data[len(data)-1] != '\n' {
		return "\n" + text
	}
	return text
}

// warmthFrom updates the sources and the time in the front matter.
func (w *clusterWriter) warmthFrom(data []byte) []byte {
	part, _, _, _ := markdown.Front(data)
	y, err := yamledit.Read(data, part)
	if err != nil {
		return data
	}
	if out, err := y.Merge(w.warmthHead(y.Root)); err == nil {
		return out
	}
	return data
}

// warmthHead returns the metadata of a WARMTH.md after an addition.
func (w *clusterWriter) warmthHead(there *yamledit.Value) *yamledit.Value {
	from := yamledit.ListOf()
	if old := there.Get("accumulated_from"); old != nil && old.Kind == yamledit.List {
		from.Items = slices.Clone(old.Items)
	}
	named := namedSources(there)
	for _, name := range w.sources() {
		if !isNamed(named, name.Text) {
			from.Items = append(from.Items, name)
		}
	}
	head := yamledit.MapOf()
	if len(from.Items) > 0 {
		head.Pairs = append(head.Pairs, pair("accumulated_from", from))
	}
	if there.Get("last_updated") != nil {
		head.Pairs = append(head.Pairs, pair("last_updated", yamledit.Text(stamp(w.State.Updated))))
	}
	return head
}

// appendToLists adds memories to the lists of a YAML file.
func (w *clusterWriter) appendToLists(name string, f *format.File, learned []pawl.Memory) {
	anew := func() []byte { return w.newWarmth(name, append(inOrder(w.memoriesIn(f)), learned...)) }
	part, _, _, fenced := markdown.Front(f.Data)
	if !fenced {
		part = textedit.Whole(f.Data)
	}
	y, err := yamledit.Read(f.Data, part)
	if err != nil {
		w.archive(f, "WARMTH", time.Time{})
		w.put(name, anew())
		return
	}
	want := w.warmthHead(y.Root)
	for _, l := range categories {
		list := yamledit.ListOf()
		if old := y.Root.Get(l.key); old != nil && old.Kind == yamledit.List {
			list.Items = slices.Clone(old.Items)
		} else if text := old.Says(); text != "" {
			list.Items = append(list.Items, yamledit.Text(text))
		}
		for _, m := range learned {
			if m.Kind == l.kind {
				list.Items = append(list.Items, yamledit.Text(m.Text))
			}
		}
		if old := y.Root.Get(l.key); len(list.Items) > 0 || old == nil || old.Null {
			want.Pairs = append(want.Pairs, pair(l.key, list))
		}
	}
	w.merge(name, always(want), anew)
}

// inOrder returns memories in a stable order.
func inOrder(set map[pawl.Memory]bool) []pawl.Memory {
	return slices.SortedFunc(maps.Keys(set), func(a, b pawl.Memory) int { return strings.Compare(a.Text, b.Text) })
}

// warmthFields returns all memories by category.
func (w *clusterWriter) warmthFields() *yamledit.Value { return categoryFields(w.Memories) }

func categoryFields(memories []pawl.Memory) *yamledit.Value {
	v := yamledit.MapOf()
	for _, l := range categories {
		list := yamledit.ListOf()
		for _, m := range memories {
			if m.Kind == l.kind && oneLine(m.Text) != "" {
				list.Items = append(list.Items, yamledit.Text(oneLine(m.Text)))
			}
		}
		if len(list.Items) > 0 {
			v.Pairs = append(v.Pairs, pair(l.key, list))
		}
	}
	return v
}
