package view

import (
	"maps"
	"slices"
	"strings"

	"pawl"
)

// summaryFile describes a finished step; nil for any other.
func (v *run) summaryFile(s step) []byte {
	st := s.state
	if !st.Finished() {
		return nil
	}
	p := v.newPage("Summary of step " + string(s.ID))
	p.add("\n")
	if s.Name != string(s.ID) {
		p.fact("Name", inline(s.Name))
	}
	p.fact("Goal", inline(s.Goal))
	p.fact("Status", string(st.Status), because(st.Why))
	p.fact("Started", formatTime(st.Started))
	p.fact("Ended", formatTime(st.Ended))
	p.fact("Spent", spent(st.Seconds, st.Usage))
	p.fact("Attempts", count(st.Attempts))
	p.fact("Items", items(st.Items))
	if st.From == nil {
		p.fact("Accepted as done", inline(st.Adopted))
	} else {
		p.fact("Adopted", inline(st.Adopted))
	}
	p.fact("Edited or deleted since", inline(strings.Join(st.Changed, ", ")))
	p.fact("Undo", code(st.Undo))
	if st.Summary != "" {
		p.add("\n")
		p.quote(st.Summary)
	}
	addOutputs(p, st.Outputs)
	addNamed(p, st.Named)
	addReviews(p, st)
	return p.Bytes()
}

func addOutputs(p *page, outputs pawl.Outputs) {
	if len(outputs) == 0 {
		return
	}
	p.add("\n## Outputs\n")
	p.table("Path", "Bytes", "SHA-256")
	for _, path := range slices.Sorted(maps.Keys(outputs)) {
		p.row(cell(path), number(outputs[path].Size), cell(outputs[path].SHA256))
	}
}

func addNamed(p *page, named map[pawl.ItemID]pawl.ItemNamed) {
	if len(named) == 0 {
		return
	}
	p.add("\n## Items\n")
	p.table("Item", "Title", "Status", "Commit", "Files")
	for _, id := range slices.Sorted(maps.Keys(named)) {
		item := named[id]
		p.row(cell(string(id)), inline(item.Title), inline(string(item.Status)), cell(item.Commit), inline(strings.Join(item.Outputs, ", ")))
	}
}

func addReviews(p *page, st *pawl.StepState) {
	if len(st.Reviews) == 0 {
		return
	}
	p.add("\n## Reviews\n")
	p.table("Reviewer", "Score", "Minimum", "Comment")
	for _, name := range slices.Sorted(maps.Keys(st.Reviews)) {
		p.row(inline(name), number(st.Reviews[name].Score), count(st.Minimum[name]), inline(st.Reviews[name].Comment))
	}
}
