package dotagent

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// keptArchives is how many archives are kept.
const keptArchives = 5

// archiveOf returns the folder of the archive of a workflow.
func archiveOf(id string, at time.Time) string {
	return archiveFolder + string(pawl.StepIDOf(nameOf(id))) + "_" + at.UTC().Format(stampForm)
}

// archiveState moves the state to its archive, and removes the oldest archives; done says that the state is this run's own. The
// archive's name is derived from the files, so a repeat after a crash has the same result; phase.json is moved last.
func (m *workflowWriter) archiveState(now time.Time, done bool) {
	id, at := "", now
	if f := m.files.File(phasePath); f != nil {
		if root, err := jsonedit.Read(f.Data); err == nil {
			p := node{Value: root}
			id = p.text("workflow_id")
			if said, _, ok := format.ParseTime(p.text("last_updated")); ok && !said.After(now) {
				at = said
			}
		} else {
			id, at = scan(f.Data)["workflow_id"], cmp.Or(f.Changed, now)
		}
	}
	folder := archiveOf(id, at)
	var gone []string
	for _, name := range []string{executionPath, executionPath + ".tmp", phasePath + ".tmp", phasePath} {
		f := m.files.File(name)
		if f == nil || name == executionPath && m.State != nil && !done && m.hasWorkflowID(name) {
			continue // it is of the workflow that the other one makes room for
		}
		m.archive(folder, f)
		gone = append(gone, name)
	}
	for _, name := range gone {
		m.files.Remove(name)
	}
	m.prune()
}

// freeName returns a path in the archive that does not exist yet, or that has these bytes already.
func (m *workflowWriter) freeName(name string, data []byte) string {
	free := name
	for n := 2; m.files.File(free) != nil && !bytes.Equal(m.files.File(free).Data, data); n++ {
		free = name + "." + number(n)
	}
	return free
}

// archiveUnusable archives a file that cannot be edited in place.
func (m *workflowWriter) archiveUnusable(f *format.File, id string, now time.Time) {
	m.archive(archiveOf(id, cmp.Or(f.Changed, now)), f)
}

// archive puts a file into an archive.
func (m *workflowWriter) archive(folder string, f *format.File) {
	name := m.freeName(folder+"/"+path.Base(f.Path), f.Data)
	if _, err := jsonedit.Read(f.Data); err != nil {
		m.files.PutBroken(name, slices.Clone(f.Data), f.Path)
		return
	}
	m.files.Put(name, slices.Clone(f.Data))
}

// prune lets go of the oldest archives: of those only whose names say when they were made, and that hold nothing but
// the state.
func (m *workflowWriter) prune() {
	all := slices.DeleteFunc(archives(m.files.Files()), func(folder string) bool { return stampOf(folder).IsZero() || m.hasOtherFiles(folder) })
	for len(all) > keptArchives {
		for _, f := range m.files.Files().Match(all[0] + "/*") {
			m.files.Remove(f.Path)
		}
		m.files.Remove(all[0] + "/")
		all = all[1:]
	}
}

// hasOtherFiles reports whether an archive has files other than the state's.
func (m *workflowWriter) hasOtherFiles(folder string) bool {
	return slices.ContainsFunc(m.files.Files(), func(f format.File) bool {
		return strings.HasPrefix(f.Path, folder+"/") && !slices.Contains([]string{"phase.json", "execution.json", "phase.json.tmp", "execution.json.tmp"}, path.Base(f.Path))
	})
}
