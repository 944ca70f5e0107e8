package grid

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
	"pawl/internal/textedit/yamledit"
)

// state updates STATE.md in its existing shape.
func (w *clusterWriter) state() {
	f := w.file("STATE.md")
	if left := w.file("STATE.md.tmp"); left != nil { // leftover of an interrupted write
		w.archive(left, "STATE.md.tmp", left.Changed)
		w.remove("STATE.md.tmp")
	}
	if f != nil && isProse(f.Data) {
		w.prose(f)
		return
	}
	var there yamlRecord
	if f != nil {
		r := &clusterReader{now: w.Now}
		there, _, _ = r.front(f, true)
		if r.shapeOf(f) == "" {
			w.archive(f, "STATE", time.Time{})
			there = yamlRecord{}
			w.files.Remove(f.Path) // merge writes a new file
		}
	}
	w.merge("STATE.md", func(there yamlRecord) *yamledit.Value {
		if !there.isState() {
			return nil // the next write would archive it
		}
		return w.stateFields(there)
	}, func() []byte {
		kept := yamlRecord{root: yamledit.MapOf()} // unchanged values
		_, limited := w.energy()
		for _, key := range []string{"session_id", "created_at", "energy_remaining"} {
			if v := there.at(key); v.Says() != "" && !(limited && key == "energy_remaining") {
				if n, err := strconv.Atoi(v.Text); err == nil && !v.Quoted {
					v = yamledit.Number(n)
				}
				kept.root.Pairs = append(kept.root.Pairs, pair(key, v))
			}
		}
		return newFrontMatter(joined(w.stateFields(yamlRecord{}), kept.root), "")
	})
}

// joined returns a map with its values replaced by those of over.
func joined(v, over *yamledit.Value) *yamledit.Value {
	for i, p := range v.Pairs {
		if o := over.Get(p.Key); o != nil {
			v.Pairs[i].Value = o
		}
	}
	return v
}

// stateFields returns the values of STATE.md. there is its current content.
func (w *clusterWriter) stateFields(there yamlRecord) *yamledit.Value {
	said := func(path ...string) bool { return there.at(path...).Says() != "" }
	want := yamledit.MapOf()
	add := func(key string, v *yamledit.Value) { want.Pairs = append(want.Pairs, pair(key, v)) }
	if !said("cluster") {
		add("cluster", yamledit.Word(w.cluster))
	}
	if !said("session_id") {
		add("session_id", yamledit.Text(stamp(w.created(there))+"-"+pawl.SlugOf(w.cluster)))
	}
	if status := w.statusWord(); runStatus(there.at("status").Says()) != runStatus(status) || !said("status") {
		add("status", yamledit.Word(status))
	}
	if !said("created_at") {
		add("created_at", yamledit.Text(stamp(w.created(there))))
	}
	if at := w.updated(); w.newer(there.at("updated_at").Says(), at) {
		add("updated_at", yamledit.Text(stamp(at)))
	}
	add("position", w.position(there))
	if said, err := strconv.ParseFloat(there.at("progress_percent").Says(), 64); err != nil || said != float64(w.State.Percent(w.Plan)) {
		add("progress_percent", yamledit.Number(w.State.Percent(w.Plan)))
	}
	if energy, limited := w.energy(); limited || !said("energy_remaining") {
		if left, err := strconv.Atoi(there.at("energy_remaining").Says()); err == nil && w.State.Import.System == "grid" {
			energy = min(energy, max(left, 0)) // the budget does not include what others have spent
		}
		add("energy_remaining", yamledit.Number(energy))
	}
	if mode := cmp.Or(w.Plan.Mode, w.State.Mode); mode != "" {
		add("mode", yamledit.Word(string(mode)))
	}
	add("error", w.failure())
	add("last_checkpoint", w.lastCheckpoint(there))
	return want
}

// statusWord returns the document's word for the status of the run.
func (w *clusterWriter) statusWord() string {
	switch w.Status {
	case pawl.StatusCompleted:
		if w.unknownPlans {
			return "interrupted"
		}
		return "completed"
	case pawl.StatusActive, pawl.StatusFailed:
		return string(w.Status)
	case pawl.StatusWaiting:
		return "checkpoint"
	}
	if w.question() != nil {
		return "checkpoint"
	}
	return "interrupted"
}

// updated returns the time of the last activity: the newest event, or now for a heartbeat. An import is not an activity.
func (w *clusterWriter) updated() time.Time {
	switch {
	case w.Trigger == format.Beat:
		return w.Now
	case w.State.Seq == w.State.Import.Seq:
		return firstKnown(w.lastUpdate, w.State.Updated)
	}
	return w.State.Updated
}

// created returns the start of the work, if STATE.md has none. For an imported cluster that is the time in the name of its
// session, or at the latest the last change of its state.
func (w *clusterWriter) created(there yamlRecord) time.Time {
	named, _, _ := format.ParseTimeIn(sessionTime.FindString(there.at("session_id").Says()), w.Now.Location())
	return firstKnown(named, w.lastUpdate, w.State.Created)
}

// sessionTime matches the time at the start of a session's name: 2026-01-23T14:30:00Z-blog.
var sessionTime = lazyregexp.New(`^\d{4}-\d\d-\d\dT[\d:.]+Z`)

// lastUpdated returns the last update in a cluster's state, if it is before a time.
func lastUpdated(files format.Files, at clusterDir, before time.Time) time.Time {
	r := &clusterReader{files: files, clusterDir: at, now: before, blocks: map[string]*block{}, phases: map[int]string{}}
	r.out.Facts = map[string]string{}
	r.readState()
	return r.state.updated
}

// newer reports whether a time is later than the one in a file, to the second. A time in the future is ignored.
func (w *clusterWriter) newer(said string, at time.Time) bool {
	old, _, ok := format.ParseTimeIn(said, w.Now.Location())
	return !ok || old.After(w.Now.Add(clockSkew)) || at.Truncate(time.Second).After(old)
}

// position returns the position of the run. It removes keys that no longer apply.
func (w *clusterWriter) position(there yamlRecord) *yamledit.Value {
	p := yamledit.MapOf()
	add := func(key string, n int) {
		if said := there.at("position", key).Says(); strings.HasPrefix(said, "0") && n > 0 {
			p.Pairs = append(p.Pairs, pair(key, yamledit.Word(padded(n, said))))
		} else if n > 0 {
			p.Pairs = append(p.Pairs, pair(key, yamledit.Number(n)))
		}
	}
	k := cmp.Or(w.currentBlock(), w.lastWork())
	if k == nil {
		return p
	}
	if k.phase > 0 && !w.isPartial(there) {
		add("phase", k.phase)
		add("phase_total", len(w.Plan.Phases))
		if said := there.at("position", "phase").Says(); blockNumber(said) != k.phase || there.at("position", "phase_name").Says() == "" {
			p.Pairs = append(p.Pairs, pair("phase_name", yamledit.Text(w.Plan.Phases[k.phase-1].Name)))
		}
	}
	n, total := w.blockCount(k, blockNumber(there.at("position", "phase").Says()), blockNumber(there.at("position", "block_total").Says()))
	add("block", n)
	add("block_total", w.atLeast(there, "block_total", total))
	switch said := blockNumber(there.at("position", "wave_total").Says()); {
	case !w.importedWaves || said == 0 || said == w.waveAll:
		add("wave", k.wave)
		add("wave_total", w.atLeast(there, "wave_total", w.waveAll))
	case w.currentBlock() == nil:
		add("wave", said)
	}
	threads := w.threads(k)
	now, _ := currentOf(threads)
	if now == nil {
		p.Pairs = append(p.Pairs, pair("thread", nil), pair("thread_total", nil), pair("thread_name", nil))
		return p
	}
	add("thread", now.number)
	all := max(len(threads), now.number)
	if blockNumber(there.at("position", "block").Says()) == n {
		all = w.atLeast(there, "thread_total", all)
	}
	add("thread_total", all)
	p.Pairs = append(p.Pairs, pair("thread_name", yamledit.Text(now.Name)))
	return p
}

// isPartial reports whether the plan covers only a part of a cluster: then the phase in the file stays.
func (w *clusterWriter) isPartial(there yamlRecord) bool {
	return w.State.Import.System == "grid" && blockNumber(there.at("position", "phase_total").Says()) > len(w.Plan.Phases)
}

// atLeast returns a count or, if the plan covers only a part of a cluster, the larger count in the file.
func (w *clusterWriter) atLeast(there yamlRecord, key string, n int) int {
	if w.State.Import.System == "grid" {
		n = max(n, blockNumber(there.at("position", key).Says()))
	}
	return n
}

// lastWork returns the last block of the plan.
func (w *clusterWriter) lastWork() *blockStep {
	if len(w.works) == 0 {
		return nil
	}
	return w.works[len(w.works)-1]
}

// blockCount returns the number of a block, by which its files are named, and the number of blocks: within its phase if the
// file counts so, else of all.
func (w *clusterWriter) blockCount(k *blockStep, phase, total int) (int, int) {
	if k.phase > 0 && phase > 0 && phase <= len(w.Plan.Phases) && total != len(w.works) && total == len(w.Plan.Phases[phase-1].Steps) {
		steps := w.Plan.Phases[k.phase-1].Steps
		return slices.IndexFunc(steps, func(s pawl.Step) bool { return s.ID == k.ID }) + 1, len(steps)
	}
	if n := blockNumber(k.block); n > 0 {
		return n, len(w.works) // n may be larger
	}
	return k.index + 1, len(w.works)
}

// fullEnergy is the initial energy of a mission.
const fullEnergy = 10000

// energy returns what is left of the scarcest budget, of 10000, and whether there is a budget.
func (w *clusterWriter) energy() (int, bool) {
	left, limited := 1.0, false
	spent, budget := w.State.Spent, w.Plan.Budget
	for name, of := range map[string][2]float64{
		"time": {spent.Seconds, time.Duration(budget.Time).Seconds()}, "usd": {spent.Usage.USD, budget.USD},
		"tokens": {float64(spent.Usage.Tokens), float64(budget.Tokens)},
	} {
		if limit := of[1] * float64(1+spent.Granted[name]); limit > 0 {
			left, limited = min(left, max(1-of[0]/limit, 0)), true
		}
	}
	return int(math.Round(left * fullEnergy)), limited
}

// failure returns why the run failed; nil if it did not.
func (w *clusterWriter) failure() *yamledit.Value {
	if w.Status != pawl.StatusFailed {
		return nil
	}
	why := w.State.Why
	for _, k := range w.works {
		if k.state != nil && k.state.Status == pawl.FailedForGood {
			why = "block " + k.block + ": " + cmp.Or(k.state.Why, "it failed")
			break
		}
	}
	return yamledit.Text(oneLine(cmp.Or(why, "it failed")))
}

// lastCheckpoint returns the path of the current checkpoint, or null.
func (w *clusterWriter) lastCheckpoint(there yamlRecord) *yamledit.Value {
	if w.file("CHECKPOINT.md") == nil {
		return nil
	}
	if said := there.at("last_checkpoint").Says(); strings.HasSuffix(said, "CHECKPOINT.md") {
		return there.at("last_checkpoint")
	}
	return yamledit.Text(".grid/CHECKPOINT.md")
}
