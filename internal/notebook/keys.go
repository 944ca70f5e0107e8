package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Keys returns the key of each cell: the hash of the key of the executed cell before it and its source. The first one is based on
// a seed: what the cells depend on besides their code. A cell that is not executed has the key "" and does not change the keys of later cells. Cells with equal keys
// in two notebooks have the same code before them.
func Keys(cells []Cell, seed string) []string {
	keys := make([]string, len(cells))
	last := seed
	for i := range cells {
		if cells[i].Executes() {
			last = Key(last, cells[i].Source)
			keys[i] = last
		}
	}
	return keys
}

// Key returns the key of a cell that is executed after the cell with another key.
func Key(before, source string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(before)) + ":" + before + source))
	return hex.EncodeToString(sum[:])
}
