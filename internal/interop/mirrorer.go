package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// MirrorWriter writes another system's files off the critical path: the newest state, whatever came meanwhile.
type MirrorWriter struct {
	Mirror
	project *project.Project
	log     *journal.Log
	mu      sync.Mutex // guards busy and took
	busy    bool
	took    time.Duration // to write it last
	idle    sync.WaitGroup
	refused map[pawl.GateAnswered]string // answers in the files that were not taken, and why: whoever writes at the time
	aside   []string                     // see MadeAnew: the same
	beyond  []string                     // see the function: the same
	store   *snapshot.Store              // nil: there is none
	when    time.Time                    // when it was written last; this and what follows: Run's goroutine only
	why     format.Trigger               // the weightiest since; empty: it is written
	ended   []pawl.StepID                // steps that ended since
	again   <-chan time.Time             // when what was put off is to be written; nil: nothing was
	begun   bool                         // by Run: before that, and without it, it is written at the end only
}

// mirrorEvery is how often a mirror is written at most while a run goes on.
const mirrorEvery = 500 * time.Millisecond

func NewMirrorWriter(m *Mirror, p *project.Project, log *journal.Log, store *snapshot.Store) *MirrorWriter {
	if m == nil {
		return nil
	}
	return &MirrorWriter{Mirror: *m, project: p, log: log, store: store, refused: map[pawl.GateAnswered]string{}}
}

// Recorded returns what the journal records of the mirror, nil if the run has none.
func (m *MirrorWriter) Recorded() *pawl.RunMirrored {
	if m == nil {
		return nil
	}
	said := m.Mirror.Said(m.project)
	return &said
}

// Changed has the files written, or puts that off where it was just done: see due.
func (m *MirrorWriter) Changed(ctx context.Context, state *pawl.State, plan *pawl.Plan, events []pawl.Event) {
	if m == nil {
		return
	}
	for _, event := range events {
		m.note(event)
	}
	if m.why == "" || m.again != nil || !m.begun {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := m.pause() - time.Since(m.when); m.busy || left > 0 {
		m.again = time.After(max(left, mirrorEvery/10))
		return
	}
	m.busy, m.when = true, time.Now()
	now, why := state.Clone(), m.moment(state, plan)
	ctx = context.WithoutCancel(ctx) // half of what is known would be told as all; the end waits for it
	m.idle.Go(func() {
		start := time.Now()
		m.hear(ctx, now, plan)
		_ = m.write(m.view(ctx, now, plan, why, true)) // it is tried again when more happens, and told at the end
		m.mu.Lock()
		defer m.mu.Unlock()
		m.busy, m.took = false, time.Since(start)
	})
}

// Begin takes up what people wrote into the files, and has them written from here on. What takes a change over or brings files
// back before, or instead, meets no mirror at work.
func (m *MirrorWriter) Begin(ctx context.Context, state *pawl.State, plan *pawl.Plan) {
	if m != nil {
		m.hear(ctx, state, plan)
		m.begun = true
	}
}

// pause is how long after one writing the next one may begin: where looking at the files takes long, that is not all that
// is done. mu is held.
func (m *MirrorWriter) pause() time.Duration { return max(mirrorEvery, 10*m.took) }

// Due says when what was put off is to be written; never, where nothing was.
func (m *MirrorWriter) Due() <-chan time.Time {
	if m == nil {
		return nil
	}
	return m.again
}

// CatchUp has written what was put off.
func (m *MirrorWriter) CatchUp(ctx context.Context, state *pawl.State, plan *pawl.Plan) {
	m.again = nil
	m.Changed(ctx, state, plan, nil)
}

// note takes in what an event is to a mirror.
func (m *MirrorWriter) note(event pawl.Event) {
	why := moments[event.Type]
	m.why = format.Weightier(m.why, why)
	var ended struct{ Step pawl.StepID }
	if why == format.StepEnded && json.Unmarshal(event.Data, &ended) == nil {
		m.ended = append(m.ended, ended.Step)
	}
}

// moment returns the weightiest since the last writing, and begins anew: the end of a step may be that of its wave, and of
// its phase.
func (m *MirrorWriter) moment(state *pawl.State, plan *pawl.Plan) format.Trigger {
	why, ended := m.why, m.ended
	m.why, m.ended = "", nil
	if plan == nil || why != format.StepEnded {
		return why
	}
	for i, phase := range plan.Phases {
		for _, wave := range plan.Waves(i) {
			if finishedAll(state, wave) && slices.ContainsFunc(ended, func(id pawl.StepID) bool { return slices.Contains(wave, id) }) {
				why = format.Weightier(why, format.WaveEnded)
			}
		}
		var all []pawl.StepID
		for _, step := range phase.Steps {
			all = append(all, step.ID)
		}
		if why == format.WaveEnded && finishedAll(state, all) && slices.ContainsFunc(ended, func(id pawl.StepID) bool { return slices.Contains(all, id) }) {
			why = format.PhaseEnded
		}
	}
	return why
}

func finishedAll(state *pawl.State, steps []pawl.StepID) bool {
	return !slices.ContainsFunc(steps, func(id pawl.StepID) bool { return !state.Steps[id].Finished() })
}

// moments are the events that a mirror is written for.
var moments = map[pawl.EventType]format.Trigger{
	(pawl.EngineStarted{}).Event(): format.Began, (pawl.AttemptStarted{}).Event(): format.StepBegan, (pawl.StepDone{}).Event(): format.StepEnded,
	(pawl.StepFailed{}).Event(): format.StepEnded, (pawl.StepSkipped{}).Event(): format.StepEnded, (pawl.StepReopened{}).Event(): format.StepBegan,
	(pawl.ItemDone{}).Event(): format.ItemEnded, (pawl.ItemNamed{}).Event(): format.ItemEnded, (pawl.AttemptEnded{}).Event(): format.Interrupted,
	(pawl.GateOpened{}).Event(): format.GateOpened, (pawl.GateAnswered{}).Event(): format.GateClosed, (pawl.MemoryLearned{}).Event(): format.Learned,
	(pawl.DecisionMade{}).Event(): format.Learned, (pawl.BlockerOpened{}).Event(): format.Learned, (pawl.BlockerCleared{}).Event(): format.Learned,
	(pawl.Progressed{}).Event(): format.Beat, (pawl.Heartbeat{}).Event(): format.Beat, (pawl.CheckpointSaved{}).Event(): format.Beat,
	(pawl.RunEnded{}).Event(): format.RunEnded, (pawl.EngineStopped{}).Event(): format.Interrupted,
}

// Close writes the files as they are to be at the end. What could not be written is no fault of the run.
func (m *MirrorWriter) Close(ctx context.Context, state *pawl.State, plan *pawl.Plan) error {
	if m == nil {
		return nil
	}
	m.idle.Wait()
	return m.write(m.view(ctx, state, plan, lastMoment(state), anyAlive(m.project, state)))
}

// lastMoment returns the moment at which a mirror is written when an engine ends, or afterwards.
func lastMoment(state *pawl.State) format.Trigger {
	if state.Ended() {
		return format.RunEnded
	}
	return format.Interrupted
}

func (m *MirrorWriter) view(ctx context.Context, state *pawl.State, plan *pawl.Plan, why format.Trigger, engine bool) format.Export {
	return viewOf(ctx, m.project, &runs.Run{Log: m.log, State: state, Plan: plan}, m.Codec, m.store, why, engine)
}

func (m *MirrorWriter) write(v format.Export) error {
	return m.project.Mirroring(func() error {
		written, err := m.put(m.project, v.State, func(files format.Files) ([]format.File, error) {
			m.beyond = beyond(m.Codec, files, v)
			return m.Codec.Write(files, v), nil
		})
		m.aside = append(m.aside, MadeAnew(written)...)
		return err
	})
}

// prescribed is what the other system prescribes before a step is carried out; empty: nothing.
func (m *MirrorWriter) Prescribed(ctx context.Context, state *pawl.State, plan *pawl.Plan, step pawl.StepID) string {
	if m == nil || m.Codec.Preconditions == nil {
		return ""
	}
	return m.Codec.Preconditions(state, plan, worldOf(ctx, m.project.Root, nil), step)
}

// beyond says of a run that is completed which tasks others have added to its system's files, that it has not done.
func beyond(codec format.Format, files format.Files, v format.Export) []string {
	if codec.UnknownTasks == nil || v.Status != pawl.StatusCompleted {
		return nil
	}
	tasks, file := codec.UnknownTasks(files, v)
	if len(tasks) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s names tasks that this run does not know, and is not complete: %s; pawl import %s goes on with them",
		file, strings.Join(tasks, ", "), codec.Name)}
}
