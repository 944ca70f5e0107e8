package notebook

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pawl/internal/textedit/jsonedit"
)

// CellResult is what the execution of a cell leaves in a notebook.
type CellResult struct {
	ID       string // of the cell in the notebook
	Source   string // that was executed
	Outputs  []Output
	Count    int          // execution count; 0: none
	Metadata CellMetadata // what is set in the cell's metadata
}

// Conflict is a result that Merge did not put into the notebook.
type Conflict struct {
	ID     string       `json:"id"`
	Reason ConflictKind `json:"reason"`
}

// ConflictKind is why a result is not in the notebook.
type ConflictKind string

// The kinds of conflicts.
const (
	Edited  ConflictKind = "edited"  // the source is not the one that was executed
	Removed ConflictKind = "removed" // the notebook has no such cell
)

// Merge returns the notebook in current with results. A cell is changed only if its source is the one that was executed; other cells,
// the order of cells and all other bytes stay. If it changes anything, the notebook becomes nbformat 4.5. Merging the same results again
// changes nothing. widgets replaces the state of widgets in the notebook's metadata, unless it is nil.
func Merge(current []byte, results []CellResult, widgets json.RawMessage) ([]byte, []Conflict, error) {
	n, err := Read(current)
	if err != nil {
		return nil, nil, err
	}
	applies, conflicts := n.match(results)
	if len(applies) == 0 {
		return current, conflicts, nil
	}
	if n, err = n.Mend(); err != nil {
		return nil, nil, fmt.Errorf("read the mended notebook: %w", err)
	}
	e := jsonedit.NewEdits(n.root)
	for _, i := range slices.Sorted(maps.Keys(applies)) {
		if err := n.Cells[i].put(e, applies[i]); err != nil {
			return nil, nil, fmt.Errorf("cell %s: %w", n.Cells[i].ID, err)
		}
	}
	if widgets != nil {
		v, err := jsonedit.Encode(widgets)
		if err != nil {
			return nil, nil, fmt.Errorf("widgets: %w", err)
		}
		setMembers(e, n.root.Get("metadata"), "widgets", v)
	}
	return e.Apply(), conflicts, nil
}

// match returns the results that fit a cell, by the cell's index, and the others. Of several results for a cell the last one counts.
func (n *Notebook) match(results []CellResult) (map[int]CellResult, []Conflict) {
	index := make(map[string]int, len(n.Cells))
	for i := range n.Cells {
		index[n.Cells[i].ID] = i
	}
	applies, conflicts := map[int]CellResult{}, []Conflict(nil)
	for _, result := range results {
		i, has := index[result.ID]
		switch {
		case !has:
			conflicts = append(conflicts, Conflict{result.ID, Removed})
		case n.Cells[i].Type != Code || n.Cells[i].Source != result.Source:
			conflicts = append(conflicts, Conflict{result.ID, Edited})
		default:
			applies[i] = result
		}
	}
	return applies, conflicts
}

// put puts a result into a cell.
func (c *Cell) put(e *jsonedit.Edits, result CellResult) error {
	outputs, err := jsonedit.Encode(append([]Output{}, result.Outputs...))
	if err != nil {
		return err
	}
	e.Set(c.json, "outputs", outputs)
	e.Set(c.json, "execution_count", encode(countOrNull(result.Count)))
	metadata := c.json.Get("metadata")
	members, err := jsonedit.Encode(result.Metadata)
	if err != nil {
		return err
	}
	for _, m := range members.Members {
		if m.Key == "execution" || m.Key == "pawl" { // of one execution
			e.Set(metadata, m.Key, m.Value)
		} else {
			setMembers(e, metadata, m.Key, m.Value)
		}
	}
	return nil
}
