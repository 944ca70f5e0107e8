package grid

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/redact"
	"pawl/internal/textedit/yamledit"
)

// checkpoint updates CHECKPOINT.md. It exists while a question is open, and while the run is interrupted or failed. There is
// never more than one; an old one is archived.
func (w *clusterWriter) checkpoint() {
	f := w.file("CHECKPOINT.md")
	if f != nil && w.isUnread(f) {
		return
	}
	want := w.wantedCheckpoint()
	if want == nil {
		if f != nil {
			w.archiveCheckpoint(f)
			w.remove("CHECKPOINT.md")
		}
		return
	}
	if f == nil {
		w.put("CHECKPOINT.md", newFrontMatter(w.checkpointFields(want), ""))
		return
	}
	r := &clusterReader{now: w.Now}
	there, _, _ := r.front(f, true)
	if w.sameCheckpoint(there, want) {
		w.merge("CHECKPOINT.md", func(there yamlRecord) *yamledit.Value {
			if !w.sameCheckpoint(there, want) {
				return nil // the next write would archive it
			}
			return w.checkpointNews(there, want)
		}, func() []byte { return newFrontMatter(w.checkpointFields(want), "") })
		return
	}
	w.archiveCheckpoint(f)
	w.put("CHECKPOINT.md", newFrontMatter(w.checkpointFields(want), ""))
}

// isUnread reports whether a running executor wrote the checkpoint for a person: when it has ended, pawl reads it.
func (w *clusterWriter) isUnread(f *format.File) bool {
	r := &clusterReader{now: w.Now}
	there, _, _ := r.front(f, true)
	native, k := there.at("type").Says(), w.byBlock[blockID(there.at("block").Says())]
	if k == nil || k.state == nil || gateType(native) == "" && native != failureType || there.at("checkpoint_details", "gate").Says() != "" {
		return false
	}
	return slices.ContainsFunc(k.state.Live(), func(live *pawl.AttemptState) bool { return f.Changed.After(live.Started) })
}

func (w *clusterWriter) archiveCheckpoint(f *format.File) {
	r := &clusterReader{now: w.Now}
	there, _, _ := r.front(f, true)
	what := pawl.SlugOf(cmp.Or(there.at("type").Says(), "checkpoint"))
	at, _, _ := format.ParseTimeIn(there.at("timestamp").Says(), w.Now.Location())
	w.archive(f, what, at)
}

// asking is the content of a checkpoint.
type asking struct {
	native string     // its type
	block  *blockStep // nil: the run as a whole
	at     time.Time
	until  time.Time
	await  string
	detail []yamledit.Pair
	answer string
	ask    string          // the question of the gate
	gate   *pawl.GateState // nil: no question
}

// wantedCheckpoint returns the checkpoint for the current state, nil if there should be none.
func (w *clusterWriter) wantedCheckpoint() *asking {
	if g := w.question(); g != nil {
		return w.askingGate(g)
	}
	switch w.Status {
	case pawl.StatusActive, pawl.StatusCompleted:
		return nil
	case pawl.StatusFailed:
		return w.askingFailure()
	case pawl.StatusWaiting:
		return w.askingBlocker()
	}
	if w.reopened() {
		return nil
	}
	a := &asking{native: sessionDeath, block: w.currentBlock(), at: w.updated()}
	if w.Checkpoint != nil && w.Checkpoint.Kind == pawl.CheckpointEmergency && !w.Checkpoint.Time.IsZero() {
		a.at = w.Checkpoint.Time
	}
	if w.State.Why != "" {
		a.detail = append(a.detail, pair("reason", yamledit.Text(w.State.Why)))
	}
	return a
}

// reopened reports whether the run had ended and a person reopened it: no session died since.
func (w *clusterWriter) reopened() bool {
	return w.State.Status == pawl.StatusActive && w.State.Why != "" && w.State.Engine == nil && !slices.ContainsFunc(w.works, func(k *blockStep) bool {
		return k.begun() && (len(k.state.Live()) > 0 || k.state.Retries.Last != nil && k.state.Retries.Last.CutShort())
	})
}

func (w *clusterWriter) askingGate(g *pawl.GateState) *asking {
	a := &asking{native: string(g.Type), block: w.byStep[g.Step], at: g.Opened, until: g.Expires, await: g.Ask, ask: g.Ask, gate: g}
	switch g.Type {
	case pawl.HumanVerify:
		a.detail = append(a.detail, pair("verification_instructions", yamledit.Text(g.Ask)))
		if g.Expect != "" {
			a.detail = append(a.detail, pair("expected_behavior", yamledit.Text(g.Expect)))
		}
		a.await = "User to look, and to respond 'approved' or describe issues: " + firstLine(g.Ask)
	case pawl.DecisionFor:
		options := yamledit.ListOf()
		for _, o := range g.Options {
			options.Items = append(options.Items, yamledit.Text(o))
		}
		a.detail = append(a.detail, pair("question", yamledit.Text(g.Ask)), pair("options", options))
		if g.Default != "" {
			a.detail = append(a.detail, pair("default", yamledit.Text(g.Default)))
		}
	case pawl.HumanAction:
		a.detail = append(a.detail, pair("action", yamledit.Text(g.Ask)))
	}
	a.detail = append(a.detail, pair("gate", yamledit.Text(w.gateMark(g))))
	a.answer = answerWords(g)
	return a
}

// answerWords returns what a person said to a gate, as The Grid writes it.
func answerWords(g *pawl.GateState) string {
	if g.Answer == nil {
		return ""
	}
	switch g.Answer.Answer {
	case pawl.Approved:
		return "approved"
	case pawl.Chosen:
		return g.Answer.Option
	}
	return string(g.Answer.Answer) + strings.TrimSuffix(": "+g.Answer.Why, ": ")
}

// sameAnswer reports whether a user_response means the same as the gate's answer.
func sameAnswer(g *pawl.GateState, said string) bool {
	means := replyFor(g.Gate, said)
	return said != "" && means.Answer == g.Answer.Answer && means.Option == g.Answer.Option && (means.Why == "" || redact.OfProcess().Text(means.Why) == g.Answer.Why)
}

func (w *clusterWriter) askingFailure() *asking {
	a := &asking{native: failureType, at: w.updated(), await: "User to choose: retry it, roll back, or finish it manually"}
	for _, k := range w.works {
		if k.state != nil && k.state.Status == pawl.FailedForGood {
			a.block, a.at = k, firstKnown(k.state.Ended, w.updated())
			break
		}
	}
	a.detail = append(a.detail, pair("error", w.failure()))
	return a
}

// askingBlocker returns a checkpoint without a gate: a blocker to clear, or a review.
func (w *clusterWriter) askingBlocker() *asking {
	a := &asking{native: string(pawl.HumanAction), block: w.currentBlock(), at: w.updated()}
	if open := w.State.OpenBlockers(); len(open) > 0 {
		b := open[0]
		a.block, a.at = cmp.Or(w.byStep[b.Step], a.block), firstKnown(b.Opened, a.at)
		a.await = cmp.Or(b.Needs, b.Text)
		a.ask = a.await
		a.detail = append(a.detail, pair("action", yamledit.Text(b.Text)))
		return a
	}
	a.native, a.await = string(pawl.HumanVerify), "User to review"
	if a.block != nil {
		a.await += " block " + a.block.block + ": " + a.block.name()
	}
	return a
}

// sameCheckpoint reports whether a file is the wanted checkpoint: the same type, block and question, and not older.
func (w *clusterWriter) sameCheckpoint(there yamlRecord, want *asking) bool {
	native := there.at("type").Says()
	if native == "checkpoint" {
		native = string(pawl.HumanVerify)
	}
	sameBlock := want.block == nil || blockID(there.at("block").Says()) == want.block.block
	if native == failureType && want.gate != nil && sameBlock { // the question about it; see failureGate
		failed := errorIn(there)
		return failed != "" && strings.Contains(want.ask, failed)
	}
	if native != want.native || !sameBlock {
		return false
	}
	if want.ask == "" {
		return true
	}
	if want.gate != nil {
		shown, mark := there.at("checkpoint_details", "gate").Says(), w.gateMark(want.gate)
		if shown != "" || mark != string(want.gate.ID) {
			return shown == mark
		}
	}
	for _, asked := range []string{
		there.at("awaiting").Says(), there.at("checkpoint_details", "verification_instructions").Says(), there.at("checkpoint_details", "question").Says(),
		there.at("checkpoint_details", "action").Says(), there.at("thread_name").Says(),
	} {
		if asked != "" && (strings.Contains(want.ask, asked) || asked == firstLine(want.ask)) {
			return true
		}
	}
	return false
}

// checkpointNews returns the values that changed since a checkpoint was written.
func (w *clusterWriter) checkpointNews(there yamlRecord, want *asking) *yamledit.Value {
	v := yamledit.MapOf()
	add := func(key string, value *yamledit.Value) { v.Pairs = append(v.Pairs, pair(key, value)) }
	if said := there.at("user_response").Says(); want.answer != "" && !sameAnswer(want.gate, said) {
		add("user_response", yamledit.Text(want.answer))
	}
	if want.native == sessionDeath && w.newer(there.at("timestamp").Says(), want.at) {
		add("timestamp", yamledit.Text(stamp(want.at)))
	}
	if want.block == nil {
		return v
	}
	threads := w.threadsFor(want)
	if len(threads) == 0 {
		return v
	}
	now, done := currentOf(threads)
	if there.at("progress") != nil {
		add("progress", w.progressFields(threads, done))
	}
	if now != nil && want.native == sessionDeath {
		add("thread", yamledit.Number(now.number))
		add("thread_name", yamledit.Text(now.Name))
	}
	if there.at("completed_threads") != nil || done > 0 {
		add("completed_threads", completedList(threads))
	}
	if there.at("current_thread") != nil && now != nil {
		add("current_thread", w.currentThread(want.block, now))
	}
	if there.at("pending_threads") != nil {
		add("pending_threads", pendingList(threads, now))
	}
	return v
}

// checkpointFields returns all values of a new checkpoint, in the document's full shape.
func (w *clusterWriter) checkpointFields(a *asking) *yamledit.Value {
	v := yamledit.MapOf(pair("type", yamledit.Word(a.native)), pair("timestamp", yamledit.Text(stamp(a.at))))
	add := func(key string, value *yamledit.Value) { v.Pairs = append(v.Pairs, pair(key, value)) }
	expires := yamledit.Nothing()
	if !a.until.IsZero() {
		expires = yamledit.Text(stamp(a.until))
	}
	add("expires", expires)
	add("cluster", yamledit.Word(w.cluster))
	var threads []thread
	if a.block != nil {
		threads = w.threadsFor(a)
		add("block", yamledit.Text(a.block.block))
		if !w.importedWaves {
			add("wave", yamledit.Number(max(a.block.wave, 1)))
		}
	}
	now, done := currentOf(threads)
	switch {
	case now != nil:
		add("thread", yamledit.Number(now.number))
		add("thread_name", yamledit.Text(now.Name))
	case a.block != nil:
		add("thread", yamledit.Number(max(len(threads), 1)))
		add("thread_name", yamledit.Text(a.block.name()))
	}
	add("progress", w.progressFields(threads, done))
	add("completed_threads", completedList(threads))
	if gateType(a.native) == "" && a.block != nil {
		add("current_thread", w.currentThread(a.block, now))
		add("pending_threads", pendingList(threads, now))
	}
	if len(a.detail) > 0 {
		add("checkpoint_details", yamledit.MapOf(a.detail...))
	}
	if a.await != "" {
		add("awaiting", yamledit.Text(a.await))
	}
	if a.answer != "" {
		add("user_response", yamledit.Text(a.answer))
	}
	if warmth := w.warmthFields(); len(warmth.Pairs) > 0 {
		add("warmth", warmth)
	}
	return v
}

// threadsFor returns the threads of the checkpoint's block. If a block was interrupted after all the threads that it named,
// the next one is current.
func (w *clusterWriter) threadsFor(a *asking) []thread {
	threads := w.withCommits(a.block, w.threads(a.block))
	if now, _ := currentOf(threads); now != nil || len(threads) == 0 || gateType(a.native) != "" || a.block.finished() {
		return threads
	}
	next := threads[len(threads)-1].number + 1
	item := format.Item{ID: a.block.block + "." + strconv.Itoa(next), Name: a.block.name(), Status: pawl.ItemRunning}
	return append(threads, thread{Item: item, number: next})
}

func (w *clusterWriter) progressFields(threads []thread, done int) *yamledit.Value {
	total, complete := len(threads), 0
	if total > 0 {
		total = max(total, threads[total-1].number)
	}
	for _, k := range w.works {
		if k.done() {
			complete++
		}
	}
	return yamledit.MapOf(
		pair("blocks_complete", yamledit.Number(complete)), pair("blocks_total", yamledit.Number(len(w.works))),
		pair("threads_complete", yamledit.Number(done)), pair("threads_total", yamledit.Number(total)),
	)
}

func completedList(threads []thread) *yamledit.Value {
	list := yamledit.ListOf()
	for _, t := range threads {
		if t.Status != pawl.ItemIsDone {
			continue
		}
		item := yamledit.MapOf(pair("id", yamledit.Text(t.ID)), pair("name", yamledit.Text(t.Name)))
		if t.Commit != "" {
			item.Pairs = append(item.Pairs, pair("commit", yamledit.Text(t.Commit)))
		}
		if len(t.Outputs) > 0 {
			item.Pairs = append(item.Pairs, pair("files", inlineList(t.Outputs)))
		}
		item.Pairs = append(item.Pairs, pair("status", yamledit.Word("complete")))
		list.Items = append(list.Items, item)
	}
	return list
}

func pendingList(threads []thread, now *thread) *yamledit.Value {
	list := yamledit.ListOf()
	for i := range threads {
		if t := &threads[i]; t.Status != pawl.ItemIsDone && t != now {
			list.Items = append(list.Items, yamledit.MapOf(pair("id", yamledit.Text(t.ID)), pair("name", yamledit.Text(t.Name)), pair("status", yamledit.Word("pending"))))
		}
	}
	return list
}

// currentThread returns the unfinished work. Unknown values are left out.
func (w *clusterWriter) currentThread(k *blockStep, now *thread) *yamledit.Value {
	v := yamledit.MapOf(pair("id", yamledit.Text(k.block+".1")), pair("name", yamledit.Text(k.name())))
	if now != nil {
		v = yamledit.MapOf(pair("id", yamledit.Text(now.ID)), pair("name", yamledit.Text(now.Name)))
	}
	status := "pending"
	if k.begun() || now != nil && now.Status == pawl.ItemRunning {
		status = "in_progress"
	}
	v.Pairs = append(v.Pairs, pair("status", yamledit.Word(status)))
	work := yamledit.MapOf()
	var p *format.Partial
	if w.Partial != nil {
		p = w.Partial(k.ID)
	}
	if p != nil {
		work.Pairs = append(work.Pairs, pair("files_created", inlineList(w.unfinishedFiles(k, p.Created))), pair("files_modified", inlineList(w.unfinishedFiles(k, p.Modified))),
			pair("staged_changes", yamledit.Truth(p.Staged)))
	}
	if last := w.lastAction(k, p); last != "" {
		work.Pairs = append(work.Pairs, pair("last_action", yamledit.Text(last)))
	}
	if len(work.Pairs) > 0 {
		v.Pairs = append(v.Pairs, pair("partial_work", work))
	}
	return v
}

// unfinishedFiles returns the files that are not the work of finished threads, or have changed since.
func (w *clusterWriter) unfinishedFiles(k *blockStep, names []string) []string {
	finished, commits := map[string]bool{}, w.commitsDuring(k)
	for _, t := range w.withCommits(k, w.threads(k)) {
		if t.Status != pawl.ItemIsDone {
			continue
		}
		files := t.Outputs
		for _, c := range commits {
			if sameHash(c.Hash, t.Commit) {
				files = slices.Concat(files, c.Files)
			}
		}
		for _, name := range files {
			finished[name] = w.Uncommitted == nil || !w.Uncommitted(name)
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return finished[name] })
}

func (w *clusterWriter) lastAction(k *blockStep, p *format.Partial) string {
	if p != nil && p.Last != "" {
		return oneLine(p.Last)
	}
	if k.state != nil && k.state.Progress != nil {
		return oneLine(k.state.Progress.Text)
	}
	return ""
}

func inlineList(texts []string) *yamledit.Value {
	list := yamledit.ListOf()
	list.Inline = true
	for _, t := range texts {
		list.Items = append(list.Items, yamledit.Text(t))
	}
	return list
}
