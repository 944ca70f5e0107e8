package grid

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
	"pawl/internal/textedit/yamledit"
)

// The types of checkpoints. The document's own first example says only checkpoint.
const (
	sessionDeath = "session_death"
	failureType  = "failure"
)

// checkpointRead is the content of CHECKPOINT.md.
type checkpointRead struct {
	native   string // its type
	block    string
	thread   pawl.ItemID
	number   int // of the thread
	name     string
	answer   string
	failure  string // what went wrong, of a failure
	old      bool   // its block was completed since
	outdated bool   // it has expired
	rejected bool   // by its answer
}

// gateType returns the type of the gate for a type of checkpoint; empty if it needs no answer.
func gateType(native string) pawl.GateType {
	switch native {
	case "human_verify", "checkpoint", "":
		return pawl.HumanVerify
	case "decision":
		return pawl.DecisionFor
	case "human_action":
		return pawl.HumanAction
	}
	return ""
}

// readCheckpoint reads CHECKPOINT.md, in either shape.
func (r *clusterReader) readCheckpoint() {
	for _, f := range r.checkpointFiles()[min(1, len(r.checkpointFiles())):] {
		r.Find(pawl.Warn, f.Path, "archive one of them", "there is another checkpoint; CHECKPOINT.md takes precedence")
	}
	f := r.file("CHECKPOINT.md")
	if f == nil {
		return
	}
	c, _, ok := r.front(f, true)
	if !ok {
		r.Warn(report.Where(f.Path, 1), "not a checkpoint: it has no front matter with a type")
		return
	}
	p := &checkpointRead{native: c.text("type"), block: c.block("block"), name: c.text("thread_name"), answer: c.text("user_response")}
	r.point = p
	switch {
	case p.native == "":
		r.Warn(report.Where(f.Path, c.root.Line), "the checkpoint has no type; it is treated as human_verify")
	case gateType(p.native) == "" && p.native != sessionDeath && p.native != failureType:
		r.Warn(report.Where(f.Path, c.at("type").LineOf()), "%s is not a known checkpoint type; it is treated as human_verify", oneline.Quote(p.native))
		p.native = string(pawl.HumanVerify)
	}
	r.setName(c.text("cluster"))
	p.block = cmp.Or(p.block, r.state.block)
	p.number = c.number("thread")
	r.checkpointThreads(c, p)
	r.checkpointBlock(c, p, f)
	r.checkpointFacts(c)
	c.unusedFacts(r.out.Facts, "checkpoint")
}

// checkpointFiles returns all checkpoint files, CHECKPOINT.md first.
func (r *clusterReader) checkpointFiles() []format.File {
	var all []format.File
	for _, f := range r.files {
		rest, inside := strings.CutPrefix(f.Path, r.grid)
		if !inside || strings.HasPrefix(rest, "archive/") || strings.HasPrefix(rest, "plans/") || strings.HasPrefix(rest, "clusters/") {
			continue
		}
		if name := path.Base(rest); strings.HasPrefix(name, "CHECKPOINT") && strings.HasSuffix(name, ".md") {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b format.File) int {
		return cmp.Or(cmp.Compare(len(a.Path), len(b.Path)), strings.Compare(a.Path, b.Path))
	})
	return all
}

// checkpointThreads reads the threads that are done, in progress and pending.
func (r *clusterReader) checkpointThreads(c yamlRecord, p *checkpointRead) {
	item := func(e yamlRecord, status pawl.ItemStatus) format.Item {
		t := format.Item{
			ID: string(threadID(p.block, e.text("id"))), Name: e.text("name"), Native: e.text("status"), Status: status,
			Commit: e.text("commit"), Outputs: r.paths(c.file, e.root.Line, e.texts("files")),
		}
		if t.Native == "partial" {
			t.Status = pawl.ItemRunning
		}
		return t
	}
	var threads []format.Item
	for _, e := range c.records("completed_threads") {
		threads = append(threads, item(e, pawl.ItemIsDone))
	}
	if v := c.at("current_thread"); v != nil && v.Kind == yamledit.Map {
		threads = append(threads, item(c.in(v), pawl.ItemRunning))
		p.thread = pawl.ItemID(threads[len(threads)-1].ID)
	}
	for _, e := range c.records("pending_threads") {
		threads = append(threads, item(e, pawl.ItemPending))
	}
	if p.block == "" {
		return
	}
	b := r.block(p.block)
	for _, t := range threads {
		if t.ID != "" {
			b.thread(t)
		}
	}
	if p.thread == "" && p.number > 0 {
		p.thread = threadID(p.block, c.text("thread"))
	}
	if p.thread != "" && p.name != "" {
		b.thread(format.Item{ID: string(p.thread), Name: p.name, Status: pawl.ItemPending})
	}
	if !b.complete() {
		r.dropGoneCommits(b, report.Where(c.file, c.root.Line))
	}
}

// checkpointBlock applies the checkpoint to its block, and adds its gate.
func (r *clusterReader) checkpointBlock(c yamlRecord, p *checkpointRead, f *format.File) {
	saved := format.Checkpoint{
		ID: "CHECKPOINT", Kind: pawl.CheckpointGate, Native: p.native, Time: c.time("timestamp"), Valid: true, Where: f.Path,
		Reason: cmp.Or(c.text("awaiting"), c.text("reason")),
	}
	if saved.Time.IsZero() {
		saved.Time = f.Changed.UTC()
	}
	expires := c.time("expires")
	p.outdated = !expires.IsZero() && expires.Before(r.now)
	if p.block != "" {
		b := r.block(p.block)
		saved.Step = b.ID
		b.Partial = r.partial(c)
		p.old = b.complete() && b.summary != ""
		r.checkpointStatus(b, c, p)
		for _, t := range b.threads {
			if t.Status == pawl.ItemIsDone {
				for _, name := range t.Outputs {
					saved.Claims = append(saved.Claims, format.Claim{Path: name})
				}
			}
		}
	}
	if asks := gateType(p.native); asks == "" {
		saved.Kind = pawl.CheckpointEmergency
		r.point.answer = ""
		if p.native == failureType && !p.old {
			r.out.Gates = append(r.out.Gates, r.failureGate(p, saved))
		}
	} else if !p.old || p.answer != "" {
		r.out.Gates = append(r.out.Gates, r.gate(c, p, asks, saved, expires))
	}
	r.out.Checkpoints = append(r.out.Checkpoints, saved)
}

func (r *clusterReader) checkpointStatus(b *block, c yamlRecord, p *checkpointRead) {
	switch {
	case p.old:
		r.Find(pawl.Warn, c.file, "archive it", "block %s has a newer summary; this checkpoint is outdated", b.id)
		return
	case p.native == failureType:
		b.Status = pawl.FailedForGood
		p.failure = cmp.Or(errorIn(c), noReason)
		b.Why = p.failure
	case p.native == sessionDeath || p.answer != "":
		b.Status, b.Why = pawl.Running, "its session died"
		if p.answer != "" {
			b.Why = "its session died after the answer"
		}
	default:
		b.Status = pawl.AwaitsGate
	}
	b.Native = p.native
}

// noReason stands for the reason that a checkpoint of type failure lacks.
const noReason = "no reason given"

// errorIn returns what went wrong, as a checkpoint of type failure says it.
func errorIn(c yamlRecord) string {
	return cmp.Or(c.text("error"), c.text("checkpoint_details", "error"), c.text("checkpoint_details", "reason"))
}

// failureGate asks what to do about a failure: The Grid presents it before anybody continues.
func (r *clusterReader) failureGate(p *checkpointRead, saved format.Checkpoint) format.Gate {
	g := pawl.Gate{Step: saved.Step, Item: p.thread, Type: pawl.HumanVerify, Opened: saved.Time}
	what, begun := "the work of cluster "+r.out.Name, ""
	g.Expect = "Approve to run it again. To go back first, restore the files (git stash keeps what is not committed), then approve."
	if b := r.blocks[p.block]; b != nil {
		what = p.place(b)
		g.Expect += " If you finish it yourself: pawl done " + string(b.ID) + " -m WHY."
		begun = begunText(b.Partial)
	} else {
		g.Purpose = pawl.ForRebuilt // nothing starts before the answer
	}
	g.Ask = fmt.Sprintf("Run %s again, from the existing work? It failed: %s%s", what, cmp.Or(p.failure, noReason), begun)
	g.ID = g.Identify()
	return format.Gate{Gate: g, Native: failureType}
}

// begunText names the files of unfinished work.
func begunText(w *format.Partial) string {
	if w == nil || len(w.Created)+len(w.Modified) == 0 {
		return ""
	}
	return "\nUnfinished files: " + someOf(slices.Concat(w.Created, w.Modified))
}

// partial returns the unfinished work of the current thread.
func (r *clusterReader) partial(c yamlRecord) *format.Partial {
	v := c.at("current_thread", "partial_work")
	if v == nil {
		v = c.at("partial_work")
	}
	if v == nil || v.Kind != yamledit.Map {
		return nil
	}
	w := c.in(v)
	return &format.Partial{
		Created: r.paths(c.file, v.Line, w.texts("files_created")), Modified: r.paths(c.file, v.Line, w.texts("files_modified")),
		Staged: w.truth("staged_changes"), Last: w.text("last_action"),
	}
}

// gate adds the gate of the checkpoint.
func (r *clusterReader) gate(c yamlRecord, p *checkpointRead, asks pawl.GateType, saved format.Checkpoint, expires time.Time) format.Gate {
	g := format.Gate{Native: p.native, Answer: p.answer}
	g.Step, g.Item, g.Type, g.Opened, g.Expires = saved.Step, p.thread, asks, saved.Time, expires
	g.Ask = joinTexts(c.text("awaiting"), c.text("checkpoint_details", "question"), c.text("checkpoint_details", "verification_instructions"),
		c.text("checkpoint_details", "action"), c.text("checkpoint_details", "instructions"))
	if g.Ask == "" {
		g.Ask = cmp.Or(p.name, "The checkpoint has no question.")
	}
	g.Expect = c.text("checkpoint_details", "expected_behavior")
	c.text("checkpoint_details", "gate") // written by pawl
	if asks == pawl.DecisionFor {
		g.Options = optionsOf(c, "checkpoint_details", "options")
		g.Default = c.text("checkpoint_details", "default")
	} else {
		g.Purpose = pawl.ForImported
	}
	g.ID = g.Identify()
	if p.answer != "" {
		means := replyFor(g.Gate, p.answer)
		g.Means, p.rejected = &means, means.Answer == pawl.Rejected
	}
	return g
}

func joinTexts(texts ...string) string {
	var all []string
	for _, t := range texts {
		if t != "" && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return strings.Join(all, "\n\n")
}

// optionsOf returns the names of options: a list of strings or of maps, or a map by name.
func optionsOf(c yamlRecord, at ...string) []string {
	v := c.at(at...)
	switch {
	case v == nil:
		return nil
	case v.Kind == yamledit.Map:
		var names []string
		for _, p := range v.Pairs {
			names = append(names, p.Key)
		}
		return names
	}
	names := c.texts(at...)
	for _, e := range c.records(at...) {
		if name := cmp.Or(e.text("name"), e.text("id"), e.text("key"), e.text("option"), e.text("label")); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// checkpointFacts reads the progress, and adds memories and facts.
func (r *clusterReader) checkpointFacts(c yamlRecord) {
	for _, l := range categories {
		for _, text := range c.texts("warmth", l.key) {
			r.learn(l.kind, text)
		}
	}
	done, total := c.number("progress", "blocks_complete"), c.number("progress", "blocks_total")
	if r.out.Position.StepTotal == 0 {
		r.out.Position.StepTotal = total
	}
	if total > 0 {
		r.fact("checkpoint_blocks", of(done, total))
	}
	if done, total := c.number("progress", "threads_complete"), c.number("progress", "threads_total"); total > 0 {
		r.fact("checkpoint_threads", of(done, total))
		if r.point.block != "" {
			b := r.block(r.point.block)
			b.Done, b.Total = done, total
		}
	}
}
