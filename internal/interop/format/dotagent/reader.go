package dotagent

import (
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/textedit/jsonedit"
)

// workflowReader reads one workflow.
type workflowReader struct {
	report.Report
	files     format.Files
	byPath    map[string]*format.File
	env       format.Env
	out       format.Project
	truncated []pawl.Finding // of truncated files
	badTimes  []pawl.Finding // of impossible times
	flow      workflow
	tasks     []*task
	byID      map[string]*task
	used      ids
	lines     lines           // of execution.json
	outputs   map[string]bool // paths of the tasks' outputs
	steps     [][]format.Step // by phase
}

func readWorkflow(files format.Files, env format.Env) *workflowReader {
	r := newWorkflowReader(files, env)
	r.out = format.Project{System: System, Mode: pawl.Guided, Facts: map[string]string{}, Phases: []format.Phase{}}
	if !r.anything() {
		return r
	}
	if old := archives(files); len(old) > 0 && !r.anyState() {
		r.Warn(strings.TrimSuffix(archiveFolder, "/"), "no active workflow: %d archived; memory/reports and memory/tasks belong to them", len(old))
		return r
	}
	r.readFlow()
	r.readTasks()
	r.readPhases()
	r.buildProject()
	return r
}

func newWorkflowReader(files format.Files, env format.Env) *workflowReader {
	r := &workflowReader{files: files, env: env, byPath: make(map[string]*format.File, len(files)),
		byID: map[string]*task{}, used: newIDs(), outputs: map[string]bool{}, steps: make([][]format.Step, len(words))}
	for i := range files {
		r.byPath[files[i].Path] = &files[i]
	}
	return r
}

// anything reports whether the workflow has any files. Archives and memories do not count.
func (r *workflowReader) anything() bool {
	return slices.ContainsFunc(r.files, func(f format.File) bool {
		inState := strings.HasPrefix(f.Path, "memory/state/") && !strings.HasPrefix(f.Path, archiveFolder)
		return inState || strings.HasPrefix(f.Path, reportsFolder) || strings.HasPrefix(f.Path, tasksFolder)
	})
}

// anyState reports whether there is a state file.
func (r *workflowReader) anyState() bool {
	return slices.ContainsFunc([]string{phasePath, phasePath + ".tmp", executionPath}, func(name string) bool { return r.file(name) != nil })
}

func (r *workflowReader) file(name string) *format.File { return r.byPath[name] }

// exists reports whether a path exists; known is false if that cannot be determined.
func (r *workflowReader) exists(name string) (there, known bool) {
	if r.file(name) != nil {
		return true, true
	}
	if r.env.Exists == nil {
		return false, format.Wanted(patterns(), name)
	}
	return r.env.Exists(name), true
}

// localPath returns a path from a file, cleaned; "" with a finding if it is unsafe.
func (r *workflowReader) localPath(p node, name string) string {
	if name == "" {
		return ""
	}
	clean, err := format.Inside(name)
	if err != nil {
		r.Warn(p.where(), "%v", err)
		return ""
	}
	return clean
}

// readReport parses a report of this workflow: it must be readable and not empty, name no other workflow, and not be older
// than since. why says what is wrong with it; it is "" for a missing file.
func (r *workflowReader) readReport(name string, since time.Time) (p node, why string) {
	f := r.file(name)
	if f == nil {
		return p, ""
	}
	p, ok := r.parse(f)
	switch {
	case !ok:
		return p, "it cannot be read"
	case len(p.Members) == 0 && len(p.Items) == 0:
		return p, "it has no content"
	case p.text("workflow_id") != "" && r.flow.id != "" && p.text("workflow_id") != r.flow.id:
		return p, "it belongs to workflow " + oneLine(p.text("workflow_id"))
	case older(f.Changed, since):
		return p, "it was written before that"
	}
	return p, ""
}

// older reports whether something was certainly written before a time.
func older(changed, since time.Time) bool {
	return !changed.IsZero() && !since.IsZero() && changed.Before(since.Add(-clockSkew))
}

// usableReport is readReport, and adds a finding for an invalid report. past describes since.
func (r *workflowReader) usableReport(name string, since time.Time, past string) (node, bool) {
	p, why := r.readReport(name, since)
	if why == "it was written before that" {
		why = "it was written before " + past + " and is out of date"
	}
	if why != "" {
		r.Warn(name, "ignored: %s", why)
	}
	return p, why == "" && p.Value != nil
}

// failureWord returns the word by which a report says that its subject failed; "" if it does not.
func failureWord(p node) string {
	for _, key := range []string{"status", "verdict", "result", "overall", "overall_status", "outcome"} {
		switch word := strings.ToLower(p.text(key)); word {
		case "fail", "failed", "failure", "rejected", "blocked", "error", "not_passed":
			return key + " " + word
		}
	}
	for _, key := range []string{"passed", "pass", "success", "approved", "verified"} {
		if v := p.Get(key); v.Is(jsonedit.Bool) && !v.True() {
			return key + " false"
		}
	}
	return ""
}

// filesIn returns the files in a folder, sorted by name.
func (r *workflowReader) filesIn(folder string) []format.File {
	return r.files.Match(folder + "*.json")
}

// baseName returns the name of a file without folder and extension.
func baseName(name string) string { return strings.TrimSuffix(path.Base(name), ".json") }

// goal returns the goal of the workflow, from demand.json.
func (r *workflowReader) goal() string {
	since := r.flow.started
	if r.flow.has(requirements) {
		since = time.Time{}
	}
	p, why := r.readReport(requirements.report(), since)
	if why != "" {
		return ""
	}
	return p.first("goal", "objective", "summary", "title", "demand", "description")
}
