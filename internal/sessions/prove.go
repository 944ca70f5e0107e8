package sessions

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/outputs"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// prover verifies outputs. A file that has not changed since the newest good snapshot needs no reading. Others are
// hashed within limits of time and size.
type prover struct {
	root   string
	run    *runs.Run
	byPath map[string]resume.OutputRecord // newest record of each path
	until  time.Time
	budget int64 // bytes that may still be hashed

	store   *snapshot.Store  // nil if there is no snapshot to compare with
	base    snapshot.Record  // the newest good snapshot
	touched map[string]bool  // paths changed since base, and their parent folders
	leftOut []string         // paths missing from base, sorted
	folders map[string]names // folders of base by path

	items  map[pawl.StepID][]string // paths that a step's items recorded
	unread map[pawl.StepID]int      // number of items whose records were not read
	proven bool                     // all records were read so far, and the snapshot has proven all paths
}

// names are the entries of a folder.
type names map[string]snapshot.Entry

const (
	maxHashedFiles = 20_000 // maximum files in a folder that is hashed
	maxProofs      = 100    // maximum paths listed per step
)

// useSnapshot adds to the prover what changed since a snapshot.
func (pr *prover) useSnapshot(store *snapshot.Store, base snapshot.Record, changes []snapshot.Change) {
	missing, err := store.LeftOutOf(base)
	if err != nil {
		return // then everything is hashed
	}
	for _, l := range missing {
		pr.leftOut = append(pr.leftOut, l.Path)
	}
	slices.Sort(pr.leftOut)
	pr.store, pr.base, pr.touched, pr.folders = store, base, make(map[string]bool, 2*len(changes)), map[string]names{}
	for _, c := range changes {
		for p := c.Path; p != "." && !pr.touched[p]; p = path.Dir(p) {
			pr.touched[p] = true
		}
	}
}

// status compares a path with its newest record.
func (pr *prover) status(name string, newest resume.OutputRecord) string {
	if pr.inSnapshot(name, newest) {
		return brief.Same
	}
	pr.proven = false
	recorded := newest.Content
	info, err := os.Stat(filepath.Join(pr.root, filepath.FromSlash(name)))
	switch {
	case os.IsNotExist(err) && !strings.ContainsAny(name, "*?["):
		return brief.Gone
	case err == nil && info.Mode().IsRegular() && recorded.Files == 0 && info.Size() != recorded.Size:
		return brief.Differs
	case recorded.Size > pr.budget || recorded.Files > maxHashedFiles || time.Now().After(pr.until):
		return brief.NotChecked
	}
	pr.budget -= recorded.Size
	now, err := outputs.HashOne(pr.root, name)
	switch {
	case err != nil:
		return brief.Gone
	case now == recorded:
		return brief.Same
	}
	return brief.Differs
}

// inSnapshot reports whether the snapshot proves a path: it did not change since, and the snapshot has the recorded
// content. A folder is proven only by the snapshot that was taken when its step ended: until a later one, others may have changed it.
func (pr *prover) inSnapshot(name string, newest resume.OutputRecord) bool {
	if pr.store == nil || pr.touched[name] || pr.incomplete(name) {
		return false
	}
	e, ok := pr.entry(name)
	if !ok {
		return false
	}
	if e.Kind == snapshot.File && newest.Content.Files == 0 {
		return e.ID.String() == newest.Content.SHA256
	}
	return pr.base.Kind == pawl.CheckpointStep && pr.base.Step == newest.Step && pr.base.Ended.After(pr.run.State.Steps[newest.Step].Started)
}

// incomplete reports whether the snapshot left out anything at, above or below a path.
func (pr *prover) incomplete(name string) bool {
	at, found := slices.BinarySearch(pr.leftOut, name)
	if found || at < len(pr.leftOut) && strings.HasPrefix(pr.leftOut[at], name+"/") {
		return true
	}
	below, _ := slices.BinarySearch(pr.leftOut, name+"/")
	return below < len(pr.leftOut) && strings.HasPrefix(pr.leftOut[below], name+"/")
}

// entry returns a path's entry in the snapshot.
func (pr *prover) entry(name string) (snapshot.Entry, bool) {
	folder, last := path.Split(name)
	in, ok := pr.folder(strings.TrimSuffix(folder, "/"))
	if !ok {
		return snapshot.Entry{}, false
	}
	e, ok := in[last]
	return e, ok
}

// folder returns a folder of the snapshot. It is read once.
func (pr *prover) folder(name string) (names, bool) {
	if known, ok := pr.folders[name]; ok {
		return known, known != nil
	}
	e := snapshot.Entry{Kind: snapshot.Folder, ID: pr.base.Tree}
	if name != "" {
		found, ok := pr.entry(name)
		if !ok || found.Kind != snapshot.Folder {
			pr.folders[name] = nil
			return nil, false
		}
		e = found
	}
	list, err := pr.store.List(e)
	if err != nil {
		pr.folders[name] = nil
		return nil, false
	}
	in := make(names, len(list))
	for _, e := range list {
		in[e.Name] = e
	}
	pr.folders[name] = in
	return in, true
}

// prove verifies the outputs of all finished work, last finished first.
func (g *briefer) prove(pr *prover) {
	base := pr.base.ID.String()
	if pr.store != nil && g.known.provedBy(base, pr.touched) {
		g.facts.Proofs = g.known.Proofs
		return
	}
	g.facts.Proofs = map[pawl.StepID]brief.Proof{}
	defer func() {
		if pr.proven {
			g.known.Base, g.known.Proofs, g.learned = base, g.facts.Proofs, true
			g.known.Paths = pathEnd + strings.Join(slices.Sorted(maps.Keys(pr.byPath)), pathEnd) + pathEnd
		}
	}()
	pr.proven = true
	pr.collect()
	unchecked := 0
	for _, id := range lastFirst(g.run.State) {
		st := g.run.State.Steps[id]
		proof := pr.step(id, st)
		g.facts.Proofs[id], unchecked = proof, unchecked+proof.Unchecked
		if st.Items == nil && !st.Finished() && st.Status != pawl.AwaitsReview { // it reruns
			continue
		}
		if len(proof.Differ) > 0 {
			g.warn(string(id), "pawl verify", "outputs of this finished step were edited: %s", firstOf(proof.Differ))
		}
		if len(proof.Missing) > 0 {
			g.warn(string(id), "pawl restore "+string(id), "outputs of this finished step were deleted: %s", firstOf(proof.Missing))
		}
	}
	if unchecked > 0 {
		g.unchecked("outputs not verified: %d; hashing takes longer than %s or exceeds %d MiB", unchecked, g.Timeout, resume.MaxHashed>>20)
	}
}

// firstOf lists the first paths.
func firstOf(paths []string) string {
	const most = 5
	text := strings.Join(paths[:min(len(paths), most)], ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// lastFirst returns the steps with finished work, last finished first.
func lastFirst(s *pawl.State) []pawl.StepID {
	ids := slices.DeleteFunc(slices.Collect(maps.Keys(s.Steps)), func(id pawl.StepID) bool {
		st := s.Steps[id]
		return len(st.Outputs) == 0 && (st.Items == nil || st.Items.Count == 0)
	})
	slices.SortFunc(ids, func(a, b pawl.StepID) int {
		return cmp.Or(cmp.Compare(s.Steps[b].Done, s.Steps[a].Done), cmp.Compare(a, b))
	})
	return ids
}

// collect reads the records of finished items, so that the newest record of each path counts.
func (pr *prover) collect() {
	pr.byPath = resume.NewestRecords(pr.run.State)
	pr.items, pr.unread = map[pawl.StepID][]string{}, map[pawl.StepID]int{}
	for _, id := range lastFirst(pr.run.State) {
		items := pr.run.State.Steps[id].Items
		if items == nil {
			continue
		}
		for index := range items.Total {
			if seq := items.Done.At(index); seq > 0 && !pr.item(id, items, index, seq) {
				pr.unread[id]++
				pr.proven = false
			}
		}
		slices.Sort(pr.items[id])
		pr.items[id] = slices.Compact(pr.items[id])
	}
}

// item reads an item's record. It reports false if time ran out or the record is unreadable.
func (pr *prover) item(id pawl.StepID, items *pawl.ItemsState, index int, seq pawl.Seq) bool {
	if time.Now().After(pr.until) {
		return false
	}
	done, err := runs.ReadItemDone(pr.run.Log, items, index)
	if err != nil {
		return false
	}
	for name, c := range done.Outputs {
		if seq > pr.byPath[name].Done {
			pr.byPath[name] = resume.OutputRecord{Step: id, Done: seq, Content: c}
		}
		pr.items[id] = append(pr.items[id], name)
	}
	return true
}

// step verifies the outputs of a step and its items.
func (pr *prover) step(id pawl.StepID, st *pawl.StepState) brief.Proof {
	proof := brief.Proof{Unchecked: pr.unread[id]}
	for _, name := range append(slices.Sorted(maps.Keys(st.Outputs)), pr.items[id]...) {
		pr.add(&proof, name, pr.byPath[name])
	}
	return proof
}

func (pr *prover) add(proof *brief.Proof, name string, newest resume.OutputRecord) {
	is := pr.status(name, newest)
	switch is {
	case brief.Same:
		proof.Same++
	case brief.NotChecked:
		proof.Unchecked++
	case brief.Gone:
		proof.Missing = append(proof.Missing, name)
	default:
		proof.Differ = append(proof.Differ, name)
	}
	if len(proof.Paths) < maxProofs {
		proof.Paths = append(proof.Paths, brief.Path{Name: name, Content: newest.Content, Is: is})
	}
}

// gates finds open gates whose content has changed.
func (g *briefer) gates(pr *prover) {
	g.facts.Moved = map[pawl.GateID]string{}
	for _, gate := range g.run.State.OpenGates() {
		if len(gate.Shown) == 0 {
			continue
		}
		size, files := int64(0), 0
		for _, c := range gate.Shown {
			size, files = size+c.Size, files+c.Files
		}
		if size > pr.budget || files > maxHashedFiles || time.Now().After(pr.until) {
			g.unchecked("whether the content of gate %s has changed", gate.ID)
			continue
		}
		pr.budget -= size
		changed, err := runs.GateChanges(g.project, g.run, gate)
		switch {
		case err != nil:
			g.unchecked("whether the content of gate %s has changed: %v", gate.ID, err)
		case len(changed) > 0:
			g.facts.Moved[gate.ID] = firstOf(changed) + "; an answer is refused, and `pawl resume` asks again"
		}
	}
}
