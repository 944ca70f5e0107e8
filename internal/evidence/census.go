package evidence

import "time"

// Census counts the files of a project by kind, and those that changed recently.
type Census struct {
	Total  int              `json:"total"`
	Kinds  map[FileKind]int `json:"kinds,omitempty"`
	Recent int              `json:"recent"` // number of files changed after Since
	Since  time.Time        `json:"since,omitzero"`
	Last   time.Time        `json:"last_modified,omitzero"` // newest change of any file; change times in the future are ignored
	Files  []string         `json:"recent_files,omitempty"` // the first recently changed files
}

// mostRecent is how many files a census lists.
const mostRecent = 50

// Add counts a file with its change time. A file that changed before Since, or in the future, is not recent.
func (c *Census) Add(path string, changed, now time.Time) {
	if c.Kinds == nil {
		c.Kinds = map[FileKind]int{}
	}
	c.Total++
	c.Kinds[KindOf(path)]++
	if changed.After(now) {
		return
	}
	if changed.After(c.Last) {
		c.Last = changed.UTC()
	}
	if changed.Before(c.Since) {
		return
	}
	c.Recent++
	if len(c.Files) < mostRecent {
		c.Files = append(c.Files, path)
	}
}
