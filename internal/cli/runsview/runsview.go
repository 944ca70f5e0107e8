// Package runsview prints the list of runs.
package runsview

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
)

// Report is one line of `pawl runs`.
type Report struct {
	Run     pawl.RunID     `json:"run"`
	Project string         `json:"project"`
	Status  pawl.RunStatus `json:"status"`
	Percent int            `json:"progress_percent"`
	Created time.Time      `json:"created_at"`
	Updated time.Time      `json:"updated_at"`
	Error   string         `json:"error,omitempty"`

	Archived   bool `json:"archived,omitempty"`
	Unverified bool `json:"unverified,omitempty"` // made elsewhere

	Standing string      `json:"-"` // the status as people read it; empty: Status
	State    *pawl.State `json:"-"` // nil if it is unreadable
}

// Print prints the runs as a table.
func Print(w io.Writer, reports []Report) error {
	rows := make([][]string, 0, len(reports))
	for _, r := range reports {
		rows = append(rows, []string{string(r.Run), r.statusText(), fmt.Sprintf("%d%%", r.Percent), layout.UTC(r.Updated), cmp.Or(r.Error, r.Project)})
	}
	head := []string{"RUN", "STATUS", "DONE", "LAST ACTIVITY (UTC)", "PROJECT"}
	return layout.PaintedTable(w, head, rows, func(row, column int) layout.Colour {
		if column != 1 {
			return layout.Plain
		}
		return layout.RunColour(reports[row].Status)
	})
}

// statusText returns the status for the table.
func (r Report) statusText() string {
	word := cmp.Or(r.Standing, string(r.Status))
	if r.Unverified {
		word += " (unverified)"
	}
	return word
}
