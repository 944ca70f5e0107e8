package history

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// runDir returns the folder of a run, active or archived.
func runDir(p *project.Project, run pawl.RunID) string {
	if _, err := disk.Lstat(p.RunDir(run)); err == nil {
		return p.Runs()
	}
	return p.Archive()
}

// AllRuns returns the project's runs, including archived ones, newest first.
func AllRuns(p *project.Project) ([]pawl.RunID, error) {
	ids, err := runs.List(p)
	if err != nil {
		return nil, err
	}
	aside, err := runs.ArchivedRuns(p)
	if err != nil {
		return nil, err
	}
	ids = append(ids, aside...)
	slices.SortStableFunc(ids, func(a, b pawl.RunID) int { return strings.Compare(runs.RunStamp(b), runs.RunStamp(a)) })
	return ids, nil
}

// EachEvent calls do with each event of a run's journal. It stops at damage, with an error. A run whose creation was
// interrupted has no events.
func EachEvent(ctx context.Context, p *project.Project, run pawl.RunID, do func(pawl.Event)) error {
	dir := &journal.Dir{Path: runDir(p, run)}
	for event, err := range dir.Read(ctx, run, 0) {
		if err != nil {
			return errors.Join(err, dir.Close())
		}
		do(event)
	}
	return dir.Close()
}

// checkpointLog is what a run's own journal records about checkpoints. Checkpoints that a forked run inherited belong
// to the original run.
type checkpointLog struct {
	run      pawl.RunID
	forked   *pawl.Fork
	created  time.Time
	saved    []pawl.Checkpoint
	pruned   map[pawl.CheckpointID]string // with the reason
	restored []restoreEvent
}

// restoreEvent is a restore with its event.
type restoreEvent struct {
	pawl.FilesRestored
	event pawl.Event
}

// readCheckpointLog reads a run's checkpoint log. With an error it returns what precedes the damage.
func readCheckpointLog(ctx context.Context, p *project.Project, run pawl.RunID) (*checkpointLog, error) {
	s := &checkpointLog{run: run, pruned: map[pawl.CheckpointID]string{}}
	return s, EachEvent(ctx, p, run, s.add)
}

// checkpointEvents are the event types that concern checkpoints.
var checkpointEvents = []pawl.EventType{
	pawl.RunCreated{}.Event(), pawl.CheckpointSaved{}.Event(), pawl.StepDone{}.Event(),
	pawl.CheckpointsPruned{}.Event(), pawl.FilesRestored{}.Event(),
}

func (s *checkpointLog) add(event pawl.Event) {
	if !slices.Contains(checkpointEvents, event.Type) || s.forked != nil && event.Seq <= s.forked.Seq {
		return
	}
	payload, err := event.Payload()
	if err != nil {
		return // the fold records it as rejected
	}
	switch p := payload.(type) {
	case pawl.RunCreated:
		s.forked, s.created = p.Forked, event.Time
	case pawl.CheckpointSaved:
		s.addCheckpoint(p.Checkpoint, event)
	case pawl.StepDone:
		if p.Save != nil {
			s.addCheckpoint(*p.Save, event)
		}
	case pawl.CheckpointsPruned:
		for _, id := range p.Checkpoints {
			s.pruned[id] = p.Why
		}
	case pawl.FilesRestored:
		s.restored = append(s.restored, restoreEvent{FilesRestored: p, event: event})
	}
}

// isPruned reports whether pawl deleted the snapshot of a checkpoint.
func (s *checkpointLog) isPruned(id pawl.CheckpointID) bool {
	why, gone := s.pruned[id]
	return gone && why != pawl.WhyLost
}

func (s *checkpointLog) addCheckpoint(c pawl.Checkpoint, event pawl.Event) {
	c.Seq, c.Time = event.Seq, event.Time
	s.saved = append(s.saved, c)
}
