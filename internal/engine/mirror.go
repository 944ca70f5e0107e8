package engine

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/foreign"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/sqlitefile"
)

// Mirror is another system whose files are kept up to date.
type Mirror struct {
	Codec foreign.Codec
	Dir   string // the folder that it lives in or, of a system whose files hold tables, one file; absolute
}

// said is what the journal says of the mirror; nil where there is none.
func (m *mirror) said() *pawl.RunMirrored {
	if m == nil {
		return nil
	}
	said := &pawl.RunMirrored{System: m.Codec.System()}
	if rel, err := filepath.Rel(m.project.Root, m.Dir); err == nil && rel != "." {
		said.Path = filepath.ToSlash(rel)
	}
	return said
}

// mirrorEvery is how often a mirror is written at most while a run goes on.
const mirrorEvery = 500 * time.Millisecond

// mirror writes another system's files off the critical path: the newest state, whatever came meanwhile.
type mirror struct {
	Mirror
	project *project.Project
	log     *journal.Log
	mu      sync.Mutex // guards busy and err
	busy    bool
	err     error
	idle    sync.WaitGroup
	when    time.Time      // when it was written last; Run's goroutine only
	why     foreign.Moment // the weightiest since; Run's goroutine only
}

func newMirror(m *Mirror, p *project.Project, log *journal.Log) *mirror {
	if m == nil {
		return nil
	}
	return &mirror{Mirror: *m, project: p, log: log}
}

// changed has the files written, unless that was just done: close writes the last state in any case.
func (m *mirror) changed(state *pawl.State, plan *pawl.Plan, events []pawl.Event) {
	if m == nil {
		return
	}
	for _, event := range events {
		if why, ok := moments[event.Type]; ok {
			m.why = why
		}
	}
	if m.why == "" || time.Since(m.when) < mirrorEvery {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy {
		return
	}
	m.busy, m.when = true, time.Now()
	view := m.view(state.Clone(), plan, m.why, true)
	m.why = ""
	m.idle.Go(func() {
		err := m.write(view)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.busy, m.err = false, err
	})
}

// late returns when what changed since the last write is to be written, nil where nothing did.
func (m *mirror) late() <-chan time.Time {
	if m == nil || m.why == "" {
		return nil
	}
	return time.After(max(time.Until(m.when.Add(mirrorEvery)), mirrorEvery/10))
}

// moments are the events that a mirror is written for.
var moments = map[pawl.EventType]foreign.Moment{
	(pawl.EngineStarted{}).Event(): foreign.Began, (pawl.AttemptStarted{}).Event(): foreign.StepBegan, (pawl.StepDone{}).Event(): foreign.StepEnded,
	(pawl.StepFailed{}).Event(): foreign.StepEnded, (pawl.StepSkipped{}).Event(): foreign.StepEnded, (pawl.StepReopened{}).Event(): foreign.StepBegan,
	(pawl.ItemDone{}).Event(): foreign.ItemEnded, (pawl.ItemNamed{}).Event(): foreign.ItemEnded, (pawl.AttemptEnded{}).Event(): foreign.Interrupted,
	(pawl.GateOpened{}).Event(): foreign.GateOpened, (pawl.GateAnswered{}).Event(): foreign.GateClosed, (pawl.MemoryLearned{}).Event(): foreign.Learned,
	(pawl.DecisionMade{}).Event(): foreign.Learned, (pawl.BlockerOpened{}).Event(): foreign.Learned, (pawl.BlockerCleared{}).Event(): foreign.Learned,
	(pawl.Progressed{}).Event(): foreign.Beat, (pawl.Heartbeat{}).Event(): foreign.Beat, (pawl.CheckpointSaved{}).Event(): foreign.Beat,
	(pawl.RunEnded{}).Event(): foreign.RunEnded, (pawl.EngineStopped{}).Event(): foreign.Interrupted,
}

// close writes the files as they are to be at the end. What could not be written is no fault of the run.
func (m *mirror) close(state *pawl.State, plan *pawl.Plan) error {
	if m == nil {
		return nil
	}
	m.idle.Wait()
	why := foreign.Interrupted
	if state.Ended() {
		why = foreign.RunEnded
	}
	return errors.Join(m.err, m.write(m.view(state, plan, why, false)))
}

func (m *mirror) view(state *pawl.State, plan *pawl.Plan, why foreign.Moment, engine bool) foreign.View {
	return ViewFor(m.project, &Run{Log: m.log, State: state, Plan: plan}, why, engine)
}

// tries is how often a database is written to that others change at the same time.
const tries = 5

func (m *mirror) write(v foreign.View) (err error) {
	for range tries {
		var files foreign.Files
		if files, _, err = ReadForeign(m.Dir, m.Codec); err != nil {
			return err
		}
		if err = WriteForeign(m.Dir, m.Codec, m.Codec.Write(files, v)); !errors.Is(err, sqlitefile.ErrChanged) {
			return err
		}
	}
	return err
}

// ViewFor returns what a codec is told of a run. engine says whether one works on it.
func ViewFor(p *project.Project, r *Run, why foreign.Moment, engine bool) foreign.View {
	v := foreign.View{
		Now: time.Now().UTC(), Root: p.Root, State: r.State, Plan: r.Plan, Status: r.State.StatusNow(engine), Checkpoint: r.State.LastSave, Why: why,
		Items: func(id pawl.StepID) []foreign.Item { return itemsOf(r, id) },
	}
	remembered, err := p.Memories()
	if err != nil {
		return v // what was learned is not told: the file says itself what is wrong with it
	}
	for _, m := range remembered {
		v.Memories = append(v.Memories, m.Memory)
	}
	return v
}

// itemsOf returns the items of a step, those of its work list and those that it named itself.
func itemsOf(r *Run, id pawl.StepID) []foreign.Item {
	st := r.State.Steps[id]
	if st == nil {
		return nil
	}
	var items []foreign.Item
	if st.Items != nil {
		values, err := listedValues(r.Log, st.Items)
		if err != nil {
			return nil
		}
		for i, value := range values {
			item := foreign.Item{ID: string(pawl.ItemIDOf(value)), Name: value, Status: pawl.ItemPending}
			if _, failed := st.Items.Failed[i]; failed {
				item.Status = pawl.ItemFailed
			} else if st.Items.Done.At(i) > 0 {
				item.Status = pawl.ItemIsDone
			} else if t := st.Items.Tries[i]; t != nil && t.Live != nil {
				item.Status = pawl.ItemRunning
			}
			items = append(items, item)
		}
	}
	return append(items, namedItems(st)...)
}

func namedItems(st *pawl.StepState) []foreign.Item {
	var items []foreign.Item
	for _, id := range sortedKeys(st.Named) {
		n := st.Named[id]
		if n.Status != pawl.ItemDropped {
			items = append(items, foreign.Item{ID: string(id), Name: n.Title, Status: n.Status, Commit: n.Commit, Outputs: n.Outputs})
		}
	}
	return items
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
