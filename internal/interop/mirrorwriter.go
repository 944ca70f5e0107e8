package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	mu           sync.Mutex // guards writing, lastDuration, paths and stamp
	writing      bool
	lastDuration time.Duration // of the last write
	paths        []string      // the files that were read last
	stamp        string        // of paths, from before they were read
	writes       sync.WaitGroup
	rejected     map[pawl.GateAnswered]string // answers in the files, and why they were rejected; used by one write at a time
	kept         []string                     // see clearRemoved; likewise
	replaced     []string                     // see replacedNotes; likewise
	unknown      []string                     // see unknownTasks; likewise
	conflicts    []string                     // what others wrote that contradicts the run; likewise
	store        *snapshot.Store              // nil if the project has no snapshots
	lastWrite    time.Time                    // start of the last write; this field and those below belong to the engine's goroutine
	trigger      format.Trigger               // the last since then, by their order; empty if nothing has changed
	ended        []pawl.StepID                // steps that ended since then
	due          <-chan time.Time             // fires when a postponed write is due; nil if none is
	poll         <-chan time.Time             // fires when it is time to look for writes of others; nil if nobody waits for it
	endPoll      func()                       // ends what poll waits for; nil if it waits only for the time
	heard        <-chan struct{}              // somebody announced a write; nil if nothing is heard
	unhear       func()                       // ends that
	told         atomic.Bool                  // somebody announced a write since the last look
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
	if isServer(m.Dir, m.Format) && m.Format.Paused != nil {
		m.heard, m.unhear = m.Format.Server.Hear(filepath.Dir(m.Dir), m.Format.Tables(state))
	}
	m.readOthers(ctx, state, plan)
	m.started = true
	return m.Record(m.project)
}

// Changed implements engine.Mirror. It writes the files in the background or, if they were just written, returns a timer for
// the next write. If others write into the files too, the timer is at most the one for the next look at them.
func (m *MirrorWriter) Changed(ctx context.Context, state *pawl.State, plan *pawl.Plan, events []pawl.Event) <-chan time.Time {
	fired := len(events) == 0
	if fired {
		m.due, m.poll = nil, nil
		m.stopPoll()
	}
	for _, event := range events {
		m.addTrigger(event)
	}
	if m.due != nil || !m.started {
		return m.due
	}
	if m.trigger == "" && !(fired && m.othersWrote()) {
		return m.nextPoll()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := m.minInterval() - time.Since(m.lastWrite); m.writing || left > 0 {
		m.due = time.After(max(left, mirrorInterval/10))
		return m.due
	}
	m.writing, m.lastWrite = true, time.Now()
	m.told.Store(false)
	m.writeInBackground(context.WithoutCancel(ctx), state.Clone(), plan, m.takeTrigger(state, plan)) // a canceled write would leave half of the state
	return m.nextPoll()
}

// pollInterval is the time between two looks at files that others write into.
const pollInterval = 2 * time.Second

// nextPoll returns the timer for the next look at the files, nil if nobody else writes into them.
func (m *MirrorWriter) nextPoll() <-chan time.Time {
	switch {
	case m.Format.Paused == nil || m.poll != nil:
	case m.heard == nil:
		m.poll = time.After(pollInterval)
	case m.told.Load(): // while a write was under way
		m.poll = time.After(mirrorInterval / 10)
	default:
		m.poll = m.pollOrHear()
	}
	return m.poll
}

// pollOrHear returns a channel that fires when somebody announces a write, and after pollInterval.
func (m *MirrorWriter) pollOrHear() <-chan time.Time {
	due, end := make(chan time.Time, 1), make(chan struct{})
	m.endPoll = sync.OnceFunc(func() { close(end) })
	m.writes.Go(func() {
		timer := time.NewTimer(pollInterval)
		defer timer.Stop()
		select {
		case <-end:
			return
		case <-m.heard:
			m.told.Store(true)
		case <-timer.C:
		}
		due <- time.Now()
	})
	return due
}

func (m *MirrorWriter) stopPoll() {
	if m.endPoll != nil {
		m.endPoll()
		m.endPoll = nil
	}
}

// othersWrote reports whether the files have changed since they were read last. After a write of pawl's own it is true once.
func (m *MirrorWriter) othersWrote() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Format.Paused != nil && !m.writing && (isServer(m.Dir, m.Format) || stampOf(m.paths) != m.stamp)
}

// serverWrote reports whether somebody has written to the server since its tables were read last. To ask it may take a while.
func (m *MirrorWriter) serverWrote(state *pawl.State) bool {
	now := m.serverStamp(state)
	m.mu.Lock()
	defer m.mu.Unlock()
	return now != m.stamp
}

// serverStamp returns the stamp of the server's tables; "" if it does not answer.
func (m *MirrorWriter) serverStamp(state *pawl.State) string {
	stamp, _ := m.Format.Server.Stamp(filepath.Dir(m.Dir), m.Format.Tables(state)) // reading the tables reports the error
	return stamp
}

// stampOf returns a text that changes whenever one of the files, or the write-ahead log of a database, is written.
func stampOf(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		for _, name := range []string{path, path + "-wal"} {
			if info, err := os.Lstat(name); err == nil {
				fmt.Fprintf(&b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}

// readStamped is readToWrite. It also stamps the files, so that a later write of someone else is noticed.
func (m *MirrorWriter) readStamped(state *pawl.State) (format.Files, error) {
	var stamp string
	if isServer(m.Dir, m.Format) {
		stamp = m.serverStamp(state)
	}
	m.mu.Lock()
	if m.stamp = stamp; stamp == "" {
		m.stamp = stampOf(m.paths)
	}
	m.mu.Unlock()
	files, err := readToWrite(state, m.Dir, m.Format)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paths = nil
	for _, f := range files {
		m.paths = append(m.paths, filepath.Join(locate(m.Dir, m.Format).dir, filepath.FromSlash(f.Path)))
	}
	return files, err
}

// writeInBackground reads the answers in the files and then writes them. Close waits for it. The next write retries a failed
// one, and Close reports the failure.
func (m *MirrorWriter) writeInBackground(ctx context.Context, state *pawl.State, plan *pawl.Plan, trigger format.Trigger) {
	m.writes.Go(func() {
		start := time.Now()
		if trigger != "" || !isServer(m.Dir, m.Format) || m.serverWrote(state) {
			m.readOthers(ctx, state, plan)
			_ = m.write(m.export(ctx, state, plan, trigger, true))
		}
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
	if m.stopPoll(); m.unhear != nil {
		m.unhear()
	}
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
	export := newExport(ctx, m.project, &runs.Run{Log: m.log, State: state, Plan: plan}, m.Format, m.store, trigger, engine)
	export.Dir = m.dirIn(m.project)
	return export
}

func (m *MirrorWriter) write(export format.Export) error {
	r := &runs.Run{Log: m.log, State: export.State, Plan: export.Plan}
	return m.withLock(m.project, func() error {
		var read format.Files
		written, err := m.update(m.project, export.State, func(files format.Files) ([]format.File, error) {
			read = files
			m.unknown = unknownTasks(m.Format, files, export)
			export.Removed = removedIDs(m.removals(m.project, r, files))
			found, _ := conflictsOf(m.Format, files, export)
			m.conflicts = appendNew(m.conflicts, found)
			return m.Format.Write(files, export), nil
		})
		if err == nil {
			m.noteListed(m.project, export.State, export.Plan, mergeFiles(read, written))
		}
		m.replaced = append(m.replaced, replacedNotes(written)...)
		return err
	})
}

// Notes implements engine.Mirror. It returns a failed last write, rejected answers, removed blockers, replaced files, conflicts, and
// unknown tasks.
func (m *MirrorWriter) Notes() []string {
	var notes []string
	if m.failed != "" {
		notes = append(notes, m.failed)
	}
	return slices.Concat(notes, slices.Sorted(maps.Values(m.rejected)), m.kept, m.replaced, m.conflicts, m.unknown)
}

// conflictsOf returns what others have written into the files that contradicts the run, and whether someone has continued the work.
func conflictsOf(f format.Format, files format.Files, export format.Export) (lines []string, moved bool) {
	if f.Conflicts == nil {
		return nil, false
	}
	return f.Conflicts(files, export)
}

// appendNew appends the lines that are not in all yet.
func appendNew(all, lines []string) []string {
	for _, line := range lines {
		if !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return all
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
