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

// aside moves the state to its archive, and lets go of the oldest archives; done says that it is this run's own. What the
// archive is named after is in the files, so that done again after a death it ends the same; phase.json is moved last.
func (m *mirror) aside(now time.Time, done bool) {
	id, at := "", now
	if f := m.files.File(phasePath); f != nil {
		if root, err := jsonedit.Read(f.Data); err == nil {
			p := place{Value: root}
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
		if f == nil || name == executionPath && m.State != nil && !done && m.names(name) {
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

// free returns where something can be archived: nothing that is archived is written over.
func (m *mirror) free(name string, data []byte) string {
	free := name
	for n := 2; m.files.File(free) != nil && !bytes.Equal(m.files.File(free).Data, data); n++ {
		free = name + "." + number(n)
	}
	return free
}

// keep archives a file that cannot be gone on with.
func (m *mirror) keep(f *format.File, id string, now time.Time) {
	m.archive(archiveOf(id, cmp.Or(f.Changed, now)), f)
}

// archive puts a file into an archive.
func (m *mirror) archive(folder string, f *format.File) {
	name := m.free(folder+"/"+path.Base(f.Path), f.Data)
	if _, err := jsonedit.Read(f.Data); err != nil {
		m.files.PutBroken(name, slices.Clone(f.Data), f.Path)
		return
	}
	m.files.Put(name, slices.Clone(f.Data))
}

// prune lets go of the oldest archives: of those only whose names say when they were made, and that hold nothing but
// the state.
func (m *mirror) prune() {
	all := slices.DeleteFunc(archives(m.files.Files()), func(folder string) bool { return stampOf(folder).IsZero() || m.others(folder) })
	for len(all) > keptArchives {
		for _, f := range m.files.Files().Match(all[0] + "/*") {
			m.files.Remove(f.Path)
		}
		m.files.Remove(all[0] + "/")
		all = all[1:]
	}
}

// others reports whether somebody put something into an archive that is no state.
func (m *mirror) others(folder string) bool {
	return slices.ContainsFunc(m.files.Files(), func(f format.File) bool {
		return strings.HasPrefix(f.Path, folder+"/") && !slices.Contains([]string{"phase.json", "execution.json", "phase.json.tmp", "execution.json.tmp"}, path.Base(f.Path))
	})
}
