package grid

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/lazyregexp"
	"pawl/internal/oneline"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// readSummaries reads the summaries of blocks: in the folders of phases, in the cluster's folder and next to it.
func (r *clusterReader) readSummaries() {
	all := slices.Clone(r.files)
	slices.SortFunc(all, func(a, b format.File) int {
		return cmp.Or(cmp.Compare(r.summaryRank(a.Path), r.summaryRank(b.Path)), strings.Compare(a.Path, b.Path))
	})
	for _, f := range all {
		if a := r.classify(f.Path); a.kind == summaryFile && a.block != "" {
			r.readSummary(&f, a)
		}
	}
}

// summaryRank orders summaries by their location, the one in the document first.
func (r *clusterReader) summaryRank(name string) int {
	switch {
	case strings.HasPrefix(name, r.grid+"phases/"):
		return 0
	case strings.HasPrefix(name, r.grid):
		return 1
	}
	return 2
}

func (r *clusterReader) readSummary(f *format.File, a about) {
	b := r.block(a.block)
	r.inPhase(b, a.phase)
	if b.summary != "" {
		if !slices.Equal(r.files.Find(b.summary).Data, f.Data) {
			r.Find(pawl.Warn, f.Path, "keep one of them", "block %s has another summary in %s, which takes precedence", b.id, b.summary)
		}
		return
	}
	if why := whyNoSummary(f.Data); why != "" {
		b.refute(f.Path, why)
		r.Find(pawl.Warn, report.Where(f.Path, max(len(textedit.Lines(f.Data)), 1)), "complete it, or remove it", "block %s has an invalid summary: %s", b.id, why)
		return
	}
	b.summary, b.Where, b.Resume = f.Path, report.Where(f.Path, 1), ""
	c, body, _ := r.front(f, false)
	b.Status, b.Native = stepStatus(c.text("status"), pawl.Done), c.text("status")
	b.Ended = c.time("completed_at")
	if b.Ended.IsZero() && b.Status == pawl.Done {
		b.Ended, b.undated = f.Changed.UTC(), true
	}
	r.checkBlock(b, c, "block")
	r.setName(c.text("cluster"))
	r.summaryCommits(b, c)
	r.summaryClaims(b, c)
	r.summaryNeeds(b, c)
	r.summaryLessons(b, c)
	r.summaryBody(b, f, body)
	c.unusedFacts(b.facts(), "summary")
	if gone := r.dropGoneCommits(b, b.Where); len(gone) > 0 && b.complete() {
		b.refute(f.Path, "commits that it claims do not exist: "+someOf(gone))
	}
}

// refute records that a summary does not prove that its block is complete.
func (b *block) refute(path, why string) {
	b.refuted = append(b.refuted, path+": "+why)
	b.Status, b.Ended, b.summary, b.undated = pawl.Pending, time.Time{}, "", false
	b.Where, b.Resume = path, path+" does not prove that the block is complete: "+why+". First check how much of the work exists."
}

// whyNoSummary returns why a summary is invalid: it is empty, or its front matter is truncated; empty if it is valid.
func whyNoSummary(data []byte) string {
	_, body, closed, found := markdown.Front(data)
	switch {
	case bytes.IndexFunc(data, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) < 0:
		return "it is empty"
	case found && !closed && body.From == len(data):
		return "its front matter is truncated"
	}
	return ""
}

// stepStatus returns the step status for a word of The Grid; absent if there is no word.
func stepStatus(word string, absent pawl.StepStatus) pawl.StepStatus {
	switch word = strings.ToLower(strings.Fields(word + " -")[0]); word {
	case "complete", "completed", "done", "verified":
		return pawl.Done
	case "failed", "failure", "error":
		return pawl.FailedForGood
	case "partial", "in_progress", "in-progress", "active", "running", "interrupted", "checkpoint", "blocked":
		return pawl.Running
	case "pending", "ready", "planned":
		return pawl.Pending
	case "skipped":
		return pawl.Skipped
	case "-":
		return absent
	}
	return pawl.Running
}

// summaryCommits reads the commits: maps with hash, message and files, or bare hashes.
func (r *clusterReader) summaryCommits(b *block, c yamlRecord) {
	v := c.at("commits")
	if v == nil || v.Kind != yamledit.List {
		return
	}
	for _, item := range v.Items {
		if hash := item.Says(); hash != "" {
			c.used[item] = true
			b.Commits = append(b.Commits, format.Commit{Hash: hash})
			continue
		}
		e := c.in(item)
		commit := format.Commit{Hash: e.text("hash"), Message: e.text("message"), Files: r.paths(c.file, item.Line, e.texts("files"))}
		if commit.Hash != "" {
			b.Commits = append(b.Commits, commit)
		}
	}
	if len(v.Texts()) == len(v.Items) {
		c.used[v] = true
	}
}

// summaryClaims reads the files that a block claims to have created.
func (r *clusterReader) summaryClaims(b *block, c yamlRecord) {
	for _, e := range c.records("artifacts_created") {
		if p := r.path(c.file, e.root.Line, e.text("path")); p != "" {
			b.claim(format.Claim{Path: p, Lines: e.number("lines"), SHA256: e.text("sha256"), Size: int64(e.number("size"))})
		}
	}
	for _, key := range []string{"created", "modified"} {
		for _, p := range r.paths(c.file, c.at("key-files", key).LineOf(), c.texts("key-files", key)) {
			b.claim(format.Claim{Path: p})
		}
	}
	if len(b.Claims) > 0 {
		return
	}
	for _, commit := range b.Commits {
		for _, p := range commit.Files {
			b.claim(format.Claim{Path: p})
		}
	}
}

// claim adds a claimed file, once.
func (b *block) claim(c format.Claim) {
	if b.claimed == nil {
		b.claimed = map[string]bool{}
	}
	if !b.claimed[c.Path] {
		b.claimed[c.Path] = true
		b.Claims = append(b.Claims, c)
	}
}

// summaryNeeds reads the dependencies of a block: ids, or maps with block and provides.
func (r *clusterReader) summaryNeeds(b *block, c yamlRecord) {
	var needs []string
	for _, e := range c.records("requires") {
		if id := e.block("block"); id != "" {
			needs = append(needs, id)
		}
	}
	for _, id := range c.texts("requires") {
		if _, number := onlyDigits(id); number {
			needs = append(needs, blockID(id))
		}
	}
	if b.Needs != nil || len(needs) == 0 {
		return
	}
	for _, id := range needs {
		b.Needs = append(b.Needs, r.block(id).ID)
	}
}

func onlyDigits(text string) (string, bool) {
	return text, text != "" && strings.Trim(text, "0123456789") == ""
}

func (r *clusterReader) summaryLessons(b *block, c yamlRecord) {
	for _, l := range categories {
		for _, text := range c.texts("lessons_learned", l.key) {
			r.learn(l.kind, text)
			b.lessons = append(b.lessons, pawl.Memory{Kind: l.kind, Text: oneLine(text)})
		}
	}
}

var oneLiner = lazyregexp.New(`^\*\*One-liner:?\*\*:?\s*(.+)$`)

// summaryBody reads the text after the front matter: the threads' table, the decisions, the one-liner.
func (r *clusterReader) summaryBody(b *block, f *format.File, body textedit.Part) {
	lines := bodyLines(f.Data, body)
	for _, l := range lines {
		if m := oneLiner.FindStringSubmatch(strings.TrimSpace(l.Text)); m != nil && b.Summary == "" {
			b.Summary = m[1]
		}
	}
	for _, s := range markdown.Sections(lines) {
		switch words := strings.ToLower(s.Title); {
		case s.Level == 1 && b.Name == "":
			b.Name = title(s.Title)
		case words == "tasks completed" || words == "threads completed":
			r.summaryThreads(b, f, s)
		case words == "decisions made":
			r.summaryDecisions(s)
		case isAims(s.Title):
			b.readMissed(s)
		}
	}
	if b.Name == "" {
		b.Name = slugName(r.classify(f.Path).phase)
	}
}

// readMissed reads the success criteria whose box is empty.
func (b *block) readMissed(s markdown.Section) {
	for _, l := range s.Lead() {
		if open, text, ok := checkbox(l.Text); ok && open {
			b.missed = append(b.missed, oneline.Clip(oneLine(format.Plain(text)), maxAim))
		}
	}
}

// summaryThreads reads the table | Thread | Name | Commit | Files |.
func (r *clusterReader) summaryThreads(b *block, f *format.File, s markdown.Section) {
	rows := markdown.Table(s.Lead())
	if len(rows) == 0 {
		return
	}
	columns := map[string]int{}
	for i, name := range rows[0].Cells {
		columns[strings.ToLower(name)] = i
	}
	cell := func(row markdown.Row, names ...string) string {
		for _, name := range names {
			if i, ok := columns[name]; ok && i < len(row.Cells) {
				return strings.Trim(row.Cells[i], "` ")
			}
		}
		return ""
	}
	for _, row := range rows[1:] {
		id := threadID(b.id, cell(row, "thread", "task", "#"))
		if id == "" || cell(row, "thread", "task", "#") == "" {
			continue
		}
		t := format.Item{
			ID: string(id), Name: cell(row, "name"), Status: pawl.ItemIsDone, Commit: hashOf(cell(row, "commit")),
			Outputs: r.paths(f.Path, row.Line.Number, splitList(cell(row, "files"))),
		}
		b.thread(t)
		b.nameCommit(t)
	}
	if len(b.Commits) > 0 {
		return
	}
	for _, t := range b.threads {
		if t.Commit != "" {
			b.Commits = append(b.Commits, format.Commit{Hash: t.Commit, Message: t.Name, Files: t.Outputs})
		}
	}
}

// maxCommits limits how many commits of a block get the names and files of their threads.
const maxCommits = 1000

// nameCommit gives the commit of a thread the thread's name and files, if only its hash is known.
func (b *block) nameCommit(t format.Item) {
	for i := range b.Commits[:min(len(b.Commits), maxCommits)] {
		if c := &b.Commits[i]; t.Commit != "" && sameHash(c.Hash, t.Commit) {
			c.Message = cmp.Or(c.Message, t.Name)
			if len(c.Files) == 0 {
				c.Files = t.Outputs
			}
			return
		}
	}
}

// sameHash reports whether one hash is a prefix of the other.
func sameHash(a, b string) bool {
	return len(a) >= 4 && len(b) >= 4 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

var hexWord = lazyregexp.New(`^[0-9a-f]{4,64}$`)

// hashOf returns a git hash; empty for a dash, "N/A" and the like.
func hashOf(text string) string {
	if hexWord.MatchString(text) {
		return text
	}
	return ""
}

func splitList(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); strings.Trim(part, "-–—") != "" {
			list = append(list, part)
		}
	}
	return list
}

// summaryDecisions reads the bullets "**what**: why" of a summary: decisions of its agent, not of a person.
func (r *clusterReader) summaryDecisions(s markdown.Section) {
	for _, l := range s.Lead() {
		text, ok := markdown.Bullet(l.Text)
		if !ok || indentOf(l.Text) > 1 {
			continue
		}
		r.learn(pawl.DecisionMem, text)
	}
}

func indentOf(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }
