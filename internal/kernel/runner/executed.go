package runner

import (
	"path/filepath"
	"slices"

	"pawl"
)

// Executed is what the log of a session says of the cells of a step.
type Executed struct {
	Base  Key    // where the variables stood before the step
	Seed  string // of the keys of the step's cells; empty: none ran
	Cells []Link // that were finished last, the oldest first

	finished map[Key]bool // executed cells; true: their variables were saved
}

// ReadExecuted reads which cells of a step are finished. after has the earlier steps of the session. It reports false if the log does not have
// one of them. The session needs no runner.
func ReadExecuted(dir string, after []pawl.StepID, step pawl.StepID) (x Executed, ok bool, err error) {
	h, at := newHistory(), Key("")
	_, err = readLog(filepath.Join(dir, LogFile), 0, func(offset int64, r Record) bool {
		at = r.standing(at)
		h.add(offset, r)
		return true
	})
	if err != nil {
		return x, false, err
	}
	if x.Base = Root; len(after) > 0 {
		if x.Base, ok = h.last[after[len(after)-1]]; !ok {
			return x, false, nil
		}
	}
	x.Seed = h.seeds[step]
	for key := h.last[step]; key != x.Base; {
		c, ok := h.at[key]
		if !ok || c.begin.Step != step || len(x.Cells) > len(h.at) {
			break
		}
		x.Cells = append(x.Cells, Link{Key: key, Name: c.begin.Name, Code: c.begin.Code})
		key = c.begin.After
	}
	slices.Reverse(x.Cells)
	alive, err := Alive(dir)
	x.finished = map[Key]bool{}
	for key, c := range h.at {
		x.finished[key] = c.end.Saved != "" || alive && key == at
	}
	return x, true, err
}

// standing returns where the variables stand after a record. at is where they stood before.
func (r Record) standing(at Key) Key {
	switch {
	case r.Kernel != nil:
		return Root
	case r.Loaded != nil:
		return r.Loaded.Key
	case r.End != nil:
		return r.End.Key
	case r.Begin != nil, r.Died != nil:
		return ""
	}
	return at
}

// Finished returns how many of the first cells are finished, and after how many of these the variables are saved or in a live kernel.
func (x Executed) Finished(keys []Key) (finished, saved int) {
	for i, key := range keys {
		kept, ok := x.finished[key]
		if !ok {
			break
		}
		if finished = i + 1; kept {
			saved = finished
		}
	}
	return finished, saved
}
