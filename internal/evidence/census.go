package evidence

import "time"

// Census counts the files of a project: by kind, and those that changed after the last sign of life.
type Census struct {
	Total  int              `json:"total"`
	Kinds  map[FileKind]int `json:"kinds,omitempty"`
	Recent int              `json:"recent"` // changed since
	Since  time.Time        `json:"since,omitzero"`
	Last   time.Time        `json:"last_modified,omitzero"` // of all files; what the clock has not reached does not count
	Files  []string         `json:"recent_files,omitempty"` // the first ones
}

// mostRecent is how many files a census names.
const mostRecent = 50

// Add counts a file that was changed at a time. A file that changed before since, or that says it will, is not recent.
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
