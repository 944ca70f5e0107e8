package interop

import (
	"cmp"
	"context"
	"fmt"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
)

// RefuseOverwrite returns an error if a new run would overwrite unfinished work of others. What an earlier run of the same plan
// left there counts as its own unless others changed it since; if that run is unfinished, only fresh allows to replace it.
func RefuseOverwrite(ctx context.Context, p *project.Project, m *Mirror, folder *Folder, plan *pawl.Plan, fresh bool) error {
	what, file := folder.Unfinished(plan)
	if what == "" {
		return nil
	}
	system := m.Format.Name
	last := LastMirrored(ctx, p, plan.Name, m.Record(p))
	hint := fmt.Sprintf("pawl import %s%s, or mirror to another folder: --mirror %s=PATH", system, FolderArgument(p, m), system)
	if last != nil && m.ChangedSince([]format.File{{Path: file}}, last.Updated) == "" {
		if last.Ended() || fresh {
			return nil
		}
		hint = "pawl resume " + string(last.Run)
	}
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: hint,
		Err: fmt.Errorf("%s: %s is unfinished, and run %s would overwrite it", system, what, plan.Name),
	}
}

// FolderArgument returns the folder of a mirror as a command's argument, with a leading space; "" for the project itself.
func FolderArgument(p *project.Project, m *Mirror) string {
	if path := m.Record(p).Path; path != "" {
		return " " + shellwords.Word(path)
	}
	return ""
}

// WorkflowToResume names the workflow that the other system would resume in a f. It is empty if there is none, if it is
// a run of this project, or if this run was imported from it.
func (f *Folder) WorkflowToResume(p *project.Project, m Mirror, s *pawl.State) string {
	q := f.ResumePrompt()
	if q.Ask == "" || IsProjectRun(p, q.Workflow) || s.Import.System == m.Format.Name && s.Import.ID == q.Workflow {
		return ""
	}
	return "workflow " + cmp.Or(q.Workflow, "(unknown)")
}

// OwnedBy reports whether a run mirrors to the files of a folder, or was imported from the unfinished work in it.
func (f *Folder) OwnedBy(p *project.Project, m Mirror, r *runs.Run) bool {
	s := r.State
	if s.Mirror != nil && *s.Mirror == m.Record(p) {
		return true
	}
	_, file := f.Unfinished(r.Plan)
	place, is := f.ImportPlace(p, s)
	_, madeOf := f.At(place).Unfinished(r.Plan)
	return is && file == madeOf
}
