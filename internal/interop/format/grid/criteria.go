package grid

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/oneline"
	"pawl/internal/textedit/markdown"
)

// A block is complete when its executor has kept The Grid's contract: its SUMMARY says so, and the files and commits that the
// SUMMARY claims exist. The success criteria of the plan are criteria of their own. Of a criterion in words the only evidence is
// the SUMMARY, which must not say the contrary.

// summarySays is the criterion that each block has.
const summarySays = "its SUMMARY says that it is complete"

// existsSuffix ends a criterion that requires a file to exist.
const existsSuffix = " is there"

// maxAims limits the success criteria of a block, each of which is a check.
const maxAims = 20

// maxAim limits a success criterion, in bytes.
const maxAim = 200

func isAims(title string) bool {
	title = strings.ToLower(strings.TrimRight(title, ": "))
	return title == "success criteria" || title == "acceptance criteria"
}

// aim adds a success criterion, if a line of the plan is one.
func (b *block) aim(line string) {
	_, text, ok := checkbox(line)
	if text = oneline.Clip(oneLine(format.Plain(text)), maxAim); ok && text != "" && len(b.aims) < maxAims && !slices.Contains(b.aims, text) {
		b.aims = append(b.aims, text)
	}
}

// checkbox returns the text of a bullet, and whether its box is empty: "- [ ] text".
func checkbox(line string) (open bool, text string, ok bool) {
	text, ok = markdown.Bullet(line)
	for _, box := range []string{"[ ]", "[x]", "[X]"} {
		if rest, boxed := strings.CutPrefix(text, box); boxed {
			return box == "[ ]", strings.TrimSpace(rest), ok
		}
	}
	return false, text, ok
}

// criteria returns the criteria of a block, and whether they are met as far as its files say.
func (b *block) criteria() map[string]bool {
	all := map[string]bool{summarySays: b.complete()}
	for _, text := range b.aims {
		all[text] = b.complete() && !slices.Contains(b.missed, text)
	}
	for _, name := range b.makes {
		all[name+existsSuffix] = b.complete()
	}
	return all
}

// contract says what the executor of a block leaves behind.
func (r *clusterReader) contract(b *block) string {
	within := func(name string) string { return strings.TrimPrefix(r.grid, r.root) + name }
	return fmt.Sprintf("\n\nWhen the block is complete, write %s: front matter with cluster, block, status (complete), completed_at, commits (hash, message, files), "+
		"artifacts_created (path) and lessons_learned; then the threads, as a table Thread, Name, Commit, Files under the heading Tasks Completed. "+
		"Until then the block does not count as done. pawl checks what the file claims. "+
		"If a person has to verify, to decide or to act first, write %s (type human_verify, decision or human_action, with block, thread, awaiting and checkpoint_details) and end.",
		within(r.summaryPath(b)), within("CHECKPOINT.md"))
}

// summaryPath returns where the summary of a block belongs, below the cluster's folder: next to its plan, else next to the other
// summaries.
func (r *clusterReader) summaryPath(b *block) string {
	name, flat := b.id+"-SUMMARY.md", false
	for _, f := range r.files {
		a := r.classify(f.Path)
		if a.block == b.id && a.phase != "" {
			return "phases/" + a.phase + "/" + name
		}
		flat = flat || a.kind == summaryFile && a.phase == ""
	}
	if flat {
		return name
	}
	return "phases/" + b.id + "-" + slug(b.title()) + "/" + name
}

func (b *block) title() string {
	if b.Name == "" {
		return "block"
	}
	return oneline.Clip(b.Name, maxSlug)
}

// maxSlug limits the name in a folder, in bytes.
const maxSlug = 40

// checkCriterion reports whether a block meets a criterion or, with "", all of them.
func (s scope) checkCriterion(files format.Files, env format.Env, id pawl.StepID, name string) (bool, string) {
	r, b := s.blockOf(files, env, id)
	if b == nil {
		return false, fmt.Sprintf("there is no block %s", id)
	}
	file, isFile := strings.CutSuffix(name, existsSuffix)
	switch {
	case name == "":
		return r.meetsAll(b)
	case name == summarySays:
		return r.meetsSummary(b)
	case isFile && slices.Contains(b.makes, file):
		return r.meetsFile(file)
	case slices.Contains(b.aims, name):
		return b.meetsAim(name)
	}
	return false, "its plan has no such criterion"
}

// criteriaOf returns the criteria of a block.
func (s scope) criteriaOf(files format.Files, env format.Env, id pawl.StepID) []string {
	if _, b := s.blockOf(files, env, id); b != nil {
		return slices.Sorted(maps.Keys(b.criteria()))
	}
	return nil
}

// meetsAll reports whether a block meets all its criteria, and which ones it does not.
func (r *clusterReader) meetsAll(b *block) (bool, string) {
	met, why := r.meetsSummary(b)
	lacking := []string{why}
	if met {
		lacking = nil
	}
	for _, file := range b.makes {
		if met, why := r.meetsFile(file); !met {
			lacking = append(lacking, why)
		}
	}
	for _, text := range b.aims {
		if met, why := b.meetsAim(text); !met {
			lacking = append(lacking, why)
		}
	}
	if len(lacking) > 0 {
		return false, strings.Join(lacking, "; ")
	}
	return true, why
}

// blockOf returns the block of a step, nil if there is none.
func (s scope) blockOf(files format.Files, env format.Env, id pawl.StepID) (*clusterReader, *block) {
	env.Commits = nil
	r := readCluster(files, s.at, env)
	for _, b := range r.blocks {
		if b.ID == id {
			return r, b
		}
	}
	return r, nil
}

// meetsSummary reports whether the summary of a block proves that it is complete.
func (r *clusterReader) meetsSummary(b *block) (bool, string) {
	f := r.files.Find(b.summary)
	switch {
	case f == nil && len(b.refuted) > 0:
		return false, strings.Join(b.refuted, "; ")
	case f == nil:
		return false, "there is no " + r.grid + r.summaryPath(b) + r.otherEnd(b)
	case !r.env.Redone.IsZero() && !f.Changed.After(r.env.Redone):
		return false, f.Path + " was written before the block was run again" + r.otherEnd(b)
	case !b.complete():
		return false, fmt.Sprintf("%s says status %s", f.Path, oneline.Quote(b.Native))
	}
	if missing := r.missingOf(b); len(missing) > 0 {
		return false, fmt.Sprintf("%s names files that do not exist: %s", f.Path, someOf(missing))
	}
	return true, fmt.Sprintf("%s says that the block is complete; all files and commits that it names exist", f.Path)
}

// otherEnd says what the checkpoint tells about a block without a summary.
func (r *clusterReader) otherEnd(b *block) string {
	p := r.point
	if p == nil || p.block != b.id || !r.askedNow() {
		return ""
	}
	switch p.native {
	case failureType:
		return "; " + r.grid + "CHECKPOINT.md says that it failed: " + oneLine(p.failure)
	case sessionDeath:
		return "; " + r.grid + "CHECKPOINT.md says that the session ended before the block was complete"
	}
	return ""
}

// missingOf returns the files that a block claims and that do not exist.
func (r *clusterReader) missingOf(b *block) (missing []string) {
	for _, name := range b.claims() {
		if r.env.Exists != nil && !r.env.Exists(name) && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

func (r *clusterReader) meetsFile(name string) (bool, string) {
	if r.env.Exists == nil || !r.env.Exists(name) {
		return false, name + " does not exist"
	}
	return true, name + " exists"
}

// meetsAim reports whether the summary of a block says nothing against a success criterion.
func (b *block) meetsAim(text string) (bool, string) {
	switch {
	case b.summary == "":
		return false, "no SUMMARY attests it"
	case slices.Contains(b.missed, text):
		return false, b.summary + " says that it is not met"
	}
	return true, "attested: " + b.summary + " says that the block is complete; nothing else proves it"
}

// askedNow reports whether the checkpoint is newer than what pawl knows already.
func (r *clusterReader) askedNow() bool {
	f := r.file("CHECKPOINT.md")
	return f != nil && f.Changed.After(r.env.Asked)
}

// asks returns the question in CHECKPOINT.md, if the executor of the block wrote it and ended.
func (s scope) asks(files format.Files, env format.Env, id pawl.StepID) *pawl.GateAction {
	r, b := s.blockOf(files, env, id)
	if b == nil || r.point == nil || r.point.block != b.id || r.point.answer != "" || !r.askedNow() {
		return nil
	}
	for _, g := range r.out.Gates {
		if g.Step == id && g.Native == r.point.native && gateType(g.Native) != "" {
			asks := pawl.GateAction{Type: g.Type, Ask: g.Ask, Options: g.Options, Default: g.Default, Expect: g.Expect}
			if left := g.Expires.Sub(r.now); left > 0 {
				asks.Expires = pawl.Duration(left.Round(time.Second))
			}
			return &asks
		}
	}
	return nil
}

// maxRecords limits the notes, and the threads, that are taken from a summary.
const maxRecords = 200

// records returns the lessons and the threads in the summary of a block or in the checkpoint with which its executor ended,
// without those that the run knows.
func (s scope) records(files format.Files, env format.Env, id pawl.StepID) []pawl.Line {
	r, b := s.blockOf(files, env, id)
	if b == nil {
		return nil
	}
	var lines []pawl.Line
	for _, m := range b.lessons[:min(len(b.lessons), maxRecords)] {
		lines = append(lines, pawl.Line{Learn: &m})
	}
	for _, t := range b.threads[:min(len(b.threads), maxRecords)] {
		known := slices.ContainsFunc(r.env.Items, func(i format.Item) bool {
			return i.ID == t.ID && (i.Status == t.Status || t.Status != pawl.ItemIsDone) && (i.Commit == t.Commit || t.Commit == "")
		})
		if !known {
			lines = append(lines, pawl.Line{Item: &pawl.ItemNamed{Item: pawl.ItemIDOf(t.ID), Title: t.Name, Status: t.Status, Outputs: t.Outputs, Commit: t.Commit}})
		}
	}
	return lines
}
