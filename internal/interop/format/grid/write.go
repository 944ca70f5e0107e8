package grid

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/fileset"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// part is something that is written at certain triggers.
type part int

const (
	statePart part = iota
	checkpointPart
	wavesPart
	warmthPart
	decisionsPart
	blockersPart
	summariesPart
	plansPart
	scratchpadPart
)

// since holds the first trigger at which each part is written, as in the document: the state always, checkpoints when
// somebody is asked or the session ends, warmth and summaries when a block is complete, plans before a block begins.
var since = map[part]format.Trigger{
	statePart: format.Beat, scratchpadPart: format.Beat, checkpointPart: format.StepBegan, decisionsPart: format.Learned,
	blockersPart: format.Learned, summariesPart: format.StepEnded, warmthPart: format.StepEnded, wavesPart: format.WaveEnded,
	plansPart: format.Began,
}

// write returns the changed files, in an order in which a crash after any of them leaves a usable state: finished work
// first, the state after the checkpoint that it names, removed files last.
func (s scope) write(files format.Files, v format.Export) []format.File {
	if v.State == nil {
		return nil
	}
	w := newClusterWriter(files, s.at, v)
	if v.Trigger != format.Exported && w.heldByOthers() {
		return nil
	}
	do := func(p part, write func()) {
		if format.Weightier(since[p], v.Trigger) == v.Trigger {
			write()
		}
	}
	do(plansPart, w.plans)
	do(summariesPart, w.summaries)
	do(warmthPart, w.warmth)
	do(wavesPart, w.waves)
	do(decisionsPart, w.decisions)
	do(blockersPart, w.blockers)
	do(scratchpadPart, w.scratchpad)
	do(checkpointPart, w.checkpoint)
	do(statePart, w.state)
	out := w.files.ByLastChange()
	slices.SortStableFunc(out, func(a, b format.File) int { return cmp.Compare(removed(a), removed(b)) })
	return out
}

// heldByOthers reports whether another session seems to be working on the imported cluster, and no person has said that it
// ended: then its files are its own.
func (w *clusterWriter) heldByOthers() bool {
	at := slices.IndexFunc(w.State.Gates, func(g pawl.GateState) bool {
		return g.Purpose == pawl.ForRebuilt && strings.Contains(g.Ask, stillActive)
	})
	return at >= 0 && (w.State.Gates[at].Answer == nil || w.State.Gates[at].Answer.Answer != pawl.Approved)
}

// removed returns 1 for a file that is removed, else 0.
func removed(f format.File) int {
	if f.Data == nil {
		return 1
	}
	return 0
}

// clusterWriter writes the files of one run.
type clusterWriter struct {
	clusterDir
	format.Export
	files   *fileset.Set
	cluster string
	works   []*blockStep
	byStep  map[pawl.StepID]*blockStep
	byBlock map[string]*blockStep
	waveAll int // number of waves in all phases

	importedWaves bool // the cluster was imported, and its plans do not say which block is in which wave
	unknownPlans  bool // the cluster was imported, and it has plans of blocks that the run does not know

	lastUpdate time.Time // of a cluster that was imported, when its state says that it last changed before; zero where it does not
}

func newClusterWriter(files format.Files, at string, v format.Export) *clusterWriter {
	w := &clusterWriter{Export: v, clusterDir: clusterDir{grid: ".grid/"}, files: fileset.New(files),
		byStep: map[pawl.StepID]*blockStep{}, byBlock: map[string]*blockStep{}}
	switch found := selectedDirs(files, at); {
	case at != "":
		w.clusterDir = clusterDirOf(at + "/")
	case len(found) > 0 && found[0].root == "":
		w.clusterDir = found[0] // never that of a folder further down, unless it was named
	}
	if w.Plan == nil {
		w.Plan = &pawl.Plan{}
	}
	w.assignBlocks()
	if v.State.Import.System == "grid" {
		w.plannedWaves(files)
		w.lastUpdate = lastUpdated(files, w.clusterDir, v.State.Created)
	}
	w.cluster = strings.ToValidUTF8(cmp.Or(w.existingName(), v.State.Name), "\uFFFD")
	return w
}

// existingName returns the cluster's name in the existing files.
func (w *clusterWriter) existingName() string {
	f := w.file("STATE.md")
	if f == nil {
		return ""
	}
	r := &clusterReader{files: format.Files{*f}, clusterDir: w.clusterDir, now: w.Now, blocks: map[string]*block{}, phases: map[int]string{}}
	r.out.Facts = map[string]string{}
	r.readState()
	return r.out.Name
}

func (w *clusterWriter) file(name string) *format.File { return w.files.File(w.grid + name) }

func (w *clusterWriter) put(name string, data []byte) { w.files.Put(w.grid+name, data) }

func (w *clusterWriter) remove(name string) { w.files.Remove(w.grid + name) }

// archive keeps a copy of a file that is replaced or removed. Its name has the time, the kind and a hash of the content.
func (w *clusterWriter) archive(f *format.File, what string, at time.Time) {
	sum := sha256.Sum256(f.Data)
	name := what + "-" + hex.EncodeToString(sum[:4]) + ".md"
	if !at.IsZero() {
		name = at.UTC().Format("20060102T150405Z-") + name
	}
	w.put(w.archived(name), slices.Clone(f.Data))
}

// archived returns a path in the run's archive.
func (w *clusterWriter) archived(name string) string {
	return "archive/" + string(w.State.Run) + "/" + name
}

// merge writes values into a YAML file or front matter. want returns them for the content of the file. If they cannot be
// changed in place, or the next write would change them again, it archives the file and writes a new one.
func (w *clusterWriter) merge(name string, want func(there yamlRecord) *yamledit.Value, all func() []byte) {
	f := w.file(name)
	if f == nil {
		w.put(name, all())
		return
	}
	if out, ok := w.merged(f, want); ok {
		if again, ok := w.merged(&format.File{Path: f.Path, Data: out}, want); ok && bytes.Equal(again, out) {
			w.put(name, out)
			return
		}
	}
	w.archive(f, strings.TrimSuffix(path.Base(name), ".md"), time.Time{})
	w.put(name, all())
}

// merged returns a file with the values that want returns for it. ok is false if they cannot be changed in place, or there
// are none.
func (w *clusterWriter) merged(f *format.File, want func(there yamlRecord) *yamledit.Value) (out []byte, ok bool) {
	r := &clusterReader{now: w.Now}
	there, _, _ := r.front(f, true)
	news := want(there)
	if news == nil {
		return nil, false
	}
	out, err := yamledit.MergeAround(f.Data, yamlIn(f.Data), news)
	return out, err == nil
}

// always returns the same values for any content of a file.
func always(news *yamledit.Value) func(yamlRecord) *yamledit.Value {
	return func(yamlRecord) *yamledit.Value { return news }
}

// yamlIn returns the part of a file that is YAML: its front matter, or all of it.
func yamlIn(data []byte) textedit.Part {
	if part, _, _, fenced := markdown.Front(data); fenced {
		return part
	}
	return textedit.Whole(data)
}

// newFrontMatter returns a new file with front matter.
func newFrontMatter(want *yamledit.Value, body string) []byte {
	return []byte("---\n" + yamledit.Render(want, 0) + "---\n" + body)
}

func pair(key string, value *yamledit.Value) yamledit.Pair {
	return yamledit.Pair{Key: key, Value: value}
}

// stamp formats a time as The Grid does, always with a zone.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

// oneLine returns a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
