package grid

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/textedit"
)

// clusterReader reads the files of one cluster.
type clusterReader struct {
	clusterDir
	report.Report
	files   format.Files
	commits []format.Commit // the newest first
	now     time.Time
	out     format.Project

	blocks  map[string]*block
	phases  map[int]string // number → name
	state   stateRead
	point   *checkpointRead
	warmth  string // WARMTH.md, as it is
	beat    time.Time
	scratch string // the last entry of SCRATCHPAD.md
	learned map[pawl.Memory]bool

	newest      format.Commit // of those that name a block
	newestBlock string
	lost        *block      // where a session died without a checkpoint
	next        pawl.ItemID // the thread to go on with
}

// block is what was read of a block, from whatever file speaks of it.
type block struct {
	format.Step
	id      string
	phase   int      // number; 0: not said
	plan    string   // text of its plan
	planned bool     // there is a plan
	named   []string // files that its plan says it is to change
	namedAt string   // where it says so
	summary string   // path
	said    string   // what STATE.md says of it: COMPLETE, COMPLETE (inferred), …
	threads []format.Item
	index   map[string]int // id of a thread → where it is among them
	claimed map[string]bool
	fromGit int  // threads that only git knows
	undated bool // its summary says not when it was complete
}

// complete reports whether a block needs no more work, as far as its files say.
func (b *block) complete() bool { return b.Status == pawl.Done }

// readCluster reads the cluster in this folder or, without one, the first cluster.
func readCluster(files format.Files, at string, log []format.Commit, now time.Time) *clusterReader {
	r := &clusterReader{
		files: files, commits: log, now: now,
		blocks: map[string]*block{}, phases: map[int]string{}, learned: map[pawl.Memory]bool{},
	}
	r.out.System, r.out.Facts = "grid", map[string]string{}
	all := selectedDirs(files, at)
	if len(all) == 0 {
		return r
	}
	r.clusterDir = all[0]
	r.out.Dir = strings.TrimSuffix(r.root, "/")
	r.reportOtherClusters(all[1:])
	r.readFiles()
	r.judge()
	return r
}

// reportOtherClusters reports the clusters that are not read.
func (r *clusterReader) reportOtherClusters(all []clusterDir) {
	var names []string
	for _, p := range all {
		names = append(names, p.name())
		r.Add(pawl.Finding{Level: pawl.Warn, What: "another cluster was found here and not read", Where: p.name(), Hint: "pawl import grid " + p.name()})
	}
	if len(names) > 0 {
		r.out.Facts["other_clusters"] = strings.Join(names, "; ")
	}
}

// readFiles reads every file. Plans come before summaries, and both before what says where the work stands.
func (r *clusterReader) readFiles() {
	r.readPlans()
	r.readSummaries()
	r.readState()
	r.readWaves()
	r.readCheckpoint()
	r.readWarmth("WARMTH.md")
	r.readDecisions()
	r.readBlockers()
	r.readScratchpad()
	r.readWarmth("LEARNINGS.md")
	r.readSettings("config.json", "config")
	r.readSettings("budget.json", "budget")
	r.readBudget("config")
	r.readBudget("budget")
	r.readSessions()
	r.readHistory()
}

// file returns a file of the cluster's folder, nil where it is not there.
func (r *clusterReader) file(name string) *format.File { return r.files.Find(r.grid + name) }

// block returns the block with an id, which is there from then on.
func (r *clusterReader) block(id string) *block {
	b := r.blocks[id]
	if b == nil {
		b = &block{id: id}
		b.ID, b.Status = pawl.StepIDOf(id), pawl.Pending
		r.blocks[id] = b
	}
	return b
}

// order returns the blocks in their order.
func (r *clusterReader) order() []*block {
	var all []*block
	for _, id := range slices.SortedFunc(maps.Keys(r.blocks), blockOrder) {
		all = append(all, r.blocks[id])
	}
	return all
}

// fact keeps what a file says of something that pawl has no word for.
func (r *clusterReader) fact(name, text string) {
	if text != "" {
		r.out.Facts[name] = text
	}
}

// path returns a path that a file claims, relative to the project's root; empty, with a finding, where it leads out.
func (r *clusterReader) path(file string, line int, name string) string {
	name = strings.TrimSpace(strings.Trim(strings.TrimSpace(name), "`"))
	if at := strings.Index(name, " ("); at > 0 && strings.HasSuffix(name, ")") {
		name = name[:at] // "mc.md (note)"
	}
	clean, err := format.Inside(name)
	if err != nil {
		r.Warn(report.Where(file, line), "%v", err)
		return ""
	}
	return r.root + clean
}

// paths returns the paths of a list that stay inside.
func (r *clusterReader) paths(file string, line int, names []string) []string {
	var all []string
	for _, name := range names {
		if p := r.path(file, line, name); p != "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// learn keeps what was learned, each thing once.
func (r *clusterReader) learn(kind pawl.MemoryKind, text string) {
	m := pawl.Memory{Kind: kind, Text: strings.TrimSpace(text)}
	if m.Text != "" && !r.learned[m] {
		r.learned[m] = true
		r.out.Memories = append(r.out.Memories, m)
	}
}

// readSessions names what is kept of debug sessions, daemons and refinement, which pawl leaves as it is.
func (r *clusterReader) readSessions() {
	var debug, tasks, refined []string
	for _, f := range r.files {
		switch r.classify(f.Path).kind {
		case debugFile:
			debug = append(debug, strings.TrimPrefix(f.Path, r.grid))
		case refinementFile:
			refined = append(refined, strings.TrimPrefix(f.Path, r.grid))
		case taskFile:
			tasks = append(tasks, path.Base(path.Dir(f.Path))+": "+firstLine(string(f.Data)))
		}
	}
	slices.Sort(debug)
	slices.Sort(tasks)
	slices.Sort(refined)
	r.fact("debug_sessions", strings.Join(debug, "; "))
	r.fact("daemon_tasks", strings.Join(tasks, "; "))
	r.fact("refinement", strings.Join(refined, "; "))
}

// maxText is how much of a text is kept, in bytes.
const maxText = 64 << 10

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF")), "\n")
	return strings.TrimSpace(line)
}

// bodyLines returns the lines of a part of a file, numbered as in the file.
func bodyLines(data []byte, part textedit.Part) []textedit.Line {
	lines := textedit.Lines(data)
	return lines[min(max(part.Line-1, 0), len(lines)):]
}

func of(n, total int) string { return fmt.Sprintf("%d of %d", n, total) }
