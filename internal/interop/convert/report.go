package convert

import (
	"fmt"
	"io"
)

// Report is the result of converting a file.
type Report struct {
	File string `json:"file"`
	Result
	Written string `json:"written,omitempty"` // the file with the plan
	Text    string `json:"plan,omitempty"`    // the plan, unless it was written to a file
}

// Print prints a line for each note, and how much was converted.
func (r Report) Print(w io.Writer) {
	for _, n := range r.Notes {
		fmt.Fprintln(w, n.In(r.File))
	}
	steps, places := "1 step", "1 place"
	if r.Steps != 1 {
		steps = fmt.Sprintf("%d steps", r.Steps)
	}
	if r.Lost != 1 {
		places = fmt.Sprintf("%d places", r.Lost)
	}
	if r.Lost == 0 {
		fmt.Fprintf(w, "pawl: converted %s to %s\n", r.File, steps)
		return
	}
	fmt.Fprintf(w, "pawl: converted %s to %s; %s not converted\n", r.File, steps, places)
}
