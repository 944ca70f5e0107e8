package protocol

import (
	"strconv"
	"strings"
	"sync/atomic"

	"pawl/internal/kernel"
)

// Purposes of requests.
const (
	PurposeInfo  = "info"  // asks a starting kernel what it is
	PurposeProbe = "probe" // shows that what was sent before it is done
	PurposeCell  = "cell"
)

// Requests gives ids to requests.
type Requests struct {
	Tag  string // tells the requests of one connection from those of others with the same session
	last atomic.Int64
}

// ID returns a new id. It names the cell, so that late output finds its cell also in another process of pawl.
func (r *Requests) ID(purpose string, cell kernel.CellID) string {
	return strings.Join([]string{purpose, r.Tag, strconv.FormatInt(r.last.Add(1), 10), string(cell)}, "/")
}

// CellOf returns the purpose of a request, and the cell that it names.
func CellOf(id string) (purpose string, cell kernel.CellID) {
	parts := strings.SplitN(id, "/", 4)
	if len(parts) < 4 {
		return "", ""
	}
	return parts[0], kernel.CellID(parts[3])
}

// Execute returns the content of a request to execute a cell.
func Execute(cell kernel.Cell) any {
	return map[string]any{
		"code": cell.Code, "silent": cell.Silent, "store_history": !cell.Silent, "user_expressions": struct{}{},
		"allow_stdin": false, "stop_on_error": false, // else an error would abort the next cell
	}
}
