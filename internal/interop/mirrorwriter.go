package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// MirrorWriter writes another system's files in the background. It skips intermediate states and writes the newest one.
type MirrorWriter struct {
	Mirror
	project      *project.Project
	log          *journal.Log
	mu           sync.Mutex // guards writing and lastDuration
	writing      bool
	lastDuration time.Duration // of the last write
	writes       sync.WaitGroup
	rejected     map[pawl.GateAnswered]string // answers in the files, and why they were rejected; used by one write at a time
	replaced     []string                     // see replacedNotes; likewise
	unknown      []string                     // see unknownTasks; likewise
	store        *snapshot.Store              // nil if the project has no snapshots
	lastWrite    time.Time                    // start of the last write; this field and those below belong to the engine's goroutine
	trigger      format.Trigger               // the last since then, by their order; empty if nothing has changed
	ended        []pawl.StepID                // steps that ended since then
	due          <-chan time.Time             // fires when a postponed write is due; nil if none is
	started      bool
	failed       string // why Close could not write the files, and what to do
}

// mirrorInterval is the minimum time between two background writes.
const mirrorInterval = 500 * time.Millisecond

// NewMirrorWriter returns a writer for the run of log. store is nil if the project has no snapshots.
func NewMirrorWriter(m *Mirror, p *project.Project, log *journal.Log, store *snapshot.Store) *MirrorWriter {
	return &MirrorWriter{Mirror: *m, project: p, log: log, store: store, rejected: map[pawl.GateAnswered]string{}}
}

// Start implements engine.Mirror. Before Start only Close writes the files, so an engine that only adopts a changed plan or
// rolls back does not mirror.
func (m *MirrorWriter) Start(ctx context.Context, state *pawl.State, plan *pawl.Plan) pawl.RunMirrored {
	m.readAnswers(ctx, state, plan)
	m.started = true
	return m.Record(m.project)
}

// Changed implements engine.Mirror. It writes the files in the background or, if they were just written, returns a timer for
// the next write.
func (m *MirrorWriter) Changed(ctx context.Context, state *pawl.State, plan *pawl.Plan, events []pawl.Event) <-chan time.Time {
	if len(events) == 0 {
		m.due = nil // the timer has fired
	}
	for _, event := range events {
		m.addTrigger(event)
	}
	if m.trigger == "" || m.due != nil || !m.started {
		return m.due
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := m.minInterval() - time.Since(m.lastWrite); m.writing || left > 0 {
		m.due = time.After(max(left, mirrorInterval/10))
		return m.due
	}
	m.writing, m.lastWrite = true, time.Now()
	m.writeInBackground(context.WithoutCancel(ctx), state.Clone(), plan, m.takeTrigger(state, plan)) // a cancelled write would leave half of the state
	return nil
}

// writeInBackground reads the answers in the files and then writes them. Close waits for it. The next write retries a failed
// one, and Close reports the failure.
func (m *MirrorWriter) writeInBackground(ctx context.Context, state *pawl.State, plan *pawl.Plan, trigger format.Trigger) {
	m.writes.Go(func() {
		start := time.Now()
		m.readAnswers(ctx, state, plan)
		_ = m.write(m.export(ctx, state, plan, trigger, true))
		m.mu.Lock()
		defer m.mu.Unlock()
		m.writing, m.lastDuration = false, time.Since(start)
	})
}

// minInterval returns the time from one write to the next. It grows with the duration of the last write, so that writes take
// at most a tenth of the time. The caller holds mu.
func (m *MirrorWriter) minInterval() time.Duration { return max(mirrorInterval, 10*m.lastDuration) }

// addTrigger records the trigger of an event.
func (m *MirrorWriter) addTrigger(event pawl.Event) {
	why := triggers[event.Type]
	m.trigger = format.Weightier(m.trigger, why)
	var ended struct{ Step pawl.StepID }
	if why == format.StepEnded && json.Unmarshal(event.Data, &ended) == nil {
		m.ended = append(m.ended, ended.Step)
	}
}

// takeTrigger returns the last trigger, by their order, since the last write, and resets it. The end of a step can also end
// its level and its phase.
func (m *MirrorWriter) takeTrigger(state *pawl.State, plan *pawl.Plan) format.Trigger {
	why, ended := m.trigger, m.ended
	m.trigger, m.ended = "", nil
	if plan == nil || why != format.StepEnded {
		return why
	}
	for i, phase := range plan.Phases {
		for _, wave := range plan.Waves(i) {
			if allFinished(state, wave) && slices.ContainsFunc(ended, func(id pawl.StepID) bool { return slices.Contains(wave, id) }) {
				why = format.Weightier(why, format.WaveEnded)
			}
		}
		var all []pawl.StepID
		for _, step := range phase.Steps {
			all = append(all, step.ID)
		}
		if why == format.WaveEnded && allFinished(state, all) && slices.ContainsFunc(ended, func(id pawl.StepID) bool { return slices.Contains(all, id) }) {
			why = format.PhaseEnded
		}
	}
	return why
}

func allFinished(state *pawl.State, steps []pawl.StepID) bool {
	return !slices.ContainsFunc(steps, func(id pawl.StepID) bool { return !state.Steps[id].Finished() })
}

// triggers maps the types of events to what they trigger. Events of other types do not change the files.
var triggers = map[pawl.EventType]format.Trigger{
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
	m.writes.Wait()
	if err := m.write(m.export(ctx, state, plan, finalTrigger(state), anyAlive(m.project, state))); err != nil {
		m.failed = fmt.Sprintf("the files of %s are out of date: %v; fix that, then run pawl export %s", m.Format.Name, err, m.Format.Name)
	}
}

// finalTrigger returns the trigger for a write after the engine has stopped.
func finalTrigger(state *pawl.State) format.Trigger {
	if state.Ended() {
		return format.RunEnded
	}
	return format.Interrupted
}

func (m *MirrorWriter) export(ctx context.Context, state *pawl.State, plan *pawl.Plan, trigger format.Trigger, engine bool) format.Export {
	return newExport(ctx, m.project, &runs.Run{Log: m.log, State: state, Plan: plan}, m.Format, m.store, trigger, engine)
}

func (m *MirrorWriter) write(export format.Export) error {
	return m.project.WithMirrorLock(func() error {
		written, err := m.update(m.project, export.State, func(files format.Files) ([]format.File, error) {
			m.unknown = unknownTasks(m.Format, files, export)
			return m.Format.Write(files, export), nil
		})
		m.replaced = append(m.replaced, replacedNotes(written)...)
		return err
	})
}

// Notes implements engine.Mirror. It returns a failed last write, rejected answers, replaced files, and unknown tasks.
func (m *MirrorWriter) Notes() []string {
	var notes []string
	if m.failed != "" {
		notes = append(notes, m.failed)
	}
	return slices.Concat(notes, slices.Sorted(maps.Values(m.rejected)), m.replaced, m.unknown)
}

// Advice implements engine.Mirror.
func (m *MirrorWriter) Advice(ctx context.Context, state *pawl.State, plan *pawl.Plan, step pawl.StepID) string {
	if m.Format.Preconditions == nil {
		return ""
	}
	return m.Format.Preconditions(state, plan, newEnv(ctx, m.project.Root, nil), step)
}

// unknownTasks lists the tasks in the mirrored files that a completed run has no step for.
func unknownTasks(f format.Format, files format.Files, export format.Export) []string {
	if f.UnknownTasks == nil || export.Status != pawl.StatusCompleted {
		return nil
	}
	tasks, file := f.UnknownTasks(files, export)
	if len(tasks) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s is not complete: it lists tasks that this run has no steps for: %s; run pawl import %s to continue with them",
		file, strings.Join(tasks, ", "), f.Name)}
}
