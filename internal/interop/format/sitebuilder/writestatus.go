package sitebuilder

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// registry updates the status and the actual time of tasks in the registry.
func (w *teamWriter) registry() {
	name := w.teamDir.registry()
	f := w.files.File(name)
	if f == nil {
		return
	}
	var edits []textedit.Edit
	for _, k := range w.works {
		if k.entry == nil || !k.touched || k.imported || k.state.Attempts == 0 {
			continue
		}
		part := k.entry.part
		block := part.Bytes(f.Data)
		y, err := yamledit.Read(block, textedit.Whole(block))
		if err != nil {
			continue // reading reports it
		}
		if next, err := y.Merge(w.entry(k, y.Root)); err == nil && !bytes.Equal(next, block) {
			edits = append(edits, textedit.Edit{From: part.From, To: part.To, Text: string(next)})
		}
	}
	w.files.Put(name, textedit.Apply(f.Data, edits))
}

// entry returns the values of a task in the registry.
func (w *teamWriter) entry(k *taskStep, was *yamledit.Value) *yamledit.Value {
	pairs := []yamledit.Pair{}
	now := k.taskStatus
	if k.state.Status == pawl.AwaitsReview {
		now = inReview // only the registry has this status
	}
	if meaning(was.Get("status").Says()) != now {
		pairs = append(pairs, yamledit.Pair{Key: "status", Value: yamledit.Word(string(now))})
	}
	if scalarOrNone(was.Get("assigned_to")) == "" {
		pairs = append(pairs, yamledit.Pair{Key: "assigned_to", Value: yamledit.Word(k.agent)})
	}
	if k.taskStatus == complete && k.state.Seconds > 0 {
		pairs = append(pairs, yamledit.Pair{Key: "actual_hours", Value: yamledit.Decimal(hours(k.state.Seconds))})
	}
	return yamledit.MapOf(pairs...)
}

// status updates STATUS.md: the rows of the run's agents, the table of checkpoints and, if one of them changed, the time of
// the update. It changes nothing else.
func (w *teamWriter) status() {
	if !slices.ContainsFunc(w.works, func(k *taskStep) bool { return k.touched }) {
		return
	}
	w.all = w.allSteps()
	name := w.teamDir.status()
	before := w.files.Data(name)
	data := before
	if data == nil {
		data = []byte(strings.ReplaceAll("# Orchestration Status\n\n**Last Updated**: -\n**Overall Progress**: 0% (0/"+strconv.Itoa(len(w.works))+" tasks)\n\n---\n\n"+
			"## Active Agents\n\n| Agent | Status | Current Task | Last Checkpoint |\n|-------|--------|--------------|-----------------|\n", "\n", w.eol))
	}
	data = w.overall(w.checkpointTable(w.agentRows(w.streamRows(data))))
	if string(data) != string(before) {
		w.files.Put(name, withField(data, "Last Updated", stamp(w.State.Updated), nil))
	}
}

// allSteps returns the steps of the run, and other tasks with a checkpoint, which has their status.
func (w *teamWriter) allSteps() []*taskStep {
	all := slices.Clone(w.works)
	known := map[[2]string]bool{}
	for _, k := range w.works {
		known[[2]string{k.agent, k.task}] = true
	}
	for _, j := range w.reader.jobs {
		k := &taskStep{Step: &pawl.Step{ID: j.id}, agent: j.agent, task: j.task}
		e := edit(w.files.Data(w.pathOf(k)))
		if e != nil && !known[[2]string{j.agent, j.task}] {
			k.Name = e.says("task_title")
			all = append(all, k)
		}
	}
	for _, k := range all {
		if e := edit(w.files.Data(w.pathOf(k))); e != nil && k.taskStatus == unknown {
			k.taskStatus = meaning(e.says("status"))
		}
	}
	return all
}

// withField replaces the value of a line "**Key**: value" at the start of the file, if the old value has the expected form.
func withField(data []byte, key, value string, expected func(string) bool) []byte {
	for _, l := range textedit.Lines(data) {
		if strings.HasPrefix(l.Text, "## ") {
			break
		}
		if k, was, ok := field(l.Text); ok && k == key && was != value && (expected == nil || expected(was)) {
			return textedit.Apply(data, []textedit.Edit{{From: l.From, To: l.To, Text: "**" + key + "**: " + value}})
		}
	}
	return data
}

// overall updates the overall progress, if it has the form of the first versions and the same number of tasks.
func (w *teamWriter) overall(data []byte) []byte {
	done := 0
	for _, k := range w.works {
		if k.state.Finished() {
			done++
		}
	}
	percent := 0
	if w.Plan != nil {
		percent = w.State.Percent(w.Plan)
	}
	return withField(data, "Overall Progress", fmt.Sprintf("%d%% (%d/%d tasks)", percent, done, len(w.works)), func(was string) bool {
		_, rest, ok := strings.Cut(was, "% (")
		return ok && strings.HasSuffix(rest, "/"+strconv.Itoa(len(w.works))+" tasks)")
	})
}

// agentStanding is the content of an agent's row.
type agentStanding struct {
	status, task, last string
	ours               bool // the run has worked on its tasks
	stream             bool // the agent has a single task, and its row may name a part of it
}

// standings returns the rows of the agents that the run has worked for or that have a checkpoint, and their sorted names.
func (w *teamWriter) standings() (map[string]agentStanding, []string) {
	by := map[string][]*taskStep{}
	var order []string
	for _, k := range w.all {
		if by[k.agent] == nil {
			order = append(order, k.agent)
		}
		by[k.agent] = append(by[k.agent], k)
	}
	all := map[string]agentStanding{}
	for agent, works := range by {
		s := w.agentStanding(works)
		s.ours = slices.ContainsFunc(works, func(k *taskStep) bool { return k.touched })
		if s.ours || slices.ContainsFunc(works, func(k *taskStep) bool { return w.files.File(w.pathOf(k)) != nil }) {
			all[agent] = s
		}
	}
	return all, slices.DeleteFunc(order, func(agent string) bool { _, ok := all[agent]; return !ok })
}

func (w *teamWriter) agentStanding(works []*taskStep) agentStanding {
	s := agentStanding{status: "Idle", task: "—", last: "—"}
	weight := 0
	for _, k := range works {
		if at := w.updated(k); at != "" && (s.last == "—" || at > s.last) {
			s.last = at
		}
		now, status := 1, "Completed"
		switch {
		case k.taskStatus == unknown && !k.state.Finished():
			now, status = 2, "Idle"
		case len(w.live(k)) > 0:
			now, status = 5, "Active"
		case k.taskStatus == blocked:
			now, status = 4, "Blocked"
		case k.taskStatus == inProgress:
			now, status = 3, "In Progress"
		}
		if now > weight {
			weight, s.status, s.task, s.stream = now, status, "—", k.stream != nil
			if now > 2 {
				s.task = strings.TrimSpace(k.task + " " + oneLine(k.Name))
				if k.Name == k.task {
					s.task = k.task
				}
			}
		}
	}
	return s
}

// updated returns the time of a task's last checkpoint.
func (w *teamWriter) updated(k *taskStep) string {
	current, archived := w.fileOf(k.agent, k.task)
	for _, name := range []string{current, archived} {
		if e := edit(w.files.Data(name)); e != nil {
			if at, _, _ := format.ParseTime(e.says("updated_at")); !at.IsZero() {
				return stamp(at)
			}
		}
	}
	return ""
}

// agentRows updates the rows of the run's agents, and adds missing ones. It does not change the rows of other agents.
func (w *teamWriter) agentRows(data []byte) []byte {
	standings, order := w.standings()
	for _, s := range markdown.Sections(textedit.Lines(data)) {
		rows := markdown.Table(s.Lead())
		if !strings.EqualFold(s.Title, "Active Agents") || !hasTitles(rows, "agent", "status") {
			continue
		}
		var edits []textedit.Edit
		column := columnsOf(rows)
		for _, row := range rows[1:] {
			agent := ownerOf(column.cell(row, "agent"), order)
			if now := standings[agent]; now.ours {
				edits = append(edits, changeRow(row, column, now)...)
			}
			order = slices.DeleteFunc(order, func(other string) bool { return other == agent }) // each agent has one row
			delete(standings, agent)
		}
		var more strings.Builder
		for _, agent := range order {
			now := standings[agent]
			more.WriteString(column.row(len(rows[0].Cells), map[string]string{"agent": nameOfRow(agent), "status": now.status, "current task": now.task, "last checkpoint": now.last}))
		}
		return textedit.Apply(data, append(edits, insertAfter(data, lastLine(s, rows), more.String())))
	}
	return data
}

// streamRows marks streams as complete that the run has finished.
func (w *teamWriter) streamRows(data []byte) []byte {
	var edits []textedit.Edit
	for _, s := range markdown.Sections(textedit.Lines(data)) {
		rows := markdown.Table(s.Lead())
		if !strings.EqualFold(s.Title, "Stream Progress") || !hasTitles(rows, "stream") {
			continue
		}
		column := columnsOf(rows)
		for _, row := range rows[1:] {
			if !w.finished(strings.Trim(column.cell(row, "stream"), "* ")) {
				continue
			}
			for title, text := range map[string]string{"complete": column.cell(row, "tasks"), "in progress": "0", "blocked": "0", "progress": "100%"} {
				edits = append(edits, column.edit(row, title, text)...)
			}
			if meaning(column.cell(row, "status")) != complete {
				edits = append(edits, column.edit(row, "status", "Complete")...)
			}
		}
	}
	return textedit.Apply(data, edits)
}

// finished reports whether the run has finished a task.
func (w *teamWriter) finished(task string) bool {
	return slices.ContainsFunc(w.works, func(k *taskStep) bool { return k.task == task && k.touched && !k.imported && k.taskStatus == complete })
}

// nameOfRow returns the name of an agent in its row: "Migration (Riley)".
func nameOfRow(agent string) string {
	if called := names[agent]; called != "" {
		return titled(agent) + " (" + called + ")"
	}
	return titled(agent)
}

// ownerOf returns the agent of a row: the one whose name or row's name is its cell, or the first word of it.
func ownerOf(cell string, agents []string) string {
	said := nameIn(cell)
	for _, agent := range agents {
		if strings.EqualFold(said, nameIn(agent)) || strings.EqualFold(said, nameIn(nameOfRow(agent))) {
			return agent
		}
	}
	return agentRow{name: cell}.agent()
}

// nameIn returns the name in a cell as it is in file names, without emphasis.
func nameIn(cell string) string { return agentNamed(strings.Trim(undashed(oneLine(cell)), "* ")) }

// hasTitles reports whether a table begins with these columns, and has outer borders.
func hasTitles(rows []markdown.Row, titles ...string) bool {
	if len(rows) == 0 || !strings.HasPrefix(rows[0].Line.Text, "|") || len(rows[0].Cells) < len(titles) {
		return false
	}
	for i, title := range titles {
		if !strings.EqualFold(strings.Trim(rows[0].Cells[i], "* "), title) {
			return false
		}
	}
	return true
}

// row returns a row with n cells; an unknown value is a dash.
func (c columns) row(n int, values map[string]string) string {
	cells := slices.Repeat([]string{"—"}, n)
	for title, text := range values {
		if i, ok := c[title]; ok {
			cells[i] = inTable(text)
		}
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// changeRow returns the edits of a row's cells. An equivalent status stays, and so does the task of an idle or complete
// agent.
func changeRow(row markdown.Row, column columns, now agentStanding) []textedit.Edit {
	var edits []textedit.Edit
	set := func(title, text string) { edits = append(edits, column.edit(row, title, text)...) }
	was := column.cell(row, "status")
	if meaning(was) != meaning(now.status) || strings.EqualFold(was, "Active") && now.status != "Active" { // no agent is working
		set("status", now.status)
	}
	if now.task != "—" && (!now.stream || column.cell(row, "current task") == "") {
		set("current task", inTable(now.task))
	}
	if now.last != "—" {
		set("last checkpoint", now.last)
	}
	return edits
}

// edit returns the edit that sets a cell, if it differs.
func (c columns) edit(row markdown.Row, title, text string) []textedit.Edit {
	if i, ok := c[title]; ok && text != "" && i < len(row.Cells) && row.Cells[i] != text {
		if from, to, ok := cellAt(row.Line, i); ok {
			return []textedit.Edit{{From: from, To: to, Text: text}}
		}
	}
	return nil
}

// cellAt returns the range of a cell's text in the file.
func cellAt(l textedit.Line, cell int) (from, to int, ok bool) {
	var borders []int
	for i := range len(l.Text) {
		if l.Text[i] == '|' && (i == 0 || l.Text[i-1] != '\\') { // as markdown.Table splits a row
			borders = append(borders, i)
		}
	}
	if !strings.HasPrefix(strings.TrimSpace(l.Text), "|") || cell+1 >= len(borders) {
		return 0, 0, false
	}
	text := l.Text[borders[cell]+1 : borders[cell+1]]
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return 0, 0, false
	}
	from = l.From + borders[cell] + 1 + strings.Index(text, trimmed)
	return from, from + len(trimmed), true
}

// lastLine returns the last line of a table, which is the rule below the titles if it has no rows.
func lastLine(s markdown.Section, rows []markdown.Row) textedit.Line {
	last := rows[len(rows)-1].Line
	if len(rows) == 1 {
		for _, l := range s.Lead() {
			if l.Number == last.Number+1 {
				return l
			}
		}
	}
	return last
}

// insertAfter returns the edit that inserts lines after another one.
func insertAfter(data []byte, l textedit.Line, text string) textedit.Edit {
	eol := textedit.EOL(data)
	text = strings.ReplaceAll(text, "\n", eol)
	if text != "" && l.End == l.To { // the file does not end with a line break
		text = eol + strings.TrimSuffix(text, eol)
	}
	return textedit.Edit{From: l.End, To: l.End, Text: text}
}

const checkpointHead = "| Agent | Task | Progress | Last Update | Status |\n|-------|------|----------|-------------|--------|\n"

// checkpointTable updates the document's table "Active Checkpoints": a row for each task of the run, and for each one with a
// checkpoint. Times are absolute, since "2 min ago" is wrong a minute later.
func (w *teamWriter) checkpointTable(data []byte) []byte {
	for _, s := range markdown.Sections(textedit.Lines(data)) {
		if !strings.EqualFold(s.Title, "Active Checkpoints") {
			continue
		}
		rows := markdown.Table(s.Lead())
		if len(rows) == 0 {
			return textedit.Apply(data, []textedit.Edit{insertAfter(data, s.Line, "\n"+checkpointHead+w.rows(nil))})
		}
		if !hasTitles(rows, "agent", "task", "progress", "last update", "status") {
			return data
		}
		at := map[[2]string]markdown.Row{}
		for _, row := range rows[1:] {
			if len(row.Cells) > 1 {
				at[[2]string{row.Cells[0], row.Cells[1]}] = row
			}
		}
		var edits []textedit.Edit
		for _, k := range w.all {
			row, there := at[[2]string{oneLine(k.agent), oneLine(k.task)}]
			known := w.files.File(w.pathOf(k)) != nil // what others say of a task without a checkpoint stays
			if text, cells := w.row(k); there && known && !slices.Equal(row.Cells, cells) {
				edits = append(edits, textedit.Edit{From: row.Line.From, To: row.Line.To, Text: text})
			}
		}
		return textedit.Apply(data, append(edits, insertAfter(data, lastLine(s, rows), w.rows(at))))
	}
	return markdown.Added(data, "\n## Active Checkpoints\n\n"+checkpointHead+w.rows(nil))
}

// rows returns the rows of the tasks that are missing in a table.
func (w *teamWriter) rows(there map[[2]string]markdown.Row) string {
	var b strings.Builder
	for _, k := range w.all {
		if _, ok := there[[2]string{oneLine(k.agent), oneLine(k.task)}]; !ok {
			text, _ := w.row(k)
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

// row returns a task's row, and its cells.
func (w *teamWriter) row(k *taskStep) (text string, cells []string) {
	progress, at, status := "0%", "—", cmp.Or(string(k.taskStatus), "not started")
	if k.stream != nil {
		progress = strconv.Itoa(k.stream.percent()) + "%"
	}
	if e := edit(w.files.Data(w.pathOf(k))); e != nil {
		progress, status = strconv.Itoa(e.number("progress_percent"))+"%", cmp.Or(oneLine(e.says("status")), status)
		if up, _, _ := format.ParseTime(e.says("updated_at")); !up.IsZero() {
			at = stamp(up)
		}
	}
	cells = []string{oneLine(k.agent), oneLine(k.task), progress, at, status}
	for _, cell := range cells {
		text += "| " + inTable(cell) + " "
	}
	return text + "|", cells
}

// pathOf returns the path of a task's checkpoint, or of the archived one if there is no other.
func (w *teamWriter) pathOf(k *taskStep) string {
	current, archived := w.fileOf(k.agent, k.task)
	if w.files.File(current) == nil && w.files.File(archived) != nil {
		return archived
	}
	return current
}

// inTable returns a text that is valid in a table cell.
func inTable(text string) string { return strings.ReplaceAll(oneLine(text), "|", `\|`) }
