package gyoshu

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"pawl/internal/interop/format"
)

// Subject is what a call of a tool of Gyoshu is about. Which of them an action requires, the answer says in Gyoshu's words.
type Subject struct {
	Title   string `json:"reportTitle,omitempty" jsonschema:"title of the research"`
	Run     string `json:"runId,omitempty" jsonschema:"run of the research"`
	Session string `json:"researchSessionID,omitempty" jsonschema:"session of the research, which has a kernel of its own"`
}

// Call is a call of Gyoshu's tool checkpoint-manager.
type Call struct {
	Action string `json:"action" jsonschema:"save, list, validate, resume, prune or emergency"`
	Subject
	Checkpoint   string         `json:"checkpointId,omitempty" jsonschema:"required for save and validate"`
	Stage        string         `json:"stageId,omitempty" jsonschema:"such as S01_load_data; required for save and emergency"`
	Status       string         `json:"status,omitempty" jsonschema:"of save: saved, interrupted or emergency; the last two need a reason"`
	Reason       string         `json:"reason,omitempty" jsonschema:"timeout, abort or error; also watchdog_timeout and manual_abort"`
	Executed     int64          `json:"executionCount,omitempty" jsonschema:"highest execution count of a cell"`
	Python       *PythonCall    `json:"pythonEnv,omitempty"`
	Artifacts    []ArtifactCall `json:"artifacts,omitempty" jsonschema:"all files that later stages need"`
	Mode         string         `json:"rehydrationMode,omitempty" jsonschema:"artifacts_only or with_vars"`
	Source       []string       `json:"rehydrationSource,omitempty" jsonschema:"ignored: the rehydration cell is generated from the artifacts"`
	Trust        string         `json:"trustLevel,omitempty" jsonschema:"local, imported or untrusted"`
	Keep         int            `json:"keepCount,omitempty" jsonschema:"of prune: checkpoints to keep; 5 by default"`
	NotebookPath string         `json:"notebookPathOverride,omitempty" jsonschema:"must be notebooks/<reportTitle>.ipynb"`
}

// PythonCall is a Python environment in a call.
type PythonCall struct {
	Path     string             `json:"pythonPath,omitempty"`
	Packages []string           `json:"packages,omitempty" jsonschema:"as name==version"`
	Platform string             `json:"platform,omitempty"`
	Seeds    map[string]float64 `json:"randomSeeds,omitempty"`
}

// ArtifactCall is an artifact in a call.
type ArtifactCall struct {
	Path   string `json:"relativePath"`
	SHA256 string `json:"sha256,omitempty" jsonschema:"computed from the file if it is missing"`
	Size   int64  `json:"sizeBytes,omitempty"`
}

// Result is the result of a call, with Gyoshu's keys. Each action sets some of them.
type Result struct {
	Success      bool      `json:"success"`
	Action       string    `json:"action"`
	Found        *bool     `json:"found,omitempty"`
	Valid        *bool     `json:"valid,omitempty"`
	Checkpoint   string    `json:"checkpointId,omitempty"`
	Title        string    `json:"reportTitle"`
	Run          string    `json:"runId,omitempty"`
	Stage        string    `json:"stageId,omitempty"`
	Status       Status    `json:"status,omitempty"`
	Reason       Reason    `json:"reason,omitempty"`
	Created      string    `json:"createdAt,omitempty"`
	ManifestPath string    `json:"manifestPath,omitempty"`
	NotebookPath string    `json:"notebookPath,omitempty"`
	Cell         string    `json:"checkpointCellId,omitempty"`
	CellAppended *bool     `json:"cellAppendSucceeded,omitempty"`
	Artifacts    *int      `json:"artifactCount,omitempty"`
	Validated    *bool     `json:"artifactsValidated,omitempty"`
	SHA256       string    `json:"manifestSha256,omitempty"`
	Issues       []string  `json:"issues,omitzero"`
	Checkpoints  []Summary `json:"checkpoints,omitzero"`
	Count        *int      `json:"count,omitempty"`
	Base         *Summary  `json:"checkpoint,omitempty"`
	Rehydration  []string  `json:"rehydrationCells,omitempty"`
	Next         string    `json:"nextStageId,omitempty"`
	Searched     *int      `json:"searchedCount,omitempty"`
	WhyNone      []string  `json:"validationIssues,omitempty"`
	TrustWarning string    `json:"trustWarning,omitempty"`
	Keep         int       `json:"keepCount,omitempty"`
	Pruned       *int      `json:"pruned,omitempty"`
	PrunedIDs    []string  `json:"prunedIds,omitzero"`
	Kept         *int      `json:"kept,omitempty"`
	Before       *int      `json:"totalBefore,omitempty"`
}

// Summary is a checkpoint in a result.
type Summary struct {
	Checkpoint string `json:"checkpointId"`
	Run        string `json:"runId"`
	Stage      string `json:"stageId"`
	Status     Status `json:"status"`
	Created    string `json:"createdAt"`
	Artifacts  int    `json:"artifactCount"`
}

func summaryOf(m *Manifest) Summary {
	return Summary{m.CheckpointID, m.Run, m.Stage, m.Status, m.Created, len(m.Artifacts)}
}

// defaultKeep is how many checkpoints of a run prune keeps by default.
const defaultKeep = 5

// Manage answers a call and returns the files that it changes, in the order in which they must become durable. It differs from Gyoshu
// where that loses work: an existing checkpoint is not overwritten, a checkpoint from the middle of a stage is no base to resume from,
// and prune keeps the last valid one.
func Manage(files format.Files, env format.Env, python Python, c Call) (Result, []format.File, error) {
	if err := c.check(); err != nil {
		return Result{}, nil, err
	}
	result := Result{Success: true, Action: c.Action, Title: c.Title, Run: c.Run}
	switch c.Action {
	case "save", "emergency":
		return c.save(files, env, python, result)
	case "list":
		return c.list(files, result), nil, nil
	case "validate":
		return c.validate(files, env, result), nil, nil
	case "resume":
		return c.resume(files, env, result), nil, nil
	case "prune":
		result, gone := c.prune(files, env, result)
		return result, gone, nil
	}
	return Result{}, nil, errors.New("Unknown action: " + c.Action)
}

// required are the parameters of each action, by the names of their JSON keys.
var required = map[string][]string{
	"save":      {"runId", "checkpointId", "stageId", "researchSessionID"},
	"validate":  {"runId", "checkpointId"},
	"prune":     {"runId"},
	"emergency": {"runId", "stageId", "reason"},
}

// check returns the error of Gyoshu for a call with missing or invalid parameters.
func (c Call) check() error {
	if c.Title == "" {
		return errors.New("reportTitle is required for all checkpoint operations")
	}
	given := map[string]string{"runId": c.Run, "checkpointId": c.Checkpoint, "stageId": c.Stage, "researchSessionID": c.Session, "reason": c.Reason}
	for _, name := range required[c.Action] {
		if given[name] == "" {
			return fmt.Errorf("%s is required for %s action", name, c.Action)
		}
	}
	for _, s := range []struct{ name, text string }{{"reportTitle", c.Title}, {"runId", c.Run}, {"checkpointId", c.Checkpoint}} {
		if issue := CheckSegment(s.name, s.text); s.text != "" && issue != "" {
			return errors.New(issue)
		}
	}
	if c.NotebookPath != "" && !strings.HasSuffix("/"+path.Clean(c.NotebookPath), "/"+notebookPath(c.Title)) {
		return fmt.Errorf("notebookPathOverride must be %s", notebookPath(c.Title))
	}
	return nil
}

// reasons are the words for reasons of Gyoshu's code and of its plan.
var reasons = map[string]Reason{
	"timeout": Timeout, "watchdog_timeout": Timeout, "abort": Abort, "manual_abort": Abort, "error": Failure,
}

func (c Call) save(files format.Files, env format.Env, python Python, result Result) (Result, []format.File, error) {
	r := Request{Title: c.Title, Run: c.Run, ID: c.Checkpoint, Session: cmp.Or(c.Session, "unknown-session"), Stage: c.Stage,
		Status: cmp.Or(Status(c.Status), Saved), Reason: reasons[c.Reason], Trust: Trust(c.Trust), Python: c.python(python), Executed: c.Executed, Now: env.Now}
	if !IsStage(r.Stage) {
		r.Stage = stageOf(1, r.Stage)
	}
	if c.Action == "emergency" {
		r.Status = Interrupted
		r.ID = cmp.Or(r.ID, "ckpt-emergency-"+stamp(env.Now, c.Title, c.Run, c.Stage))
	}
	r.Artifacts, result.Issues = c.artifacts(env)
	if there := files.Find(manifestPath(c.Title, c.Run, r.ID)); there != nil {
		return c.saveAgain(there, r, result)
	}
	m := r.manifest()
	changed, err := Save(files, r)
	appended := err == nil
	if err != nil && c.Action == "emergency" && m.check() == nil { // the notebook is broken
		changed, err = []format.File{{Path: manifestPath(c.Title, c.Run, r.ID), Data: m.Encode()}}, nil
	}
	if err != nil {
		return Result{}, nil, err
	}
	result.saved(m, appended)
	return result, changed, nil
}

// saveAgain answers a repeated save. Another checkpoint with the same id is an error.
func (c Call) saveAgain(there *format.File, r Request, result Result) (Result, []format.File, error) {
	m, problems := ReadManifest(there.Path, there.Data)
	same := len(problems) == 0 && m.Stage == r.Stage && m.Status == r.Status && m.Session == r.Session && slices.Equal(m.Artifacts, r.Artifacts)
	if !same {
		return Result{}, nil, fmt.Errorf("save checkpoint %s: it exists already, with other content", r.ID)
	}
	result.saved(m, true)
	return result, nil, nil
}

// saved sets what save and emergency return.
func (r *Result) saved(m *Manifest, appended bool) {
	count, not := len(m.Artifacts), false
	r.Checkpoint, r.Stage, r.Status, r.Cell, r.Artifacts = m.CheckpointID, m.Stage, m.Status, m.Notebook.Cell, &count
	r.ManifestPath, r.NotebookPath, r.SHA256 = manifestPath(m.Title, m.Run, m.CheckpointID), m.Notebook.Path, Sum(encoded(m.unsigned()))
	if r.Action == "emergency" {
		r.Reason, r.CellAppended, r.Validated = m.Reason, &appended, &not
	}
	if !appended {
		r.Cell = ""
	}
}

// python returns the environment of a call, or the one that pawl found.
func (c Call) python(found Python) Python {
	if c.Python == nil {
		return found
	}
	p := Python{Path: c.Python.Path, Packages: c.Python.Packages, Platform: cmp.Or(c.Python.Platform, platform())}
	for _, name := range slices.Sorted(maps.Keys(c.Python.Seeds)) {
		p.Seeds = append(p.Seeds, Seed{name, c.Python.Seeds[name]})
	}
	return p
}

// artifacts returns the artifacts of a call, and what is wrong with them. Missing hashes are computed. A file that cannot be read is
// left out if it has no hash: Gyoshu would not load the checkpoint.
func (c Call) artifacts(env format.Env) (list []Artifact, issues []string) {
	for _, call := range c.Artifacts {
		a := Artifact(call)
		if !isSHA256(a.SHA256) && env.Hash != nil && CheckPath(a.Path) == "" {
			sum, size, err := env.Hash(a.Path)
			if err != nil {
				issues = append(issues, fmt.Sprintf("Cannot read artifact %s; it is not in the checkpoint", a.Path))
				continue
			}
			a.SHA256, a.Size = sum, size
		}
		if issue := a.issue(Local, env); issue != "" {
			issues = append(issues, issue)
		}
		list = append(list, a)
	}
	return list, issues
}

func isSHA256(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

func (c Call) list(files format.Files, result Result) Result {
	result.Checkpoints = []Summary{}
	for _, rec := range Records(files, c.Title, c.Run) {
		if rec.Loads() {
			result.Checkpoints = append(result.Checkpoints, summaryOf(rec.Manifest))
		}
	}
	count := len(result.Checkpoints)
	result.Count = &count
	return result
}

func (c Call) validate(files format.Files, env format.Env, result Result) Result {
	result.Checkpoint = c.Checkpoint
	name := manifestPath(c.Title, c.Run, c.Checkpoint)
	r := newResearch(files, c.Title, env)
	i := slices.IndexFunc(r.records, func(rec *Record) bool { return rec.Path == name })
	valid := false
	result.Valid = &valid
	switch {
	case i < 0:
		result.Issues = []string{"Manifest not found: " + name}
	case !r.records[i].Loads():
		result.Issues = []string{"Manifest failed to parse or validate"}
	default:
		m := r.records[i].Manifest
		count := len(m.Artifacts)
		result.Issues = append([]string{}, r.records[i].faults(env)...)
		valid = len(result.Issues) == 0
		result.Stage, result.Status, result.Created, result.Artifacts = m.Stage, m.Status, m.Created, &count
	}
	return result
}

// resume looks for the newest base, in one run or in all of them.
func (c Call) resume(files format.Files, env format.Env, result Result) Result {
	r := newResearch(files, c.Title, env)
	var res resumption
	searched := 0
	var tried []string
	for _, rec := range r.records { // the newest first
		if c.Run != "" && rec.Run != c.Run || slices.Contains(tried, rec.Run) {
			continue
		}
		tried = append(tried, rec.Run)
		one := resume(r.records, rec.Run, env)
		searched += one.searched
		if res.base == nil {
			res = one
		}
	}
	found := res.base != nil
	result.Found, result.Searched = &found, &searched
	if !found {
		result.WhyNone = []string{cmp.Or(res.issue, res.whyNone(""))}
		return result
	}
	base := summaryOf(res.base.Manifest)
	result.Run, result.Base, result.Next = res.base.Run, &base, cmp.Or(res.next, "S??_")
	result.Rehydration = Rehydrate(res.base.Manifest, res.base.trust())
	result.TrustWarning = res.base.warning()
	return result
}

func (c Call) prune(files format.Files, env format.Env, result Result) (Result, []format.File) {
	result.Keep = c.Keep
	if result.Keep < 1 {
		result.Keep = defaultKeep
	}
	all := slices.DeleteFunc(newResearch(files, c.Title, env).records, func(rec *Record) bool { return rec.Run != c.Run })
	gone := prune(files, all, result.Keep, env)
	before, left := 0, 0
	result.PrunedIDs = []string{}
	for _, rec := range all {
		if !rec.Loads() {
			continue
		}
		before++
		if slices.ContainsFunc(gone, func(f format.File) bool { return f.Path == rec.Path }) {
			result.PrunedIDs = append(result.PrunedIDs, rec.ID)
		} else {
			left++
		}
	}
	slices.Reverse(result.PrunedIDs) // the oldest first
	pruned := len(result.PrunedIDs)
	result.Pruned, result.Kept, result.Before = &pruned, &left, &before
	return result, gone
}
