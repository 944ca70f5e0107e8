package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"pawl/internal/textedit/jsonedit"
)

// legalID reports whether nbformat 4.5 allows an id: 1 to 64 letters, digits, - and _.
func legalID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// giveIDs gives each cell an id. Of several cells with the same id the first one keeps it. A cell without a usable id gets
// one that depends on its type, its source, and how many such cells with the same source precede it: so inserting other cells
// does not change it.
func (n *Notebook) giveIDs() {
	taken := map[string]bool{}
	for i := range n.Cells {
		c := &n.Cells[i]
		v := c.json.Get("id")
		id := v.Text()
		if c.Own = legalID(id) && !taken[id]; c.Own {
			c.ID, taken[id] = id, true
		}
	}
	repeated := map[string]int{}
	for i := range n.Cells {
		if c := &n.Cells[i]; !c.Own {
			n.warnID(i)
			c.ID = derivedID(c, repeated, taken)
			taken[c.ID] = true
		}
	}
	if n.Minor >= 5 {
		return
	}
	for i := range n.Cells {
		if c := &n.Cells[i]; c.Own {
			n.warnAt(c.json, "pawl sets nbformat_minor to 5", "cell "+strconv.Itoa(i+1)+` has an "id", which nbformat 4.`+strconv.Itoa(n.Minor)+" does not know")
			return
		}
	}
}

// warnID warns about the id of a cell that cannot be used.
func (n *Notebook) warnID(i int) {
	where, v := "cell "+strconv.Itoa(i+1), n.Cells[i].json
	switch id := v.Get("id"); {
	case id == nil && n.Minor >= 5:
		n.warnAt(v, "pawl adds one", where+` has no "id"`)
	case id == nil: // as in every notebook of nbformat 4.4
	case !legalID(id.Text()):
		n.warnAt(id, "pawl replaces it", `"id" of `+where+" must be 1 to 64 letters, digits, - and _")
	default:
		n.warnAt(id, "pawl replaces it", `"id" of `+where+" is the same as that of an earlier cell")
	}
}

func (n *Notebook) warnAt(v *jsonedit.Value, repair, text string) {
	if len(n.Warnings) < maxFaults {
		line, column := at(n.text, v)
		n.Warnings = append(n.Warnings, Warning{line, column, text, repair})
	}
}

func derivedID(c *Cell, repeated map[string]int, taken map[string]bool) string {
	same := string(c.Type) + "\x00" + c.Source
	for {
		sum := sha256.Sum256([]byte("pawl cell\x00" + strconv.Itoa(repeated[same]) + "\x00" + same))
		repeated[same]++
		if id := "c-" + hex.EncodeToString(sum[:6]); !taken[id] {
			return id
		}
	}
}
