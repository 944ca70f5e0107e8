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
	"pawl/internal/redact"
	"pawl/internal/textedit"
)

// write returns the changed files: first the checkpoints, each followed by its archive, then messages, the registry, and
// STATUS.md, which summarizes them. A crash after any of them leaves a usable state, and the next write completes it.
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
	reader *teamReader // of the existing files
	files  *fileset.Set
	boxes  map[string]*box // by name
	works  []*taskStep
	all    []*taskStep // those, and other tasks with a checkpoint
	eol    string      // line end of new Markdown
	found  bool        // a team exists already
}

// taskStep is a step of a run, with its task and agent.
type taskStep struct {
	*pawl.Step
	agent, task   string
	entry         *task
	state         *pawl.StepState
	nativeBlocker string     // why its team calls it blocked, if it has no checkpoint
	stream        *streamRow // its stream in STATUS.md, nil if none

	taskStatus taskStatus // for its checkpoint
	percent    int
	made       []string // outputs of items that finished since its checkpoint was written
	touched    bool     // the run has started it, or changed something about it
	imported   bool     // done at the import
	settled    bool     // its checkpoint was complete and archived before this write
}

func newTeamWriter(files format.Files, v format.Export) *teamWriter {
	w := &teamWriter{Export: v, teamDir: teamDirAt(defaultDir), files: fileset.New(files), boxes: map[string]*box{}, eol: "\n"}
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
	r.addStreams()
	r.addRows()
	r.assignIDs()
}

// assign gives each step its task and agent: the existing ones, or its own id and the phase's name.
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

// agentOf makes an agent's name of a phase's: without hyphens, since the first hyphen in a file name ends the agent's name.
func agentOf(phase string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToLower(phase)), "_")
	return cmp.Or(name[:min(len(name), 40)], "pawl")
}

// blockers returns the open and the cleared blockers of a step.
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

// untouched reports whether nothing has happened to a task that its checkpoint does not have. Then its time stays, since a
// new one would count as activity.
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
	return !slices.ContainsFunc(open, func(b pawl.Blocker) bool {
		return !told[oneLine(b.Text)] && !w.Removed[b.ID] && !importedEscalation.MatchString(b.Text)
	})
}

// unchangedSinceImport reports whether nothing has happened to a task without a checkpoint since the import. A gate that
// asks whether to start it does not count.
func (w *teamWriter) unchangedSinceImport(k *taskStep, open, cleared []pawl.Blocker) bool {
	asked := k.state != nil && k.state.Status == pawl.AwaitsGate && k.Gate == nil && w.State.Import.System == System
	if st := k.state; st != nil && (st.Status != pawl.Pending && !asked || st.Attempts > 0) || len(cleared) > 0 {
		return false
	}
	return !slices.ContainsFunc(open, func(b pawl.Blocker) bool {
		return b.Text != redact.OfProcess().Text(k.nativeBlocker) && !importedEscalation.MatchString(b.Text)
	})
}
