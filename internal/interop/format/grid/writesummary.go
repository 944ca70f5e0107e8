package grid

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// summaries updates the summaries of complete blocks.
func (w *clusterWriter) summaries() {
	lessons, last, there := w.newMemories(), w.lastCompleted(), w.layout()
	for _, k := range w.works {
		f, at := there.records[k.block], w.grid+w.recordPath(there, k)
		torn := f != nil && (whyNoSummary(f.Data) != "" || writtenBefore(f, k))
		switch {
		case !k.done(), (f == nil || torn) && w.importedComplete(k) && !k.recorded():
			continue
		case f != nil && !torn:
			w.keepSummary(k, f)
			continue
		case torn:
			w.archive(f, k.block+"-SUMMARY", time.Time{})
			at = f.Path
		}
		w.files.Put(at, w.newSummary(k, w.lessonsOf(k, lessons, k == last)))
	}
}

// lessonsOf returns the notes that a block learned. Of a note that no step is known to have learned, the block that was completed
// last is the source.
func (w *clusterWriter) lessonsOf(k *blockStep, fresh []pawl.Memory, last bool) []pawl.Memory {
	var learned []pawl.Memory
	if w.LearnedIn != nil {
		learned = missing(w.LearnedIn(k.ID), map[pawl.Memory]bool{})
	}
	for _, m := range fresh {
		if last && (w.Learned == nil || !w.Learned(m)) {
			learned = append(learned, m)
		}
	}
	return learned
}

// writtenBefore reports whether a summary is older than the start of its block: then the import has found it to be false.
func writtenBefore(f *format.File, k *blockStep) bool {
	return k.done() && !f.Changed.IsZero() && f.Changed.Before(k.state.Started.Truncate(time.Second))
}

// recorded reports whether more is known of a block than that it is complete.
func (k *blockStep) recorded() bool { return len(k.state.Outputs) > 0 || k.state.Summary != "" }

// layout is where the files of blocks are.
type layout struct {
	records map[string]*format.File // block → its summary
	plans   map[string]*format.File // block → its plan
	folders map[string]string       // block → the folder of its phase
	flat    bool                    // summaries are in the cluster's folder
}

func (w *clusterWriter) layout() layout {
	l := layout{records: map[string]*format.File{}, plans: map[string]*format.File{}, folders: map[string]string{}}
	r := &clusterReader{clusterDir: w.clusterDir}
	for _, f := range w.files.Files() {
		a := w.classify(f.Path)
		if a.phase != "" && a.block != "" {
			l.folders[a.block] = a.phase
		}
		if a.kind == planFile && (l.plans[a.block] == nil || a.phase == "") { // prefer it to its copy
			l.plans[a.block] = &f
		}
		if a.kind != summaryFile {
			continue
		}
		l.flat = l.flat || r.summaryRank(f.Path) == 1
		if old := l.records[a.block]; old == nil || r.summaryRank(f.Path) < r.summaryRank(old.Path) {
			l.records[a.block] = &f
		}
	}
	return l
}

// recordPath returns the path of a new summary: in the folder of the block's phase, or next to the others in a flat layout.
func (w *clusterWriter) recordPath(l layout, k *blockStep) string {
	folder := cmp.Or(l.folders[k.block], w.phaseFolder(l, k))
	if folder == "" {
		return k.block + "-SUMMARY.md"
	}
	return "phases/" + folder + "/" + k.block + "-SUMMARY.md"
}

// phaseFolder returns the folder of a block that has none yet: that of the other blocks of its phase, its own if each of
// them has one, else one named after the phase. It is empty in a layout without such folders.
func (w *clusterWriter) phaseFolder(l layout, k *blockStep) string {
	beside := map[string]bool{}
	for _, other := range w.works {
		if folder := l.folders[other.block]; folder != "" && other.phase == k.phase {
			beside[folder] = true
		}
	}
	switch {
	case len(beside) == 1 && k.phase > 0:
		return slices.Collect(maps.Keys(beside))[0]
	case len(beside) == 0 && l.flat:
		return ""
	case len(beside) == 0 && k.phase > 0:
		return fmt.Sprintf("%02d-%s", k.phase, slug(cmp.Or(oneLine(w.Plan.Phases[k.phase-1].Name), w.cluster)))
	}
	return k.block + "-" + slug(k.name())
}

// keepSummary updates a summary only if it does not say that the block is complete, or if the block was rerun since.
func (w *clusterWriter) keepSummary(k *blockStep, f *format.File) {
	r := &clusterReader{now: w.Now}
	c, _, ok := r.front(f, false)
	if !ok {
		return
	}
	at, _, dated := format.ParseTimeIn(c.at("completed_at").Says(), w.Now.Location())
	again := dated && !k.state.Started.IsZero() && at.Before(k.state.Started)
	if stepStatus(c.at("status").Says(), pawl.Done) == pawl.Done && !again {
		return
	}
	news := yamledit.MapOf(pair("status", yamledit.Word("complete")), pair("completed_at", yamledit.Text(stamp(k.ended(w.Now)))))
	part, _, _, _ := markdown.Front(f.Data)
	y, err := yamledit.Read(f.Data, part)
	if err != nil {
		return // invalid YAML: its author has to fix it
	}
	if out, err := y.Merge(news); err == nil {
		w.files.Put(f.Path, out)
	}
}

func (k *blockStep) ended(now time.Time) time.Time {
	return firstKnown(k.state.Ended, k.state.Started, now)
}

var manyDashes = lazyregexp.New(`-{2,}`)

// slug returns a name in lower case with hyphens.
func slug(name string) string {
	return manyDashes.ReplaceAllString(strings.ToLower(pawl.SlugOf(name)), "-")
}

// newSummary returns the summary of a block. Values that the journal does not have, such as line counts, are left out.
func (w *clusterWriter) newSummary(k *blockStep, lessons []pawl.Memory) []byte {
	threads := w.withCommits(k, w.threads(k))
	want := yamledit.MapOf(
		pair("cluster", yamledit.Word(w.cluster)), pair("block", yamledit.Text(k.block)), pair("status", yamledit.Word("complete")),
		pair("completed_at", yamledit.Text(stamp(k.ended(w.Now)))), pair("commits", w.commitList(k, threads)), pair("artifacts_created", w.artifactList(k)),
	)
	if learned := categoryFields(lessons); len(learned.Pairs) > 0 {
		want.Pairs = append(want.Pairs, pair("lessons_learned", learned))
	}
	return newFrontMatter(want, w.summaryText(k, threads))
}

// commitList returns the commits of a block: those of its threads, and those that commitsDuring returns.
func (w *clusterWriter) commitList(k *blockStep, threads []thread) *yamledit.Value {
	list := yamledit.ListOf()
	add := func(hash, message string, files []string) {
		list.Items = append(list.Items, yamledit.MapOf(pair("hash", yamledit.Text(hash)), pair("message", yamledit.Text(message)), pair("files", inlineList(files))))
	}
	for _, t := range threads {
		if t.Commit != "" {
			add(t.Commit, t.Name, t.Outputs)
		}
	}
	for _, c := range w.commitsDuring(k) {
		if !slices.ContainsFunc(threads, func(t thread) bool { return t.Commit != "" && strings.HasPrefix(c.Hash, t.Commit) }) {
			for i, name := range c.Files {
				c.Files[i] = strings.TrimPrefix(name, w.root)
			}
			add(c.Hash, c.Message, c.Files)
		}
	}
	return list
}

// commitsDuring returns the commits that were made while a block was running and name it in their scope.
func (w *clusterWriter) commitsDuring(k *blockStep) []format.Commit {
	if w.Commits == nil || k.state == nil || k.state.Started.IsZero() {
		return nil
	}
	return slices.DeleteFunc(w.Commits(k.state.Started, firstKnown(k.state.Ended, w.Now)), func(c format.Commit) bool {
		m := subject.FindStringSubmatch(firstLine(c.Message))
		return m == nil || blockID(m[2]) != k.block
	})
}

// withCommits returns threads of a block with the commits that nobody reported: the one whose message names the thread or, if
// there are as many commits as finished threads without one, those in order.
func (w *clusterWriter) withCommits(k *blockStep, threads []thread) []thread {
	lacks := func(t thread) bool { return t.Status == pawl.ItemIsDone && t.Commit == "" }
	if !slices.ContainsFunc(threads, lacks) {
		return threads
	}
	threads = slices.Clone(threads)
	left := slices.DeleteFunc(w.commitsDuring(k), func(c format.Commit) bool {
		m := subject.FindStringSubmatch(firstLine(c.Message))
		return m[1] == "docs" && bookkeeping.MatchString(m[3]) ||
			slices.ContainsFunc(threads, func(t thread) bool { return t.Commit != "" && sameHash(c.Hash, t.Commit) })
	})
	take := func(t *thread, at int) {
		t.Commit = left[at].Hash
		if len(t.Outputs) == 0 {
			t.Outputs = left[at].Files
		}
		left = slices.Delete(left, at, at+1)
	}
	for i := range threads {
		if t := &threads[i]; lacks(*t) {
			if at := slices.IndexFunc(left, func(c format.Commit) bool { return namesThread(firstLine(c.Message), t) }); at >= 0 {
				take(t, at)
			}
		}
	}
	open := slices.DeleteFunc(slices.Clone(threads), func(t thread) bool { return !lacks(t) })
	for i := range threads {
		if lacks(threads[i]) && len(open) == len(left) {
			take(&threads[i], 0)
			open = open[1:]
		}
	}
	return threads
}

// namesThread reports whether the message of a commit names a thread, by its title or its id.
func namesThread(message string, t *thread) bool {
	_, text, _ := strings.Cut(strings.ToLower(message), ":")
	hint := threadHint.FindStringSubmatch(text)
	return t.Name != t.ID && strings.Contains(text, strings.ToLower(t.Name)) || hint != nil && string(threadID(blockOfThread(t.ID), hint[1])) == t.ID
}

func blockOfThread(id string) string {
	block, _, _ := strings.Cut(id, ".")
	return block
}

// artifactList returns the outputs, with the hashes that pawl took.
func (w *clusterWriter) artifactList(k *blockStep) *yamledit.Value {
	list := yamledit.ListOf()
	for _, name := range slices.Sorted(maps.Keys(k.state.Outputs)) {
		content := k.state.Outputs[name]
		item := yamledit.MapOf(pair("path", yamledit.Text(strings.TrimPrefix(name, w.root))))
		if content.Files == 0 {
			item.Pairs = append(item.Pairs, pair("sha256", yamledit.Text(content.SHA256)), pair("size", yamledit.Number(int(content.Size))))
		}
		item.Pairs = append(item.Pairs, pair("verified", yamledit.Truth(true)))
		list.Items = append(list.Items, item)
	}
	return list
}

func (w *clusterWriter) summaryText(k *blockStep, threads []thread) string {
	var b strings.Builder
	title := "Block " + k.block
	if name := k.name(); name != title {
		title += ": " + name
	}
	b.WriteString("\n# " + title + " Summary\n")
	if summary := oneLine(k.state.Summary); summary != "" {
		b.WriteString("\n**One-liner:** " + summary + "\n")
	}
	threads = slices.DeleteFunc(slices.Clone(threads), func(t thread) bool { return t.Status != pawl.ItemIsDone })
	if len(threads) > 0 {
		b.WriteString("\n## Tasks Completed\n\n| Thread | Name | Commit | Files |\n|--------|------|--------|-------|\n")
		for _, t := range threads {
			row(&b, t.ID, t.Name, t.Commit, strings.Join(t.Outputs, ", "))
		}
	}
	return b.String()
}

// waves updates WAVE_STATUS.md. The document names the file and defines no shape; this shape is pawl's.
func (w *clusterWriter) waves() {
	if w.waveAll == 0 {
		return
	}
	if f := w.file("WAVE_STATUS.md"); f != nil {
		if _, _, _, fenced := markdown.Front(f.Data); !fenced {
			return // someone else's shape
		}
	}
	list, complete := yamledit.ListOf(), 0
	inWave := map[int][]*blockStep{}
	for _, k := range w.works {
		if k.phase > 0 {
			inWave[k.wave] = append(inWave[k.wave], k)
		}
	}
	for n := 1; n <= w.waveAll; n++ {
		if len(inWave[n]) == 0 { // plans may skip a number
			continue
		}
		status := waveStatus(inWave[n])
		if status == "complete" && complete == len(list.Items) {
			complete++
		}
		var blocks, skipped []string
		for _, k := range inWave[n] {
			blocks = append(blocks, k.block)
			if k.skipped() {
				skipped = append(skipped, k.block)
			}
		}
		item := yamledit.MapOf(pair("wave", yamledit.Number(n)), pair("status", yamledit.Word(status)), pair("blocks", inlineList(blocks)), pair("skipped", nil))
		if len(skipped) > 0 {
			item.Pairs[3].Value = inlineList(skipped)
		}
		list.Items = append(list.Items, item)
	}
	want := yamledit.MapOf(pair("cluster", yamledit.Word(w.cluster)), pair("waves_complete", yamledit.Number(complete)),
		pair("wave_total", yamledit.Number(w.waveAll)), pair("waves", list))
	w.merge("WAVE_STATUS.md", always(want), func() []byte { return newFrontMatter(want, "\n# Wave Status\n") })
}

// waveStatus returns the status of a wave. A wave with a skipped block is not complete.
func waveStatus(blocks []*blockStep) string {
	finished, skipped, begun := 0, 0, false
	for _, k := range blocks {
		begun = begun || k.begun() || k.done()
		if k.finished() {
			finished++
		}
		if k.skipped() {
			skipped++
		}
	}
	switch {
	case skipped == len(blocks):
		return "skipped"
	case finished == len(blocks) && skipped > 0:
		return "partial"
	case finished == len(blocks):
		return "complete"
	case begun:
		return "active"
	}
	return "pending"
}
