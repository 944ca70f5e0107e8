package grid

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
)

// subject matches the first line of a commit by an agent of The Grid. Only a scope of two digits is a block.
var subject = lazyregexp.New(`^([a-z]+)\((\d{2})\)!?:\s*(.*)$`)

// bookkeeping matches commits of The Grid's own files, which are not threads.
var bookkeeping = lazyregexp.New(`(?i)\b(summary|state)\b`)

// readHistory assigns the commits that name an incomplete block to its threads.
func (r *clusterReader) readHistory() {
	byBlock := map[string][]format.Commit{}
	for _, c := range slices.Backward(r.commits) {
		if m := subject.FindStringSubmatch(firstLine(c.Message)); m != nil {
			id := blockID(m[2])
			byBlock[id] = append(byBlock[id], c)
			if r.newest.Hash == "" || !c.Time.Before(r.newest.Time) {
				r.newest, r.newestBlock = c, id
			}
		}
	}
	for id, commits := range byBlock {
		r.blockHistory(r.block(id), commits)
	}
}

func (r *clusterReader) blockHistory(b *block, commits []format.Commit) {
	if len(b.gone) > 0 { // which thread a commit belongs to is not known
		b.Commits = append(b.Commits, slices.DeleteFunc(commits, func(c format.Commit) bool {
			return slices.ContainsFunc(b.Commits, func(claimed format.Commit) bool { return sameHash(claimed.Hash, c.Hash) })
		})...)
		return
	}
	if b.summary != "" { // the summary lists the commits
		if last := commits[len(commits)-1].Time; b.undated && !last.IsZero() {
			b.Ended = last.UTC()
		}
		return
	}
	b.Commits = append(b.Commits, commits...)
	if len(b.threads) > 0 && b.threads[0].Status == pawl.ItemIsDone {
		return
	}
	for _, c := range commits {
		m := subject.FindStringSubmatch(firstLine(c.Message))
		if m[1] == "docs" && bookkeeping.MatchString(m[3]) {
			continue
		}
		b.fromGit++
		b.thread(format.Item{
			ID: b.id + "." + strconv.Itoa(b.fromGit), Name: m[3], Status: pawl.ItemIsDone, Native: "in git", Commit: c.Hash,
			Outputs: r.paths("git", 0, c.Files),
		})
	}
}

// rebuild determines the position from summaries and git if there is no state.
func (r *clusterReader) rebuild() {
	if len(r.blocks) == 0 {
		return
	}
	r.fact("recovered", "true")
	r.fact("confidence", "medium")
	r.setName("unknown")
	r.out.Position = pawl.Position{StepTotal: len(r.blocks)}
	r.out.Status = pawl.StatusInterrupted
	done := 0
	for _, b := range r.order() {
		if b.complete() {
			done++
		}
	}
	r.out.Percent = 100 * done / len(r.blocks)
	from := "the summaries"
	if len(r.commits) > 0 {
		from += " and git"
	}
	r.fact("recovered_from", from)
	r.Add(pawl.Finding{Level: pawl.Warn, What: "there is no readable state; it was rebuilt from the other files, confidence medium",
		Where: r.grid + "STATE.md", Evidence: of(done, len(r.blocks)) + " blocks have a summary", Hint: "review it before you resume"})
}

// askRebuilt adds a gate: a person must confirm a rebuilt position.
func (r *clusterReader) askRebuilt() {
	why, expect := "No STATE.md could be read", "If you approve, the run continues from there; if you reject, it stops."
	if gone := r.goneText(); gone != "" {
		why = "Commits that its files claim do not exist in git (" + gone + ")"
		expect += " If the work of a block is there, mark the block as done: pawl done BLOCK -m WHY."
	} else if r.state.shape != "" {
		return
	}
	if len(r.blocks) == 0 {
		return
	}
	var done, open []string
	for _, b := range r.order() {
		if b.complete() {
			done = append(done, b.id)
		} else {
			open = append(open, b.id)
		}
	}
	g := pawl.Gate{Type: pawl.HumanVerify, Purpose: pawl.ForRebuilt, Ask: fmt.Sprintf(
		"Is this the state of cluster %s? %s; pawl rebuilt it from %s, confidence medium.\n- complete: %s\n- not complete: %s\n- %s",
		r.out.Name, why, r.out.Facts["recovered_from"], orNone(done), orNone(open), r.out.Next), Expect: expect}
	g.ID = g.Identify()
	r.out.Gates = slices.Insert(r.out.Gates, 0, format.Gate{Gate: g, Native: "rebuilt"})
}

// askActive adds a gate if a session seems to be working on the cluster: two sessions must not do the same work.
func (r *clusterReader) askActive() {
	if !strings.HasPrefix(r.out.Resume, stillActive) {
		return
	}
	g := pawl.Gate{Type: pawl.HumanVerify, Purpose: pawl.ForRebuilt, Opened: r.lastSign(), Ask: fmt.Sprintf(
		"Cluster %s is %s: its last activity was at %s, and The Grid resumes a session only after %d minutes without activity. Has that session ended?",
		r.out.Name, stillActive, stamp(r.lastSign()), int(sessionTimeout.Minutes())), Expect: "If you approve, the run continues the work of that session; if you reject, it stops."}
	g.ID = g.Identify()
	r.out.Gates = slices.Insert(r.out.Gates, 0, format.Gate{Gate: g, Native: "active"})
}

func orNone(ids []string) string { return cmp.Or(strings.Join(ids, ", "), "none") }

// died reports whether a session died without a checkpoint.
func (r *clusterReader) died() bool {
	return (r.point == nil || r.point.old) && (r.state.shape == "" || strings.HasPrefix(r.out.Resume, "stale") || strings.EqualFold(r.state.native, "interrupted"))
}

// lostSession builds the checkpoint of a session that died without one, from git and the scratchpad's last entry.
func (r *clusterReader) lostSession() {
	b := r.lostBlock()
	if b == nil {
		return
	}
	last := r.scratch
	if last == "" && len(b.Commits) > 0 {
		last = firstLine(b.Commits[len(b.Commits)-1].Message)
	}
	if b.Partial == nil {
		b.Partial = &format.Partial{Last: last}
	}
	b.Status, b.Why = pawl.Running, "its session died without a checkpoint"
	saved := format.Checkpoint{
		ID: "synthetic", Kind: pawl.CheckpointEmergency, Step: b.ID, Native: sessionDeath, Time: r.lastSign(), Valid: true,
		Reason: "made from git and the scratchpad, since the session died without one",
	}
	for _, t := range b.threads {
		if t.Status == pawl.ItemIsDone {
			for _, name := range t.Outputs {
				saved.Claims = append(saved.Claims, format.Claim{Path: name})
			}
		}
	}
	r.out.Checkpoints = append(r.out.Checkpoints, saved)
	r.lost = b
}

var threadHint = lazyregexp.New(`(?i)\bthread\s+#?(\d{1,3}(?:\.\d{1,3})?)\b`)

// lostBlock returns the block that was in progress: the one in the state, else the one of the scratchpad or the newest
// commit, if it is not complete. Without a state, git must have commits of it.
func (r *clusterReader) lostBlock() *block {
	ids := []string{r.currentBlock()}
	if m := affected.FindStringSubmatch(r.scratch); m != nil {
		ids = append(ids, blockID(m[1]))
	}
	ids = append(ids, r.newestBlock)
	for _, id := range ids {
		if b := r.blocks[id]; b != nil && !b.complete() && (r.state.shape != "" || b.fromGit > 0) {
			return b
		}
	}
	return nil
}

// lastSign returns the time of the last activity. Times in the future are ignored.
func (r *clusterReader) lastSign() time.Time {
	last := later(r.state.updated, r.beat)
	if last.IsZero() && r.state.file != nil {
		last = r.notFuture(r.state.file.Changed.UTC())
	}
	return later(last, r.notFuture(r.newest.Time.UTC()))
}
