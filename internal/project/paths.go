package project

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"pawl"
)

// path returns a path in .pawl. Ids in it may come from files that anybody wrote, so a name that would lead elsewhere
// is replaced by one that nothing has.
func (p *Project) path(names ...string) string { return p.join(Folder, names...) }

// join returns a path in a folder of the project. It ignores empty names.
func (p *Project) join(folder string, names ...string) string {
	path := filepath.Join(p.Root, folder)
	for _, name := range names {
		if name == "" {
			continue
		}
		path += string(filepath.Separator) + safeName(name)
	}
	return path
}

// maxName is the maximum length of a name in a folder, in bytes.
const maxName = 255

// safeName returns name if it names an entry of a folder, otherwise a hash of it.
func safeName(name string) string {
	if name == "." || name == ".." || len(name) > maxName || strings.ContainsAny(name, "/\x00") {
		sum := sha256.Sum256([]byte(name))
		return "invalid-" + hex.EncodeToString(sum[:])
	}
	return name
}

// Home is the .pawl folder.
func (p *Project) Home() string { return p.path() }

// Config is the path of the settings file, which may be missing.
func (p *Project) Config() string { return p.path("config.yaml") }

// Memory is the path of MEMORY.md, which may be missing.
func (p *Project) Memory() string { return p.path("MEMORY.md") }

// Runs is the folder of all runs, which may be missing.
func (p *Project) Runs() string { return p.path("runs") }

// Snapshots is the folder of the snapshot store, which may be missing.
func (p *Project) Snapshots() string { return p.path("snapshots") }

// Archive is the folder of archived runs, which may be missing.
func (p *Project) Archive() string { return p.path("archive") }

// Staging is the folder in which runs that need several writes are prepared before they are moved to Runs.
func (p *Project) Staging() string { return p.path("making") }

// Sessions is the folder of caches that hooks keep about agent sessions between calls.
func (p *Project) Sessions() string { return p.path("sessions") }

// HookLog is the file to which hooks write their errors, since they must not disturb their agents.
func (p *Project) HookLog() string { return p.path("hook.log") }

// Clock is the file used to read the file system's clock.
func (p *Project) Clock() string { return p.path("clock") }

// RestoreMarker is the file that names the run with an unfinished restore. The run's journal has the restore itself.
func (p *Project) RestoreMarker() string { return p.path("restoring") }

// CheckpointRequest is the file whose existence requests a checkpoint of a kind.
func (p *Project) CheckpointRequest(kind pawl.CheckpointKind) string {
	return p.path("wanted." + string(kind))
}

// CheckpointerLock is the lock of the process that takes the checkpoints that hooks request.
func (p *Project) CheckpointerLock() string { return p.path("keeper.lock") }

// RunDir is the folder of a run.
func (p *Project) RunDir(run pawl.RunID) string { return p.path("runs", runName(run)) }

// ArchivedDir is the folder of an archived run.
func (p *Project) ArchivedDir(run pawl.RunID) string { return p.path("archive", runName(run)) }

// MirrorFile is a cache of what was last written to the mirrored files of a run.
func (p *Project) MirrorFile(run pawl.RunID) string {
	return p.view(run, "mirror.json")
}

// PlanFile is a revision, from 1, of a run's plan, as named by RunPlanned.File: plan.yaml, plan.2.yaml and so on.
func (p *Project) PlanFile(run pawl.RunID, revision int) string {
	name := "plan.yaml"
	if revision > 1 {
		name = fmt.Sprintf("plan.%d.yaml", revision)
	}
	return p.view(run, name)
}

// StateFile is the view of a run's state.
func (p *Project) StateFile(run pawl.RunID) string { return p.view(run, "STATE.md") }

// CheckpointFile is the view of how to continue; it exists while a gate or an interruption is open.
func (p *Project) CheckpointFile(run pawl.RunID) string { return p.view(run, "CHECKPOINT.md") }

// DecisionsFile is the view of people's decisions.
func (p *Project) DecisionsFile(run pawl.RunID) string { return p.view(run, "DECISIONS.md") }

// BlockersFile is the view of blockers.
func (p *Project) BlockersFile(run pawl.RunID) string { return p.view(run, "BLOCKERS.md") }

// SummaryFile is the view of one finished step.
func (p *Project) SummaryFile(run pawl.RunID, step pawl.StepID) string {
	return p.view(run, "SUMMARY-"+string(step)+".md")
}

func (p *Project) view(run pawl.RunID, name string) string {
	return p.path("runs", runName(run), name)
}

// runName is the name of a run's folder, also if the id is empty.
func runName(run pawl.RunID) string { return cmp.Or(string(run), "invalid") }

// AttemptDir is the folder of one attempt at a step or item.
func (p *Project) AttemptDir(ref pawl.AttemptRef, run pawl.RunID) string {
	return p.path("runs", runName(run), "steps", cmp.Or(string(ref.Step), "invalid"), string(ref.Item), strconv.Itoa(ref.Attempt))
}

// KernelsDir is the folder with the kernel sessions of a run.
func (p *Project) KernelsDir(run pawl.RunID) string { return p.path("runs", runName(run), "kernels") }

// KernelDir is the folder of a kernel session of a run.
func (p *Project) KernelDir(run pawl.RunID, session string) string {
	return p.path("runs", runName(run), "kernels", cmp.Or(session, "invalid"))
}

// NotebookPlan is the plan that pawl notebook run writes for a notebook, by a name.
func (p *Project) NotebookPlan(name string) string { return p.path("notebooks", name+".yaml") }

// UndoDir is the folder of one attempt to undo a step or item.
func (p *Project) UndoDir(ref pawl.UndoRef, run pawl.RunID) string {
	return p.path("runs", runName(run), "steps", cmp.Or(string(ref.Step), "invalid"), string(ref.Item), "undo-"+strconv.Itoa(ref.Attempt))
}

// OutDir is the folder offered to a step for its results, PAWL_OUT.
func (p *Project) OutDir(run pawl.RunID, step pawl.StepID) string {
	return p.join("artifacts", runName(run), string(step))
}
