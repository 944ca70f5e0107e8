package grid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/oneline"
)

// isGone reports whether git has no commit that a file claims. Without git that is unknown.
func (r *clusterReader) isGone(hash string) bool {
	return hash != "" && r.env.HasCommit != nil && !hasCommit(r.env, hash)
}

func hasCommit(env format.Env, hash string) bool {
	return hexWord.MatchString(strings.ToLower(hash)) && env.HasCommit(hash)
}

// dropGoneCommits removes the commits of a block that git does not have, and returns them. A thread whose commit is gone is
// pending: nothing proves that it is done.
func (r *clusterReader) dropGoneCommits(b *block, where string) (gone []string) {
	drop := func(hash string) bool {
		if !r.isGone(hash) {
			return false
		}
		if !slices.Contains(gone, hash) {
			gone = append(gone, hash)
		}
		return true
	}
	b.Commits = slices.DeleteFunc(b.Commits, func(c format.Commit) bool { return drop(c.Hash) })
	for i := range b.threads {
		if t := &b.threads[i]; drop(t.Commit) {
			t.Status, t.Native, t.Commit = pawl.ItemPending, "", ""
		}
	}
	if len(gone) > 0 {
		b.gone = append(b.gone, gone...)
		r.Find(pawl.Warn, where, "check whether the work is there; pawl asks before it runs the block again",
			"block %s is not proven: commits that it claims do not exist: %s", b.id, someOf(gone))
	}
	return gone
}

// goneText names the commits that the files claim and git does not have, by block; empty if there are none.
func (r *clusterReader) goneText() string {
	var all []string
	for _, b := range r.order() {
		if len(b.gone) > 0 {
			all = append(all, fmt.Sprintf("block %s: %s", b.id, someOf(b.gone)))
		}
	}
	return strings.Join(all, "; ")
}

// someOf lists the first of some names.
func someOf(names []string) string {
	const most = 5
	text := oneline.Paths(names[:min(len(names), most)])
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// enterRecovery enters the document's recovery mode if files claim commits that do not exist: the position is what the other
// summaries and git show, and a person confirms it.
func (r *clusterReader) enterRecovery() {
	if r.goneText() == "" {
		return
	}
	r.fact("recovered", "true")
	r.fact("confidence", "medium")
	r.out.Facts["recovered_from"] = cmp.Or(r.out.Facts["recovered_from"], "the summaries and git")
	if r.out.Status == pawl.StatusCompleted {
		r.out.Status = pawl.StatusInterrupted
	}
	if !strings.HasPrefix(r.out.Resume, stillActive) {
		r.out.Resume = "rebuilt: review it first"
	}
}
