package runner

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"pawl"
	"pawl/internal/kernel"
)

// Link is a cell of a lineage: the cells that lead from a new kernel to a state of the variables.
type Link struct {
	Key  Key    `json:"key"`
	Name string `json:"name,omitempty"`
	Code string `json:"code"`

	MayFail bool `json:"may_fail,omitempty"`
}

// history is what a session's log says of the cells that were executed.
type history struct {
	begun map[kernel.CellID]*Begin
	open  *Begin                 // sent to a kernel, and without an end
	at    map[Key]cell           // newest finished execution of each key
	last  map[pawl.StepID]Key    // key of the last finished cell of each step
	seeds map[pawl.StepID]string // that the last cell of each step had
	saved map[string]bool        // ids of the checkpoints of variables
	cut   map[Key]int            // how many executions were interrupted or lost
	next  int
}

// cell is a finished execution.
type cell struct {
	begin  *Begin
	end    *End
	offset int64 // of its Begin in the log
}

func newHistory() *history {
	return &history{begun: map[kernel.CellID]*Begin{}, at: map[Key]cell{}, last: map[pawl.StepID]Key{}, seeds: map[pawl.StepID]string{}, saved: map[string]bool{}, cut: map[Key]int{}}
}

// add adds a record of the log.
func (h *history) add(offset int64, r Record) {
	switch {
	case r.Begin != nil:
		if h.open != nil {
			h.cut[h.open.Key]++ // the runner was killed
		}
		h.next++
		h.begun[r.Begin.Cell] = r.Begin
		h.open = r.Begin
		r.Begin.offset = offset
		if r.Begin.Step != "" {
			h.seeds[r.Begin.Step] = r.Begin.Seed
		}
	case r.Saved != "":
		h.saved[r.Saved] = true
	case r.End != nil:
		h.open = nil
		begin := h.begun[r.End.Cell]
		if begin != nil && r.End.CutShort() {
			h.cut[begin.Key]++
		}
		if begin == nil || begin.Key == "" || !r.End.Finished(begin) {
			return
		}
		h.saved[r.End.Saved] = true
		h.at[begin.Key] = cell{begin: begin, end: r.End, offset: begin.offset}
		if begin.Step != "" {
			h.last[begin.Step] = begin.Key
		}
	}
}

// lineage returns the cells that lead to a state, oldest first. It reports false if the log does not have them all.
func (h *history) lineage(to Key) ([]Link, bool) {
	var links []Link
	for to != Root {
		c, ok := h.at[to]
		if !ok || len(links) > len(h.at) {
			return nil, false
		}
		links = append(links, Link{Key: to, Name: c.begin.Name, Code: c.begin.Code, MayFail: c.begin.MayFail})
		to = c.begin.After
	}
	slices.Reverse(links)
	return links, true
}

// Checkpoint is a checkpoint of variables, as far as choosing one needs it.
type Checkpoint struct {
	ID   string
	At   Key
	Lost []string // names of variables that are not in it
}

// origin is a state from which a lineage is continued.
type origin struct {
	index      int // of the last cell in the lineage that it includes; -1: none
	key        Key
	live       bool   // the kernel has it
	checkpoint string // the checkpoint that has it
	later      []Link // the cells that follow
	skipped    []string
}

// origins returns the states from which a lineage can be continued, the best first: those that include most cells, and of
// equal ones the live kernel. The last is a new kernel. A checkpoint counts only if no later cell uses a variable that it
// lost; skipped says so.
func origins(lineage []Link, live Key, checkpoints []Checkpoint) []origin {
	place := map[Key]int{Root: -1}
	for i, l := range lineage {
		place[l.Key] = i
	}
	var found []origin
	if at, ok := place[live]; ok && live != "" {
		found = append(found, origin{index: at, key: live, live: true})
	}
	var skipped []string
	for _, c := range checkpoints {
		at, ok := place[c.At]
		if !ok {
			continue
		}
		if name := firstUsed(c.Lost, lineage[at+1:]); name != "" {
			skipped = append(skipped, "checkpoint "+c.ID+" does not have the variable "+name)
			continue
		}
		found = append(found, origin{index: at, key: c.At, checkpoint: c.ID, later: lineage[at+1:]})
	}
	slices.SortStableFunc(found, func(a, b origin) int { // the live one is first among equals
		return cmp.Compare(b.index, a.index)
	})
	if n := len(found); n == 0 || !found[n-1].live || found[n-1].index >= 0 {
		found = append(found, origin{index: -1, key: Root})
	}
	for i := range found {
		found[i].skipped = skipped
	}
	return found
}

// firstUsed returns the first of names that the code of a cell mentions; "" if none does.
func firstUsed(names []string, cells []Link) string {
	if len(names) == 0 {
		return ""
	}
	used := map[string]bool{}
	for _, c := range cells {
		for _, word := range strings.FieldsFunc(c.Code, notInName) {
			used[word] = true
		}
	}
	for _, name := range names {
		if used[name] {
			return name
		}
	}
	return ""
}

func notInName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
