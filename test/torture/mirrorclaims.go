package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pawl/test/torture/observed"
)

// claims are what the files of a system say, read as its document describes them, without pawl's own readers.
type claims struct {
	done    map[string]bool // steps
	files   map[string]bool // that finished work claims to have made
	commits map[string]bool
	ended   string // the status of the whole, where there is one

	doubtful map[string]bool // files that the claims call unconfirmed, since other steps ran at the same time
}

// difference says in one line what two sets of claims differ in. Commits have other hashes in each run.
func (c *claims) difference(want *claims) string {
	switch {
	case !maps.Equal(c.done, want.done):
		return fmt.Sprintf("done %v instead of %v", sorted(c.done), sorted(want.done))
	case !c.unsure(want.files):
		return fmt.Sprintf("files %v instead of %v", sorted(c.files), sorted(want.files))
	case len(c.commits) != len(want.commits):
		return fmt.Sprintf("%d commits instead of %d", len(c.commits), len(want.commits))
	case c.ended != want.ended:
		return fmt.Sprintf("status %q instead of %q", c.ended, want.ended)
	}
	return ""
}

// unsure reports whether the files lack only claims that they call unconfirmed.
func (c *claims) unsure(want map[string]bool) bool {
	for name := range want {
		if !c.files[name] && !c.doubtful[name] {
			return false
		}
	}
	for name := range c.files {
		if !want[name] {
			return false
		}
	}
	return true
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// claims reads what the files say now.
func (m *mirrored) claims() (*claims, error) {
	all, err := observed.Files(m.project(), pawlFolder)
	if err != nil {
		return nil, err
	}
	c := &claims{done: map[string]bool{}, files: map[string]bool{}, doubtful: map[string]bool{}, commits: map[string]bool{}}
	for name, text := range all {
		switch m.scene.system {
		case "grid":
			c.grid(name, text)
		case "dotagent":
			c.dotagent(name, text)
		case "sitebuilder":
			c.sitebuilder(name, text)
		case "gyoshu":
			c.gyoshu(name, text)
		case "projectstate":
			c.projectstate(name, text, m)
		}
	}
	return c, nil
}

var (
	gridBlock    = regexp.MustCompile(`(?m)^block: *"?([\w.-]+)`)
	gridComplete = regexp.MustCompile(`(?m)^status: *"?(complete|completed)\b`)
	gridHash     = regexp.MustCompile(`(?m)hash: *"?([0-9a-f]{7,40})\b`)
	gridPath     = regexp.MustCompile(`(?m)path: *"?([^",}\n]+)`)
	gridRow      = regexp.MustCompile("(?m)^\\| *[\\w.]+ *\\|[^|]*\\| *`?([0-9a-f]{7,40})`? *\\|")
	gridStatus   = regexp.MustCompile(`(?m)^status: *"?(\w+)`)
)

func (c *claims) grid(name, text string) {
	if name == ".grid/STATE.md" {
		if s := gridStatus.FindStringSubmatch(text); s != nil {
			c.ended = s[1]
		}
	}
	block := gridBlock.FindStringSubmatch(text)
	if strings.Contains(name, "archive") || !strings.HasSuffix(name, "-SUMMARY.md") || block == nil || !gridComplete.MatchString(text) {
		return
	}
	c.done[block[1]] = true
	for _, at := range gridPath.FindAllStringSubmatch(text, -1) {
		c.files[strings.TrimSpace(at[1])] = true
	}
	for _, pattern := range []*regexp.Regexp{gridHash, gridRow} {
		for _, at := range pattern.FindAllStringSubmatch(text, -1) {
			c.commits[at[1][:7]] = true
		}
	}
}

func (c *claims) dotagent(name, text string) {
	switch base := path.Base(name); {
	case base == "execution.json":
		var v struct {
			Tasks []struct{ ID, Status, Output string }
		}
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		for _, t := range v.Tasks {
			if t.Status == "verified" || t.Status == "pre_complete" || t.Status == "complete" {
				c.done[t.ID] = true
				if t.Output != "" {
					c.files[t.Output] = true
				}
			}
		}
	case base == "output.json":
		var v struct {
			Task   string `json:"task_id"`
			Status string
		}
		if json.Unmarshal([]byte(text), &v) == nil && v.Status == "pre_complete" {
			c.done[v.Task] = true
		}
	case base == "phase.json":
		var v struct {
			Phase  string `json:"current_phase"`
			Status string `json:"phase_status"`
			Done   []struct{ Phase, Output string }
		}
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		c.ended = v.Phase + " " + v.Status
		for _, p := range v.Done {
			if p.Output != "" {
				c.files[p.Output] = true
			}
		}
	}
}

func (c *claims) sitebuilder(name, text string) {
	if !strings.Contains(name, "checkpoints/") || !strings.HasSuffix(name, ".json") || strings.HasSuffix(name, "-complete.json") || strings.Contains(name, "-complete-") {
		return
	}
	var v struct {
		Task     string   `json:"task_id"`
		Status   string   `json:"status"`
		Created  []string `json:"files_created"`
		Modified []string `json:"files_modified"`
		Doubtful []string `json:"files_unconfirmed"`
		Parts    struct {
			Items []struct{ ID, Status, Output string }
		} `json:"subtasks"`
	}
	if json.Unmarshal([]byte(text), &v) != nil {
		return
	}
	if v.Status == "complete" {
		c.done[v.Task] = true
	}
	for _, made := range slices.Concat(v.Created, v.Modified) {
		if slices.Contains(v.Doubtful, made) {
			c.doubtful[made] = true
		} else {
			c.files[made] = true
		}
	}
	for _, part := range v.Parts.Items {
		if part.Status == "complete" && part.Output != "" {
			c.files[part.Output] = true
		}
	}
}

func (c *claims) gyoshu(name, text string) {
	if path.Base(name) != "checkpoint.json" {
		return
	}
	var v struct {
		Stage     string `json:"stageId"`
		Status    string `json:"status"`
		Artifacts []struct {
			Path string `json:"relativePath"`
		} `json:"artifacts"`
	}
	if json.Unmarshal([]byte(text), &v) != nil || v.Status != "saved" {
		return
	}
	c.done[v.Stage] = true
	for _, a := range v.Artifacts {
		c.files[a.Path] = true
	}
}

var (
	completedTasks = regexp.MustCompile(`"?completed_tasks"?: *\[([^\]]*)\]`)
	quotedName     = regexp.MustCompile(`"([^"]+)"`)
)

// databaseRows prints the tasks of the rows of a database.
const databaseRows = `import sqlite3, sys
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
for row in db.execute("SELECT completed_tasks FROM project_state WHERE project_id != 'other'"): print("completed_tasks:", row[0])`

func (c *claims) projectstate(name, text string, m *mirrored) {
	switch filepath.Ext(name) {
	case ".db":
		said, err := exec.Command("python3", "-c", databaseRows, m.project(name)).Output()
		if err != nil {
			return
		}
		text = string(said)
	case ".sql":
	default:
		return
	}
	for _, list := range completedTasks.FindAllStringSubmatch(text, -1) {
		for _, task := range quotedName.FindAllStringSubmatch(list[1], -1) {
			c.done[task[1]] = true
		}
	}
}
