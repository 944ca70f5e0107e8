package grid

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// blockStep is a step of a run, with its block of The Grid.
type blockStep struct {
	*pawl.Step
	block string // its id: 01
	index int    // of the block among all, from 0
	phase int    // from 1; 0: in no plan
	wave  int    // from 1, over all phases
	state *pawl.StepState
	asked bool // a person is asked, and the work waits for what they say
}

// assignBlocks gives every step its block: its id if that is a number, else its index in the plan.
func (w *clusterWriter) assignBlocks() {
	for i := range w.Plan.Phases {
		phase := &w.Plan.Phases[i]
		waves := w.Plan.Waves(i)
		wave := map[pawl.StepID]int{}
		for n, ids := range waves {
			for _, id := range ids {
				wave[id] = n + 1
			}
		}
		for j := range phase.Steps {
			w.add(&blockStep{Step: &phase.Steps[j], phase: i + 1, wave: w.waveAll + max(wave[phase.Steps[j].ID], 1)})
		}
		w.waveAll += len(waves)
	}
	for _, id := range w.unplanned() {
		w.add(&blockStep{Step: &pawl.Step{ID: id}})
	}
	taken := map[string]bool{}
	for _, k := range w.works {
		if n := blockNumber(string(k.ID)); n > 0 && n < 1000 && !taken[blockID(string(k.ID))] {
			k.block = blockID(string(k.ID))
			taken[k.block] = true
		}
	}
	for i, k := range w.works {
		for n := i + 1; k.block == ""; n++ {
			if id := fmt.Sprintf("%02d", n); !taken[id] {
				k.block = id
				taken[id] = true
			}
		}
		k.index = i
		w.byBlock[k.block] = k
	}
}

// plannedWaves looks at the plans of a cluster that was imported: whether they are of blocks that the run does not have, and
// which waves they say. Where they do not say that of all, who wrote its state knows better than pawl, to which every block
// that needs another one is a wave.
func (w *clusterWriter) plannedWaves(files format.Files) {
	r := &clusterReader{clusterDir: w.clusterDir, files: files, now: w.Now, blocks: map[string]*block{}, phases: map[int]string{}}
	r.out.Facts = map[string]string{}
	r.readPlans()
	last, said := 0, 0
	for _, b := range r.blocks {
		k := w.byStep[b.ID]
		w.unknownPlans = w.unknownPlans || k == nil
		last = max(last, b.Wave)
		if k != nil && b.Wave > 0 {
			said++
		}
	}
	if said < len(w.works) {
		w.importedWaves = true
		return
	}
	for _, b := range r.blocks {
		if k := w.byStep[b.ID]; k != nil {
			k.wave = b.Wave
		}
	}
	w.waveAll = last
}

func (w *clusterWriter) add(k *blockStep) {
	k.state = w.State.Steps[k.ID]
	for i := range w.State.Gates { // what was rejected is asked again
		g := &w.State.Gates[i]
		if g.Step == k.ID && g.Purpose == pawl.ForImported && w.State.Gate(g.ID) == g {
			k.asked = k.asked || g.Open() || g.Answer != nil && g.Answer.Answer == pawl.Rejected
		}
	}
	w.works = append(w.works, k)
	w.byStep[k.ID] = k
}

// unplanned returns the steps that the plan does not have, in the order in which they began.
func (w *clusterWriter) unplanned() []pawl.StepID {
	ids := slices.DeleteFunc(slices.Collect(maps.Keys(w.State.Steps)), func(id pawl.StepID) bool { return w.byStep[id] != nil })
	slices.SortFunc(ids, func(a, b pawl.StepID) int {
		return cmp.Or(w.State.Steps[a].Started.Compare(w.State.Steps[b].Started), cmp.Compare(a, b))
	})
	return ids
}

// name returns what the block is called.
func (k *blockStep) name() string { return oneLine(cmp.Or(k.Name, string(k.ID))) }

func (k *blockStep) done() bool { return k.state != nil && k.state.Status == pawl.Done && !k.asked }

// finished reports whether a block needs no more work, and nobody is asked about it.
func (k *blockStep) finished() bool { return k.state.Finished() && !k.asked }

func (k *blockStep) skipped() bool { return k.state != nil && k.state.Status == pawl.Skipped }

// found reports whether a block was complete when the run was made of the files that are written now: what is known of it
// stands there.
func (w *clusterWriter) found(k *blockStep) bool {
	return w.State.Import.System == "grid" && w.file("STATE.md") != nil && k.done() && strings.HasPrefix(k.state.Adopted, "imported")
}

// begun reports whether a block was worked on and is not finished.
func (k *blockStep) begun() bool {
	return k.state != nil && !k.finished() && (k.state.Status != pawl.Pending || k.state.Attempts > 0 || !k.state.Started.IsZero())
}

// at returns the block that the run is at: one that a person is asked about, one at work, else the first that is not
// finished; nil where all are.
func (w *clusterWriter) at() *blockStep {
	if k := w.asked(); k != nil {
		return k
	}
	var first *blockStep
	for _, k := range w.works {
		switch {
		case k.finished():
		case k.begun():
			return k
		case first == nil:
			first = k
		}
	}
	return first
}

// finished returns how many blocks need no more work.
func (w *clusterWriter) finished() int {
	n := 0
	for _, k := range w.works {
		if k.finished() {
			n++
		}
	}
	return n
}

// last returns the block that was completed last, nil where none is.
func (w *clusterWriter) last() *blockStep {
	var last *blockStep
	for _, k := range w.works {
		if k.done() && (last == nil || k.state.Ended.After(last.state.Ended)) {
			last = k
		}
	}
	return last
}

// thread is an item of a step, as a thread of a block.
type thread struct {
	format.Item
	number int
}

// threads returns the threads of a block, in order.
func (w *clusterWriter) threads(k *blockStep) []thread {
	var items []format.Item
	if w.Items != nil {
		items = w.Items(k.ID)
	}
	if len(items) == 0 && k.state != nil {
		for _, id := range slices.Sorted(maps.Keys(k.state.Named)) {
			n := k.state.Named[id]
			items = append(items, format.Item{ID: string(id), Name: n.Title, Status: n.Status, Commit: n.Commit, Outputs: n.Outputs})
		}
	}
	var all []thread
	for _, item := range items {
		if item.Status == pawl.ItemDropped {
			continue
		}
		t := thread{Item: item, number: len(all) + 1}
		t.Name = oneLine(cmp.Or(item.Name, item.ID))
		if w.UnknownCommit != nil && t.Commit != "" && w.UnknownCommit(t.Commit) {
			t.Commit = "" // somebody said so; pawl does not
		}
		if block, _, ok := strings.Cut(item.ID, "."); !ok || block != k.block || threadNumber(pawl.ItemID(item.ID)) == 0 {
			t.ID = k.block + "." + fmt.Sprint(t.number)
		} else {
			t.number = threadNumber(pawl.ItemID(item.ID))
		}
		all = append(all, t)
	}
	return all
}

// current returns the thread that a block is at: one at work, else the first that is not done.
func current(threads []thread) (now *thread, done int) {
	for i := range threads {
		switch t := &threads[i]; {
		case t.Status == pawl.ItemIsDone:
			done++
		case now == nil || t.Status == pawl.ItemRunning && now.Status != pawl.ItemRunning:
			now = t
		}
	}
	return now, done
}

// asked returns the block of the oldest question to a person that is open, or answered and not gone on from.
func (w *clusterWriter) asked() *blockStep {
	if g := w.question(); g != nil {
		return w.byStep[g.Step]
	}
	return nil
}

// question returns the oldest gate that is open, or else one that was answered and not gone on from.
func (w *clusterWriter) question() *pawl.GateState {
	if open := w.State.OpenGates(); len(open) > 0 {
		return open[0]
	}
	if w.Status == pawl.StatusCompleted {
		return nil
	}
	for i := range w.State.Gates {
		if g := &w.State.Gates[i]; g.Answer != nil && !g.Settled && w.byStep[g.Step] != nil && !w.byStep[g.Step].finished() {
			return g
		}
	}
	return nil
}
