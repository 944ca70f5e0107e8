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
	started bool
	failed  string // why Close could not write the files, and what to do
}

// mirrorEvery is how often a mirror is written at most while a run goes on.
const mirrorEvery = 500 * time.Millisecond

// NewMirrorWriter returns a writer for the run of a journal. store is nil if the project has no snapshots.
func NewMirrorWriter(m *Mirror, p *project.Project, log *journal.Log, store *snapshot.Store) *MirrorWriter {
	return &MirrorWriter{Mirror: *m, project: p, log: log, store: store, refused: map[pawl.GateAnswered]string{}}
}

// Start implements engine.Mirror. Before Start, and without it, the files are written by Close only: an engine that adopts a
// changed plan, or a rollback, does not mirror what it does.
func (m *MirrorWriter) Start(ctx context.Context, state *pawl.State, plan *pawl.Plan) pawl.RunMirrored {
	m.readAnswers(ctx, state, plan)
	m.started = true
	return m.Said(m.project)
}

// Changed implements engine.Mirror. It writes the files in the background, or returns when to do so if they were just written.
func (m *MirrorWriter) Changed(ctx context.Context, state *pawl.State, plan *pawl.Plan, events []pawl.Event) <-chan time.Time {
	if len(events) == 0 {
		m.again = nil // it has fired
	}
	for _, event := range events {
		m.note(event)
	}
	if m.why == "" || m.again != nil || !m.started {
		return m.again
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := m.pause() - time.Since(m.when); m.busy || left > 0 {
		m.again = time.After(max(left, mirrorEvery/10))
		return m.again
	}
	m.busy, m.when = true, time.Now()
	m.writeInBackground(context.WithoutCancel(ctx), state.Clone(), plan, m.moment(state, plan)) // a cancelled write would be half of the state
	return nil
}

// writeInBackground reads the answers in the files and then writes them. Close waits for it. A failure is retried by the next
// write, and reported by Close.
func (m *MirrorWriter) writeInBackground(ctx context.Context, state *pawl.State, plan *pawl.Plan, why format.Trigger) {
	m.idle.Go(func() {
		start := time.Now()
		m.readAnswers(ctx, state, plan)
		_ = m.write(m.view(ctx, state, plan, why, true))
		m.mu.Lock()
		defer m.mu.Unlock()
		m.busy, m.took = false, time.Since(start)
	})
}

// pause is how long after one writing the next one may begin: where looking at the files takes long, that is not all that
// is done. mu is held.
func (m *MirrorWriter) pause() time.Duration { return max(mirrorEvery, 10*m.took) }

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

// Close implements engine.Mirror.
func (m *MirrorWriter) Close(ctx context.Context, state *pawl.State, plan *pawl.Plan) {
	m.idle.Wait()
	if err := m.write(m.view(ctx, state, plan, lastMoment(state), anyAlive(m.project, state))); err != nil {
		m.failed = fmt.Sprintf("the files of %s are out of date: %v; fix that, then run pawl export %s", m.Codec.Name, err, m.Codec.Name)
	}
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

// Advice implements engine.Mirror.
func (m *MirrorWriter) Advice(ctx context.Context, state *pawl.State, plan *pawl.Plan, step pawl.StepID) string {
	if m.Codec.Preconditions == nil {
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
