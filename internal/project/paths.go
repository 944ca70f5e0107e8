package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"pawl"
	"pawl/internal/disk"
)

// path returns the path of something in .pawl.
func (p *Project) path(names ...string) string {
	return filepath.Join(append([]string{p.Root, Folder}, names...)...)
}

// Home is the .pawl folder itself.
func (p *Project) Home() string { return p.path() }

// Config is the settings file, which need not be there.
func (p *Project) Config() string { return p.path("config.yaml") }

// Memory is the file of what was learned, which need not be there.
func (p *Project) Memory() string { return p.path("MEMORY.md") }

// Runs is the folder of all runs, which need not be there.
func (p *Project) Runs() string { return p.path("runs") }

// Snapshots is the folder of the snapshot store, which need not be there.
func (p *Project) Snapshots() string { return p.path("snapshots") }

// Archive is the folder of runs set aside, which need not be there.
func (p *Project) Archive() string { return p.path("archive") }

// Making is the folder in which runs are made that need more than one write, until they are moved to the others.
func (p *Project) Making() string { return p.path("making") }

// Sessions is the folder of what hooks keep of the sessions of agents between two calls: caches, all of it.
func (p *Project) Sessions() string { return p.path("sessions") }

// HookLog is where hooks say what went wrong with them: they must not disturb their agents.
func (p *Project) HookLog() string { return p.path("hook.log") }

// Clock is the file by which the file system's clock is asked.
func (p *Project) Clock() string { return p.path("clock") }

// Wanted is the file that says that a checkpoint of a kind is wanted.
func (p *Project) Wanted(kind pawl.CheckpointKind) string { return p.path("wanted." + string(kind)) }

// KeeperLock is held by the process that takes the checkpoints that hooks want.
func (p *Project) KeeperLock() string { return p.path("keeper.lock") }

// RunDir is the folder of a run.
func (p *Project) RunDir(run pawl.RunID) string { return p.path("runs", string(run)) }

// MirrorFile is a cache of what was last written of the files that are kept up to date for a run.
func (p *Project) MirrorFile(run pawl.RunID) string {
	return filepath.Join(p.RunDir(run), "mirror.json")
}

// PlanFile is a revision, from 1, of a run's plan, as RunPlanned.File names it: plan.yaml, plan.2.yaml, ….
func (p *Project) PlanFile(run pawl.RunID, revision int) string {
	name := "plan.yaml"
	if revision > 1 {
		name = fmt.Sprintf("plan.%d.yaml", revision)
	}
	return filepath.Join(p.RunDir(run), name)
}

// StateFile is the view of where a run stands.
func (p *Project) StateFile(run pawl.RunID) string { return p.view(run, "STATE.md") }

// CheckpointFile is the view of how to go on, there while a gate or an interruption is open.
func (p *Project) CheckpointFile(run pawl.RunID) string { return p.view(run, "CHECKPOINT.md") }

// DecisionsFile is the view of what people decided.
func (p *Project) DecisionsFile(run pawl.RunID) string { return p.view(run, "DECISIONS.md") }

// BlockersFile is the view of what stands in the way.
func (p *Project) BlockersFile(run pawl.RunID) string { return p.view(run, "BLOCKERS.md") }

// SummaryFile is the view of one finished step.
func (p *Project) SummaryFile(run pawl.RunID, step pawl.StepID) string {
	return p.view(run, "SUMMARY-"+string(step)+".md")
}

func (p *Project) view(run pawl.RunID, name string) string {
	return filepath.Join(p.RunDir(run), name)
}

// AttemptDir is the folder of one try of a step or item.
func (p *Project) AttemptDir(ref pawl.AttemptRef, run pawl.RunID) string {
	return p.path("runs", string(run), "steps", string(ref.Step), string(ref.Item), strconv.Itoa(ref.Attempt))
}

// UndoDir is the folder of one try to undo a step or item.
func (p *Project) UndoDir(ref pawl.UndoRef, run pawl.RunID) string {
	return p.path("runs", string(run), "steps", string(ref.Step), string(ref.Item), "undo-"+strconv.Itoa(ref.Attempt))
}

// OutDir is the folder that a step is offered for its results, PAWL_OUT.
func (p *Project) OutDir(run pawl.RunID, step pawl.StepID) string {
	return filepath.Join(p.Root, "artifacts", string(run), string(step))
}

// LinkSelf makes .pawl/bin/pawl a link to this very program and returns its folder, which belongs first in a step's
// PATH. A link to another program is replaced in one move.
func (p *Project) LinkSelf() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own program: %w", err)
	}
	self, err = filepath.EvalSymlinks(self) // where the system gives us the link itself
	if err != nil {
		return "", fmt.Errorf("find our own program: %w", err)
	}
	folder := p.path("bin")
	link := filepath.Join(folder, "pawl")
	if target, err := os.Readlink(link); err == nil && target == self {
		return folder, nil
	}
	if err := disk.MakeFolders(folder); err != nil {
		return "", err
	}
	return folder, disk.Symlink(self, link)
}
