package grid

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/lazyregexp"
	"pawl/internal/oneline"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// readPlans reads the plans of all blocks: first those in plans, then the copies in the folders of phases.
func (r *clusterReader) readPlans() {
	for _, folder := range []string{"plans/", "phases/"} {
		for _, f := range r.filesIn(folder) {
			switch a := r.classify(f.Path); a.kind {
			case planFile:
				r.readPlan(&f, a)
			case planSummaryFile:
				r.readPlanSummary(&f)
			}
		}
	}
}

// filesIn returns the files in a folder of the cluster, sorted by path.
func (r *clusterReader) filesIn(folder string) []format.File {
	var all []format.File
	for _, f := range r.files {
		if strings.HasPrefix(f.Path, r.grid+folder) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b format.File) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func (r *clusterReader) readPlan(f *format.File, a about) {
	b := r.block(a.block)
	r.inPhase(b, a.phase)
	if b.planned {
		return // a copy
	}
	b.planned, b.plan, b.Where = true, strings.TrimPrefix(string(f.Data), "\uFEFF"), f.Path
	b.Goal = oneline.Clip(b.plan, maxText)
	c, body, ok := r.front(f, false)
	if ok {
		r.planFields(b, c)
	}
	lines := bodyLines(f.Data, body)
	for _, s := range markdown.Sections(lines) {
		if b.Name == "" && s.Level == 1 {
			b.Name = title(s.Title)
		}
		if id, name := threadTitle(b.id, s.Title); id != "" {
			b.thread(format.Item{ID: string(id), Name: name, Status: pawl.ItemPending})
		}
		if isAims(s.Title) {
			for _, l := range s.Lead() {
				b.aim(l.Text)
			}
		}
	}
	if b.Name == "" {
		b.Name = slugName(a.phase)
	}
}

func (r *clusterReader) planFields(b *block, c yamlRecord) {
	r.checkBlock(b, c, "id")
	r.checkBlock(b, c, "block")
	r.setName(c.text("cluster"))
	b.Name = c.text("objective")
	if name := c.text("name"); name != "" {
		b.Name = name
	}
	if wave := c.number("wave"); wave > 0 {
		if b.Wave > 0 && b.Wave != wave {
			r.Warn(report.Where(c.file, c.at("wave").LineOf()), "the master plan has block %s in wave %d; its own plan takes precedence", b.id, b.Wave)
		}
		b.Wave = wave
	}
	if needs := c.texts("depends_on"); needs != nil || c.at("depends_on") != nil {
		b.Needs = []pawl.StepID{}
		for _, need := range needs {
			b.Needs = append(b.Needs, pawl.StepIDOf(blockID(need)))
		}
	}
	if phase := c.number("phase"); phase > 0 {
		b.phase = phase
	}
	if v := c.at("files_modified"); v != nil { // also a fact, for the agent of the step
		b.named, b.namedAt = r.paths(c.file, v.Line, v.Texts()), report.Where(c.file, v.Line)
	}
	for _, text := range slices.Concat(c.texts("success_criteria"), c.texts("must_haves", "truths")) {
		b.aim("- " + text)
	}
	for _, e := range c.records("must_haves", "artifacts") {
		b.makes = append(b.makes, r.paths(c.file, e.root.Line, []string{e.text("path")})...)
	}
	c.unusedFacts(b.facts(), "plan")
}

// checkBlock reports a file that names another block than its file name does.
func (r *clusterReader) checkBlock(b *block, c yamlRecord, key string) {
	if id := c.block(key); id != "" && id != b.id {
		r.Warn(report.Where(c.file, c.at(key).LineOf()), "its text names block %s, but its file name says %s, which takes precedence", id, b.id)
	}
}

func (b *block) facts() map[string]string {
	if b.Facts == nil {
		b.Facts = map[string]string{}
	}
	return b.Facts
}

// inPhase sets the phase of a block from the name of a folder.
func (r *clusterReader) inPhase(b *block, folder string) {
	m := phaseName.FindStringSubmatch(folder)
	if m == nil {
		return
	}
	if n, err := strconv.Atoi(m[1]); err == nil && b.phase == 0 {
		b.phase = n
		if r.phases[n] == "" {
			r.phases[n] = slugName(folder)
		}
	}
}

// slugName returns the words of a folder's name: 01-dark-mode is "dark mode".
func slugName(folder string) string {
	if m := phaseName.FindStringSubmatch(folder); m != nil {
		return strings.ReplaceAll(m[2], "-", " ")
	}
	return ""
}

var titleLead = lazyregexp.New(`^(?i)(?:block|plan)\s+[\w.]+\s*[:—–-]\s*`)

// title returns a heading without a leading "Block 01:" and a trailing "Summary".
func title(text string) string {
	text = titleLead.ReplaceAllString(text, "")
	return strings.TrimSpace(strings.TrimSuffix(text, " Summary"))
}

var threadLead = lazyregexp.New(`^(?i)thread\s+([\d.]*\d)\s*[:—–-]?\s*(.*)$`)

// threadTitle returns the thread in a heading.
func threadTitle(block, text string) (pawl.ItemID, string) {
	m := threadLead.FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	return threadID(block, m[1]), m[2]
}

// thread adds a thread to a block, or completes an existing one.
func (b *block) thread(t format.Item) {
	i, known := b.index[t.ID]
	if !known {
		if b.index == nil {
			b.index = map[string]int{}
		}
		b.index[t.ID] = len(b.threads)
		b.threads = append(b.threads, t)
		return
	}
	old := &b.threads[i]
	if t.Status != pawl.ItemPending || old.Status == pawl.ItemPending {
		old.Status, old.Native = t.Status, t.Native
	}
	old.Name, old.Commit = cmp.Or(t.Name, old.Name), cmp.Or(t.Commit, old.Commit)
	if len(t.Outputs) > 0 {
		old.Outputs = t.Outputs
	}
}

// sortThreads sorts the threads by number.
func (b *block) sortThreads() {
	slices.SortStableFunc(b.threads, func(x, y format.Item) int {
		return cmp.Compare(threadNumber(pawl.ItemID(x.ID)), threadNumber(pawl.ItemID(y.ID)))
	})
	for i, t := range b.threads {
		b.index[t.ID] = i
	}
}

// readPlanSummary reads the master plan: the blocks and their waves.
func (r *clusterReader) readPlanSummary(f *format.File) {
	name, _ := strings.CutSuffix(path.Base(f.Path), planSummary)
	c, body, ok := r.front(f, false)
	if ok {
		r.setName(c.text("cluster"))
		if waves := c.at("wave_structure"); waves != nil && waves.Kind == yamledit.Map {
			for _, p := range waves.Pairs {
				r.inWave(blockNumber(p.Key), p.Value.Texts())
			}
			c.used[waves] = true
		}
		r.out.Goal = cmp.Or(c.text("goal"), c.text("objective"))
		c.unusedFacts(r.out.Facts, "plan")
	}
	r.setName(name)
	for _, s := range markdown.Sections(bodyLines(f.Data, body)) {
		if m := waveTitle.FindStringSubmatch(s.Title); m != nil {
			r.inWave(blockNumber(m[1]), blocksIn(markdown.Join(s.Lead())))
		}
	}
}

var (
	waveTitle  = lazyregexp.New(`^(?i)wave\s+(\d+)\b`)
	blockInRow = lazyregexp.New(`(?i)\bblock[\s-]+(\d{1,4})\b`)
)

func blocksIn(text string) []string {
	var ids []string
	for _, m := range blockInRow.FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

func blockNumber(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (r *clusterReader) inWave(wave int, ids []string) {
	for _, id := range ids {
		if id = blockID(id); id != "" && wave > 0 {
			if b := r.block(id); b.Wave == 0 {
				b.Wave = wave
			}
		}
	}
}

// needsOfWaves makes the blocks of a wave depend on all blocks of the previous wave in their phase, in addition to what
// their plans say.
func (r *clusterReader) needsOfWaves() {
	type wave struct{ phase, number int }
	waves := map[wave][]pawl.StepID{}
	for _, b := range r.order() {
		if b.Wave > 0 {
			waves[wave{b.phase, b.Wave}] = append(waves[wave{b.phase, b.Wave}], b.ID)
		}
	}
	for _, b := range r.blocks {
		if b.Wave == 0 {
			continue
		}
		before := wave{b.phase, b.Wave - 1}
		for before.number > 0 && waves[before] == nil { // plans may skip a number
			before.number--
		}
		needs := append([]pawl.StepID{}, b.Needs...)
		for _, id := range waves[before] {
			if !slices.Contains(b.Needs, id) {
				needs = append(needs, id)
			}
		}
		b.Needs = needs
	}
}

// setName sets the name of the run if there is none yet.
func (r *clusterReader) setName(name string) {
	if name != "" && !strings.EqualFold(name, "unknown") && r.out.Name == "" {
		r.out.Name = name
	}
}
