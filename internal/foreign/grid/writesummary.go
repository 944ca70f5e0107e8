package grid

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/foreign"
	"pawl/internal/foreign/splice"
)

// summaries keeps the record of every block that is complete.
func (w *writer) summaries() {
	lessons := w.unlearned()
	for _, k := range w.works {
		if !k.done() {
			continue
		}
		if f := w.summaryOf(k); f != nil {
			w.keepSummary(k, f)
			continue
		}
		if k == w.last() {
			w.put(w.summaryPath(k), w.newSummary(k, lessons))
		} else {
			w.put(w.summaryPath(k), w.newSummary(k, nil))
		}
	}
}

// summaryOf returns the record of a block that is there already.
func (w *writer) summaryOf(k *work) *foreign.File {
	r := &reader{place: w.place}
	var best *foreign.File
	for i := range w.files {
		f := &w.files[i]
		if a := w.classify(f.Path); a.kind == summaryFile && a.block == k.block && (best == nil || r.rank(f.Path) < r.rank(best.Path)) {
			best = f
		}
	}
	return best
}

// keepSummary leaves a record as it is, unless it does not say that the block is complete, or the block was done again
// since.
func (w *writer) keepSummary(k *work, f *foreign.File) {
	r := &reader{told: map[pawl.Finding]bool{}, now: w.Now}
	c, _, ok := r.front(f, false)
	if !ok {
		return
	}
	at, _, dated := parseTime(c.at("completed_at").Says(), w.Now)
	again := dated && !k.state.Started.IsZero() && at.Before(k.state.Started)
	if stepStatus(c.at("status").Says(), pawl.Done) == pawl.Done && !again {
		return
	}
	w.merge(strings.TrimPrefix(f.Path, w.grid), splice.MapOf(pair("status", splice.Word("complete")), pair("completed_at", splice.Text(stamp(k.ended(w.Now))))), "")
}

func (k *work) ended(now time.Time) time.Time { return firstKnown(k.state.Ended, k.state.Started, now) }

// summaryPath returns where a new record goes: into the folder of the block's phase, or beside the others where they lie
// flat.
func (w *writer) summaryPath(k *work) string {
	flat := false
	for _, f := range w.files {
		rest, inside := strings.CutPrefix(f.Path, w.grid)
		m := phasesFolder.FindStringSubmatch(rest)
		if inside && m != nil && w.classify(f.Path).block == k.block {
			return "phases/" + m[1] + "/" + k.block + "-SUMMARY.md"
		}
		flat = flat || inside && !strings.Contains(rest, "/") && w.classify(f.Path).kind == summaryFile
	}
	if flat {
		return k.block + "-SUMMARY.md"
	}
	return "phases/" + k.block + "-" + slug(k.name()) + "/" + k.block + "-SUMMARY.md"
}

var manyDashes = regexp.MustCompile(`-{2,}`)

// slug returns a name as a folder's: lower case, with hyphens.
func slug(name string) string {
	return manyDashes.ReplaceAllString(strings.ToLower(pawl.SlugOf(name)), "-")
}

// newSummary returns a block's record. What the journal does not know, as the lines of a file, is left out.
func (w *writer) newSummary(k *work, lessons []pawl.Memory) []byte {
	threads := w.threads(k)
	want := splice.MapOf(
		pair("cluster", splice.Word(w.cluster)), pair("block", splice.Text(k.block)), pair("status", splice.Word("complete")),
		pair("completed_at", splice.Text(stamp(k.ended(w.Now)))), pair("commits", commitList(threads)), pair("artifacts_created", w.artifactList(k)),
	)
	if learned := categoryFields(lessons); len(learned.Pairs) > 0 {
		want.Pairs = append(want.Pairs, pair("lessons_learned", learned))
	}
	return fresh(want, w.summaryText(k, threads))
}

func commitList(threads []thread) *splice.Value {
	list := splice.ListOf()
	for _, t := range threads {
		if t.Commit != "" {
			list.Items = append(list.Items, splice.MapOf(pair("hash", splice.Text(t.Commit)), pair("message", splice.Text(t.Name)), pair("files", inlineList(t.Outputs))))
		}
	}
	return list
}

// artifactList names the outputs, which pawl has seen and hashed.
func (w *writer) artifactList(k *work) *splice.Value {
	list := splice.ListOf()
	for _, name := range slices.Sorted(maps.Keys(k.state.Outputs)) {
		content := k.state.Outputs[name]
		item := splice.MapOf(pair("path", splice.Text(strings.TrimPrefix(name, w.root))))
		if content.Files == 0 {
			item.Pairs = append(item.Pairs, pair("sha256", splice.Text(content.SHA256)), pair("size", splice.Number(int(content.Size))))
		}
		item.Pairs = append(item.Pairs, pair("verified", splice.Truth(true)))
		list.Items = append(list.Items, item)
	}
	return list
}

func (w *writer) summaryText(k *work, threads []thread) string {
	var b strings.Builder
	b.WriteString("\n# Block " + k.block + ": " + k.name() + " Summary\n")
	if summary := oneLine(k.state.Summary); summary != "" {
		b.WriteString("\n**One-liner:** " + summary + "\n")
	}
	if len(threads) > 0 {
		b.WriteString("\n## Tasks Completed\n\n| Thread | Name | Commit | Files |\n|--------|------|--------|-------|\n")
		for _, t := range threads {
			row(&b, t.ID, t.Name, t.Commit, strings.Join(t.Outputs, ", "))
		}
	}
	return b.String()
}

// waves keeps WAVE_STATUS.md. The document names it and gives it no shape; this is ours.
func (w *writer) waves() {
	if w.waveAll == 0 {
		return
	}
	if f := w.file("WAVE_STATUS.md"); f != nil {
		if _, _, _, fenced := splice.Front(f.Data); !fenced {
			return // somebody keeps it in a shape of their own
		}
	}
	list := splice.ListOf()
	at := 0
	for n := 1; n <= w.waveAll; n++ {
		blocks, done, begun := splice.ListOf(), 0, false
		blocks.Inline = true
		for _, k := range w.works {
			if k.phase > 0 && k.wave == n {
				blocks.Items = append(blocks.Items, splice.Text(k.block))
				begun = begun || k.begun() || k.done()
				if k.state.Finished() {
					done++
				}
			}
		}
		status := "pending"
		switch {
		case done == len(blocks.Items):
			status = "complete"
			at = n
		case begun:
			status = "active"
		}
		list.Items = append(list.Items, splice.MapOf(pair("wave", splice.Number(n)), pair("status", splice.Word(status)), pair("blocks", blocks)))
	}
	want := splice.MapOf(pair("cluster", splice.Word(w.cluster)), pair("waves_complete", splice.Number(at)),
		pair("wave_total", splice.Number(w.waveAll)), pair("waves", list))
	w.merge("WAVE_STATUS.md", want, "\n# Wave Status\n")
}
