package sitebuilder

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

// board is the content of STATUS.md, as far as its shape is known.
type board struct {
	overall string
	agents  []agentRow
	streams []streamRow
	tasks   []job // in the table "Active Checkpoints", with their agents and rows
}

// agentRow is an agent's row in the table "Active Agents".
type agentRow struct {
	name, native, task string
	last               time.Time
	line               int
}

// streamRow is a stream's row in the table "Stream Progress", or a task's in "Active Checkpoints".
type streamRow struct {
	name, native                     string
	tasks, complete, active, blocked int
	counted                          bool
	doing                            string // current work of its agent
	line                             int
}

// percent returns the progress of a stream, by its counts.
func (s *streamRow) percent() int {
	switch {
	case s.taskStatus() == complete:
		return 100
	case s.tasks > 0:
		return min(100*s.complete/s.tasks, 99)
	}
	return 0
}

// resumeText returns the text about a stream in STATUS.md, for whoever resumes it.
func (s *streamRow) resumeText() string {
	text := ""
	if s.counted {
		text = fmt.Sprintf("\nTasks: %d of %d complete, %d in progress, %d blocked.", s.complete, s.tasks, s.active, s.blocked)
	}
	if s.native != "" {
		text += "\nIts status: " + oneLine(s.native)
	}
	if s.doing != "" {
		text += "\nIts current task: " + oneLine(s.doing)
	}
	return text
}

// agent returns the agent of a row: "Migration (Riley)" is migration.
func (a agentRow) agent() string {
	first, _, _ := strings.Cut(strings.Trim(a.name, "* "), " ")
	return agentNamed(first)
}

// agentNamed returns an agent's name as it is in file names: without separators, and without hyphens, since the first hyphen
// ends it.
func agentNamed(name string) string { return joined.Replace(strings.ToLower(name)) }

// joined replaces what ends an agent's name in a file name.
var joined = strings.NewReplacer("-", "_", "/", "_", "\\", "_")

// readStatus reads STATUS.md: its first lines as facts, its tables of agents and streams.
func (r *teamReader) readStatus() {
	f := r.file(r.status())
	if f == nil {
		return
	}
	lines := textedit.Lines(f.Data)
	for _, l := range lines {
		if strings.HasPrefix(l.Text, "## ") {
			break
		}
		if key, value, ok := field(l.Text); ok {
			r.fact("status."+strings.ToLower(strings.ReplaceAll(key, " ", "_")), value)
			if key == "Overall Progress" {
				r.board.overall = value
			}
		}
	}
	for _, s := range markdown.Sections(lines) {
		switch strings.ToLower(s.Title) {
		case "active agents":
			r.readAgents(f.Path, markdown.Table(s.Lead()))
		case "stream progress":
			r.readStreams(markdown.Table(s.Lead()))
		case "active checkpoints":
			r.readOwners(markdown.Table(s.Lead()))
		}
	}
}

// field parses a line "**Key**: value".
func field(text string) (key, value string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "**")
	if !ok {
		return "", "", false
	}
	key, value, ok = strings.Cut(rest, "**")
	value, colon := strings.CutPrefix(strings.TrimSpace(value), ":")
	if inner, within := strings.CutSuffix(key, ":"); within {
		key, colon = inner, true
	}
	value = strings.ToValidUTF8(strings.TrimSpace(value), "\uFFFD")
	return strings.ToValidUTF8(strings.TrimSpace(key), "\uFFFD"), value, ok && colon && key != ""
}

func (r *teamReader) readAgents(file string, rows []markdown.Row) {
	column := columnsOf(rows)
	for _, row := range rows[min(1, len(rows)):] {
		a := agentRow{name: column.cell(row, "agent"), native: column.cell(row, "status"), task: column.cell(row, "current task"), line: row.Line.Number}
		if a.name == "" {
			continue
		}
		if text := column.cell(row, "last checkpoint"); text != "" {
			a.last = r.time(file, a.line, text)
		}
		r.board.agents = append(r.board.agents, a)
		r.fact("agent."+a.agent(), strings.Trim(a.native+": "+a.task, ": "))
	}
}

func (r *teamReader) readStreams(rows []markdown.Row) {
	column := columnsOf(rows)
	for _, row := range rows[min(1, len(rows)):] {
		s := streamRow{name: strings.Trim(column.cell(row, "stream"), "* "), native: column.cell(row, "status"), line: row.Line.Number}
		var err error
		if s.tasks, err = strconv.Atoi(column.cell(row, "tasks")); err == nil {
			s.counted = true
			s.complete, _ = strconv.Atoi(column.cell(row, "complete")) // 0 if it is not a number
			s.active, _ = strconv.Atoi(column.cell(row, "in progress"))
			s.blocked, _ = strconv.Atoi(column.cell(row, "blocked"))
		}
		if s.name != "" {
			r.board.streams = append(r.board.streams, s)
			r.fact("stream."+strings.ToLower(s.name), strings.Trim(column.cell(row, "progress")+" "+s.native, " "))
		}
	}
}

// readOwners reads the agent and the status of each task, if the agent's name is valid in a file name.
func (r *teamReader) readOwners(rows []markdown.Row) {
	column := columnsOf(rows)
	for _, row := range rows[min(1, len(rows)):] {
		j := job{agent: column.cell(row, "agent"), task: column.cell(row, "task")}
		j.stream = &streamRow{name: j.task, native: column.cell(row, "status"), line: row.Line.Number}
		if j.agent != "" && j.task != "" && !strings.ContainsAny(j.agent, `-/\ `) {
			r.board.tasks = append(r.board.tasks, j)
		}
	}
}

// owned returns the task of a step with its agent, according to the table; nil if it is not in it.
func (b *board) owned(id pawl.StepID) *job {
	for i, j := range b.tasks {
		if pawl.StepIDOf(j.task) == id || pawl.StepIDOf(j.agent+"-"+j.task) == id {
			return &b.tasks[i]
		}
	}
	return nil
}

// columns are the indexes of a table's columns, by title in lower case.
type columns map[string]int

func columnsOf(rows []markdown.Row) columns {
	c := columns{}
	if len(rows) > 0 {
		for i, title := range rows[0].Cells {
			c[strings.ToLower(strings.Trim(title, "* "))] = i
		}
	}
	return c
}

// cell returns the text of a cell; a dash is empty.
func (c columns) cell(row markdown.Row, title string) string {
	i, ok := c[title]
	if !ok || i >= len(row.Cells) {
		return ""
	}
	return undashed(strings.ToValidUTF8(row.Cells[i], "\uFFFD"))
}

// undashed returns the text of a cell, "" for a dash.
func undashed(text string) string {
	if strings.Trim(text, "—–- ") == "" {
		return ""
	}
	return text
}
