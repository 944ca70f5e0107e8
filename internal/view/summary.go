package view

import (
	"maps"
	"slices"
	"strings"

	"pawl"
)

// summaryFile says what a finished step did; nil for one that is not finished.
func (v *run) summaryFile(s step) []byte {
	st := s.state
	if !st.Finished() {
		return nil
	}
	p := v.head("Summary of step " + string(s.ID))
	p.say("\n")
	if s.Name != string(s.ID) {
		p.fact("Name", inline(s.Name))
	}
	p.fact("Goal", inline(s.Goal))
	p.fact("Status", string(st.Status), because(st.Why))
	p.fact("Started", at(st.Started))
	p.fact("Ended", at(st.Ended))
	p.fact("Spent", spent(st.Seconds, st.Usage))
	p.fact("Attempts", count(st.Attempts))
	p.fact("Items", items(st.Items))
	p.fact("Adopted", inline(st.Adopted))
	p.fact("Changed from outside since", inline(strings.Join(st.Changed, ", ")))
	p.fact("Undo", code(st.Undo))
	if st.Summary != "" {
		p.say("\n")
		p.quote(st.Summary)
	}
	sayOutputs(p, st.Outputs)
	sayNamed(p, st.Named)
	sayReviews(p, st)
	return p.Bytes()
}

func sayOutputs(p *page, outputs pawl.Outputs) {
	if len(outputs) == 0 {
		return
	}
	p.say("\n## Outputs\n")
	p.table("Path", "Bytes", "SHA-256")
	for _, path := range slices.Sorted(maps.Keys(outputs)) {
		p.row(cell(path), number(outputs[path].Size), cell(outputs[path].SHA256))
	}
}

func sayNamed(p *page, named map[pawl.ItemID]pawl.ItemNamed) {
	if len(named) == 0 {
		return
	}
	p.say("\n## Items\n")
	p.table("Item", "Title", "Status", "Commit", "Files")
	for _, id := range slices.Sorted(maps.Keys(named)) {
		item := named[id]
		p.row(cell(string(id)), inline(item.Title), inline(string(item.Status)), cell(item.Commit), inline(strings.Join(item.Outputs, ", ")))
	}
}

func sayReviews(p *page, st *pawl.StepState) {
	if len(st.Reviews) == 0 {
		return
	}
	p.say("\n## Reviews\n")
	p.table("Reviewer", "Score", "Wanted", "Comment")
	for _, name := range slices.Sorted(maps.Keys(st.Reviews)) {
		p.row(inline(name), number(st.Reviews[name].Score), count(st.Minimum[name]), inline(st.Reviews[name].Comment))
	}
}
