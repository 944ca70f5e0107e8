package sitebuilder

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/fileset"
	"pawl/internal/textedit"
)

// write returns the files that differ from how they are to be: first the checkpoints, each with its archive behind it, then
// what agents say of them, then the registry, and STATUS.md, which sums them up. Any prefix of them can be lived with, and
// what is missing is made up for by the next write.
func write(files format.Files, v format.Export) []format.File {
	if v.State == nil {
		return nil
	}
	w := newTeamWriter(files, v)
	for _, k := range w.works {
		w.checkpoint(k)
	}
	for _, k := range w.works {
		w.postProgress(k)
	}
	w.deliver()
	w.escalate()
	w.registry()
	w.status()
	return w.files.ByFirstChange()
}

// teamWriter writes the files of one run.
type teamWriter struct {
	teamDir
	format.Export
	reader *teamReader // of what is there: whose tasks are in the registry and have files
	files  *fileset.Set
	boxes  map[string]*box // by name
	works  []*taskStep
	all    []*taskStep // beside them those of others, of which there is a checkpoint
	eol    string      // of Markdown that is made
	found  bool        // there is a team already
}

// taskStep is a step of a run, with its task and agent.
type taskStep struct {
	*pawl.Step
	agent, task   string
	entry         *task
	state         *pawl.StepState
	nativeBlocker string     // by what its team calls it blocked, without a checkpoint
	stream        *streamRow // of STATUS.md that it is, nil for none

	taskStatus taskStatus // as its checkpoint is to say
	percent    int
	made       []string // outputs of items that were finished since its checkpoint was written
	touched    bool     // the run has worked on it, or something about it has changed
	imported   bool     // it was done before the run began
}

func newTeamWriter(files format.Files, v format.Export) *teamWriter {
	w := &teamWriter{Export: v, teamDir: teamDirAt(usual), files: fileset.New(files), boxes: map[string]*box{}, eol: "\n"}
	if all := teamDirs(files); len(all) > 0 {
		w.teamDir, w.found = all[0], true
	}
	for i := range files {
		if strings.HasPrefix(files[i].Path, w.base) && strings.HasSuffix(files[i].Path, ".md") {
			w.eol = textedit.EOL(files[i].Data)
		}
	}
	w.reader = newTeamReader(files, format.Env{Now: v.Now})
	w.reader.teamDir = w.teamDir
	w.reader.readRegistry()
	w.reader.gatherNames()
	w.assign()
	return w
}

// gatherNames makes a job of each task by the names of its files, without reading them.
func (r *teamReader) gatherNames() {
	known := map[string]bool{}
	byName := map[[2]string]bool{}
	for _, t := range r.tasks {
		known[t.id] = true
	}
	agents := map[string]string{} // task of the registry → its agent by a file
	var others []*job
	for _, f := range r.files {
		base, ok := strings.CutPrefix(f.Path, r.checkpoints())
		if !ok || strings.Contains(base, "/") {
			continue
		}
		n := nameOf(f.Path)
		key := [2]string{n.agent, n.task}
		switch {
		case byName[key]:
		case known[n.task] && agents[n.task] == "":
			agents[n.task] = n.agent
		default:
			others = append(others, &job{agent: n.agent, task: n.task})
		}
		byName[key] = true
	}
	for _, t := range r.tasks {
		r.jobs = append(r.jobs, &job{agent: cmp.Or(agents[t.id], t.agent), task: t.id, entry: t})
	}
	slices.SortStableFunc(others, func(a, b *job) int { return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.task, b.task)) })
	r.jobs = append(r.jobs, others...)
	r.readStatus()
	r.fromBoard()
	r.identify()
}

// assign gives every step its task and its agent: those that it has there, or its own id and the phase's name.
func (w *teamWriter) assign() {
	byID := map[pawl.StepID]*job{}
	for _, j := range w.reader.jobs {
		byID[j.id] = j
	}
	plan := w.Plan
	if plan == nil {
		plan = &pawl.Plan{}
	}
	planned := map[pawl.StepID]bool{}
	add := func(s *pawl.Step, phase string) {
		k := &taskStep{Step: s, agent: agentOf(phase), task: string(s.ID), state: w.State.Steps[s.ID]}
		if j := cmp.Or(byID[s.ID], w.reader.board.owned(s.ID)); j != nil {
			k.agent, k.task, k.entry, k.nativeBlocker = cmp.Or(j.agent, k.agent), j.task, j.entry, j.nativeBlocker()
		}
		if i := slices.IndexFunc(w.reader.board.streams, func(s streamRow) bool { return s.name == k.task }); i >= 0 {
			k.stream = &w.reader.board.streams[i]
		}
		w.works = append(w.works, k)
	}
	for i := range plan.Phases {
		for j := range plan.Phases[i].Steps {
			s := &plan.Phases[i].Steps[j]
			planned[s.ID] = true
			add(s, plan.Phases[i].Name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.State.Steps)) {
		if !planned[id] {
			add(&pawl.Step{ID: id}, w.State.Name)
		}
	}
}

// agentOf makes an agent's name of a phase's: without hyphens, since behind the first one of a file's name its task begins.
func agentOf(phase string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToLower(phase)), "_")
	return cmp.Or(name[:min(len(name), 40)], "pawl")
}

// blockers returns what keeps a step from going on, and what once did.
func (w *teamWriter) blockers(id pawl.StepID) (open, cleared []pawl.Blocker) {
	for _, b := range w.State.Blockers {
		switch {
		case b.Step != id:
		case b.Cleared.IsZero():
			open = append(open, b)
		default:
			cleared = append(cleared, b)
		}
	}
	return open, cleared
}

// untouched reports whether nothing has happened to a task but what its checkpoint says: then its time stays, which would be a
// sign of life.
func (w *teamWriter) untouched(k *taskStep, e *editor, open, cleared []pawl.Blocker) bool {
	if e.made || k.state.Status != pawl.Pending || k.state.Attempts > 0 || len(cleared) > 0 || hasPawlError(e) {
		return false
	}
	told := map[string]bool{blockedByNothing: true, withoutMessage: true}
	if list := e.at("errors"); list != nil {
		for i := range list.Items {
			at := strconv.Itoa(i)
			told[oneLine(cmp.Or(e.says("errors", at, "message"), e.says("errors", at, "type")))] = true
		}
	}
	return !slices.ContainsFunc(open, func(b pawl.Blocker) bool { return !told[oneLine(b.Text)] && !importedEscalation.MatchString(b.Text) })
}

// asFound reports whether nothing has happened to a task but what its team's files say themselves, outside of a checkpoint. Of
// one that is imported that is so too as long as a person is only asked whether it is gone on with.
func (w *teamWriter) asFound(k *taskStep, open, cleared []pawl.Blocker) bool {
	asked := k.state != nil && k.state.Status == pawl.AwaitsGate && k.Gate == nil && w.State.Import.System == System
	if st := k.state; st != nil && (st.Status != pawl.Pending && !asked || st.Attempts > 0) || len(cleared) > 0 {
		return false
	}
	return !slices.ContainsFunc(open, func(b pawl.Blocker) bool { return b.Text != k.nativeBlocker && !importedEscalation.MatchString(b.Text) })
}
