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
	"pawl/internal/shellwords"
	"pawl/internal/textedit"
)

// clusterReader reads the files of one cluster.
type clusterReader struct {
	clusterDir
	report.Report
	files   format.Files
	env     format.Env
	commits []format.Commit // newest first
	now     time.Time
	out     format.Project

	blocks  map[string]*block
	phases  map[int]string // number → name
	state   stateRead
	point   *checkpointRead
	warmth  string // WARMTH.md, unchanged
	beat    time.Time
	scratch string // the last entry of SCRATCHPAD.md
	learned map[pawl.Memory]bool

	newest      format.Commit // the newest that names a block
	newestBlock string
	lost        *block      // in progress when a session died without a checkpoint
	next        pawl.ItemID // the thread to continue with
}

// block returns the block with an id, and adds it if it is new.
type block struct {
	format.Step
	id      string
	phase   int      // number; 0: unknown
	plan    string   // text of its plan
	planned bool     // it has a plan
	named   []string // files to change, according to its plan
	namedAt string   // file and line of that list
	summary string   // path
	refuted []string // why its summaries prove nothing, each with its path
	gone    []string // commits that its files claim and git does not know
	aims    []string // success criteria of its plan
	makes   []string // files that its plan requires
	missed  []string // success criteria that its summary says are not met
	lessons []pawl.Memory
	said    string // its status in STATE.md: COMPLETE, COMPLETE (inferred), …
	threads []format.Item
	index   map[string]int // index of each thread, by id
	claimed map[string]bool
	fromGit int  // number of threads that only git knows
	undated bool // its summary has no completion time
}

// complete reports whether a block needs no more work, as far as its files say.
func (b *block) complete() bool { return b.Status == pawl.Done }

// readCluster reads the cluster in this folder or, without one, the first cluster.
func readCluster(files format.Files, at string, env format.Env) *clusterReader {
	r := &clusterReader{
		files: files, env: env, commits: env.Commits, now: env.Now,
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
	r.evaluate()
	return r
}

// reportOtherClusters reports the clusters that are not read.
func (r *clusterReader) reportOtherClusters(all []clusterDir) {
	var names []string
	for _, p := range all {
		names = append(names, p.name())
		r.Add(pawl.Finding{Level: pawl.Warn, What: "another cluster was found here and not read", Where: p.name(), Hint: "pawl import grid " + shellwords.Word(p.name())})
	}
	if len(names) > 0 {
		r.out.Facts["other_clusters"] = strings.Join(names, "; ")
	}
}

// readFiles reads every file: plans, then summaries, then the files with the position.
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

// file returns a file in the cluster's folder, nil if there is none.
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

// order returns the blocks in order.
func (r *clusterReader) order() []*block {
	var all []*block
	for _, id := range slices.SortedFunc(maps.Keys(r.blocks), blockOrder) {
		all = append(all, r.blocks[id])
	}
	return all
}

// fact keeps a value that pawl has no field for.
func (r *clusterReader) fact(name, text string) {
	if text != "" {
		r.out.Facts[name] = text
	}
}

// path returns a claimed path relative to the project's root; empty, with a finding, if it leads out of it.
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

// paths returns the claimed paths that stay inside the project.
func (r *clusterReader) paths(file string, line int, names []string) []string {
	var all []string
	for _, name := range names {
		if p := r.path(file, line, name); p != "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// learn adds a memory, once.
func (r *clusterReader) learn(kind pawl.MemoryKind, text string) {
	m := pawl.Memory{Kind: kind, Text: strings.TrimSpace(text)}
	if m.Text != "" && !r.learned[m] {
		r.learned[m] = true
		r.out.Memories = append(r.out.Memories, m)
	}
}

// readSessions reports files of debug sessions, daemons and refinement, which pawl never changes.
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

// maxText limits the texts that are kept, in bytes.
const maxText = 64 << 10

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF")), "\n")
	return strings.TrimSpace(line)
}

// bodyLines returns the lines of a part of a file, with their numbers in the file.
func bodyLines(data []byte, part textedit.Part) []textedit.Line {
	lines := textedit.Lines(data)
	return lines[min(max(part.Line-1, 0), len(lines)):]
}

func of(n, total int) string { return fmt.Sprintf("%d of %d", n, total) }
