package sitebuilder

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
	"pawl/internal/shellwords"
)

// teamReader reads the files of one team.
type teamReader struct {
	teamDir
	report.Report
	files format.Files
	index map[string]int // index of a file, by path
	env   format.Env
	now   time.Time
	clock clock
	out   format.Project

	board    board
	tasks    []*task // in the registry
	messages []message
	asked    []escalation
	jobs     []*job
}

// job is a task with everything that is known about it.
type job struct {
	agent, task string
	id          pawl.StepID
	entry       *task       // in the registry
	point       *checkpoint // that counts
	current     *checkpoint
	archived    *checkpoint
	stream      *streamRow // where nothing else is known
	unmet       []string   // why it is not complete although it says so
	missing     []string   // claimed files that are not there
	status      taskStatus
	step        format.Step
}

// readTeam reads the files of the first team among them.
func readTeam(files format.Files, env format.Env) *teamReader {
	r := newTeamReader(files, env)
	all := teamDirs(files)
	if len(all) == 0 {
		return r
	}
	r.teamDir = all[0]
	for _, p := range all[1:] {
		r.Add(pawl.Finding{Level: pawl.Warn, What: "another team was found here and not read", Where: strings.TrimSuffix(p.base, "/"),
			Hint: "pawl import sitebuilder " + shellwords.Word(strings.TrimSuffix(p.root, "/"))})
	}
	r.readRegistry()
	r.readStatus()
	r.readMessages()
	r.gatherJobs()
	r.buildSteps()
	r.buildProject()
	return r
}

func newTeamReader(files format.Files, env format.Env) *teamReader {
	r := &teamReader{files: files, index: make(map[string]int, len(files)), env: env, now: env.Now}
	for i, f := range files {
		r.index[f.Path] = i
	}
	r.clock = clock{env.Now, cmp.Or(env.Quiet, quietAfter), cmp.Or(env.Stalled, stalledAfter)}
	r.out.System, r.out.Facts = System, map[string]string{}
	return r
}

// file returns a file, nil if there is none.
func (r *teamReader) file(name string) *format.File {
	if i, ok := r.index[name]; ok {
		return &r.files[i]
	}
	return nil
}

// gatherJobs makes a job of each task: those of the registry in order, then those that only have checkpoints.
func (r *teamReader) gatherJobs() {
	known := map[string]*job{} // task → of the registry
	for _, t := range r.tasks {
		j := &job{agent: t.agent, task: t.id, entry: t}
		known[t.id] = j
		r.jobs = append(r.jobs, j)
	}
	byName := map[[2]string]*job{}
	var others []*job
	for _, c := range r.readCheckpoints() {
		key := [2]string{c.agent, c.task}
		j := byName[key]
		if j == nil {
			if j = known[c.task]; j == nil || j.point != nil {
				j = &job{agent: c.agent, task: c.task}
				others = append(others, j)
			}
			byName[key] = j
		}
		r.addCheckpoint(j, c)
	}
	slices.SortStableFunc(others, func(a, b *job) int { return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.task, b.task)) })
	r.jobs = append(r.jobs, others...)
	r.addStreams()
	r.addRows()
	r.assignIDs()
}

// readCheckpoints returns all checkpoints. Of unreadable ones only the names are known.
func (r *teamReader) readCheckpoints() []*checkpoint {
	var all []*checkpoint
	lies := func(name string) bool {
		base, ok := strings.CutPrefix(name, r.checkpoints())
		return ok && !strings.Contains(base, "/")
	}
	for i := range r.files {
		if f := &r.files[i]; lies(f.Path) {
			all = append(all, r.readCheckpoint(f))
		}
	}
	for _, name := range r.env.Unread {
		if lies(name) && strings.HasSuffix(name, ".json") {
			all = append(all, unreadAt(name))
		}
	}
	return all
}

// addCheckpoint adds a checkpoint to a job. The archived one counts if it is newer, or the only one.
func (r *teamReader) addCheckpoint(j *job, c *checkpoint) {
	switch {
	case c.old:
		return
	case c.archived:
		j.archived = c
	default:
		j.current = c
	}
	j.agent = cmp.Or(c.agent, j.agent)
	j.point = cmp.Or(j.current, j.archived)
	if j.current == nil || j.archived == nil {
		return
	}
	last, filed := j.current.activity(r.now), j.archived.activity(r.now)
	if filed.After(last) {
		j.point = j.archived
	}
	if j.current.taskStatus() != complete {
		r.Warn(report.Where(j.current.file, j.current.line), "it is %s, and an archived checkpoint exists too: %s", orNone(j.current.native), counts(j.point == j.current))
	}
}

func counts(current bool) string {
	if current {
		return "the task was restarted since"
	}
	return "the archived one is newer and is used"
}

// addStreams makes a job of each stream in STATUS.md without one, if there are no tasks but only streams.
func (r *teamReader) addStreams() {
	known := map[string]bool{}
	for _, s := range r.board.streams {
		known[s.name] = false
	}
	for _, j := range r.jobs {
		if _, stream := known[j.task]; !stream {
			return
		}
		known[j.task] = true
	}
	for i := range r.board.streams {
		if s := &r.board.streams[i]; !known[s.name] {
			j := &job{agent: agentNamed(s.name), task: s.name, stream: s}
			if i := slices.IndexFunc(r.board.agents, func(a agentRow) bool { return a.agent() == j.agent }); i >= 0 {
				s.doing = r.board.agents[i].task
			}
			r.jobs = append(r.jobs, j)
		}
	}
}

// addRows makes a job of each task that only the table of checkpoints in STATUS.md lists. One that is complete there is left out:
// nothing shows what it did. If the streams are the work, the rows are parts of it.
func (r *teamReader) addRows() {
	known := map[string]bool{}
	key := func(task string) string { return strings.ToLower(string(pawl.StepIDOf(task))) }
	for _, j := range r.jobs {
		if j.stream != nil {
			return
		}
		known[key(j.task)] = true
	}
	for _, s := range r.board.streams {
		known[key(s.name)] = true
	}
	for i := range r.board.tasks {
		row := &r.board.tasks[i]
		switch {
		case known[key(row.task)]:
		case row.stream.taskStatus() == complete:
			r.Warn(report.Where(r.status(), row.stream.line), "task %s is complete here, but has no checkpoint; it is not imported", oneline.Quote(row.task))
		default:
			r.jobs = append(r.jobs, &job{agent: row.agent, task: row.task, stream: row.stream})
		}
		known[key(row.task)] = true
	}
}

// assignIDs gives each job a unique id: its task's or, if several jobs have that, with the agent's.
func (r *teamReader) assignIDs() {
	same := map[string]int{}
	for _, j := range r.jobs {
		same[strings.ToLower(string(pawl.StepIDOf(j.task)))]++
	}
	taken := map[string]bool{}
	for _, j := range r.jobs {
		j.id = pawl.StepIDOf(j.task)
		if same[strings.ToLower(string(j.id))] > 1 && j.agent != "" {
			j.id = pawl.StepIDOf(j.agent + "-" + j.task)
		}
		for n := 2; taken[strings.ToLower(string(j.id))]; n++ {
			j.id = pawl.StepIDOf(j.agent + "-" + j.task + " " + strconv.Itoa(n))
		}
		taken[strings.ToLower(string(j.id))] = true
	}
}

// time parses a time, and reports an odd one.
func (r *teamReader) time(file string, line int, text string) time.Time {
	at, zoned, _ := format.ParseTime(text)
	switch {
	case at.IsZero():
		r.Find(pawl.Warn, report.Where(file, line), "write it as "+stamp(r.now), "not a time: %s", oneline.Quote(text))
		return at
	case !zoned && len(strings.TrimSpace(text)) > len(time.DateOnly):
		r.Find(pawl.Warn, report.Where(file, line), "write it as "+stamp(at), "%s has no time zone; UTC is assumed", oneline.Quote(text))
	}
	if at.After(r.now.Add(clockSkew)) {
		r.Warn(report.Where(file, line), "%s is in the future; ignored", oneline.Quote(text))
	}
	return at
}

// fact keeps a value that pawl has no field for.
func (r *teamReader) fact(name, text string) {
	if text != "" {
		r.out.Facts[name] = oneline.Clip(text, maxText)
	}
}

func orNone(text string) string { return cmp.Or(text, "without a status") }

// score parses a reviewer's score.
func score(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= 100
}
