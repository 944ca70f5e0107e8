package gyoshu

import (
	"strconv"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/notebook"
)

// updateHistory lists the executed stages in the report. It updates an existing report, and creates one only at the end of
// the run or on export.
func (m *researchWriter) updateHistory() {
	name := reportPath(m.title)
	report := "# " + m.title + "\n"
	file := m.files.File(name)
	if file != nil {
		report = string(file.Data)
	}
	runs := m.history()
	if len(runs) == 0 || file == nil && m.Trigger != format.RunEnded && m.Trigger != format.Exported {
		return
	}
	m.files.Put(name, []byte(WithBlock(report, historyBlock, executionHistory(runs))))
}

// history returns the executed and interrupted stages, in the plan's order.
func (m *researchWriter) history() []stageRun {
	var runs []stageRun
	interrupts, resumes := m.inCells()
	for _, id := range m.steps {
		st := m.State.Steps[id]
		if st == nil || st.Attempts == 0 && st.Status != pawl.Done {
			continue
		}
		r := stageRun{stage: m.stages[id], duration: seconds(st.Seconds), interrupted: st.CutShort > 0 || interrupts[id], resumed: st.CutShort > openInterruptions(st) || resumes[id]}
		switch {
		case st.Status == pawl.Done:
			r.status = "completed"
		case st.Status == pawl.FailedForGood:
			r.status = "failed"
		case wasCut(st.Retries):
			r.status = "interrupted"
		default:
			continue
		}
		runs = append(runs, r)
	}
	return runs
}

// inCells returns the steps of which a cell was interrupted, and of which one was resumed, as the cells that pawl executed say.
func (m *researchWriter) inCells() (interrupted, resumed map[pawl.StepID]bool) {
	interrupted, resumed = map[pawl.StepID]bool{}, map[pawl.StepID]bool{}
	file := m.files.File(notebookPath(m.title))
	if file == nil {
		return interrupted, resumed
	}
	n, err := notebook.Read(file.Data)
	if err != nil {
		return interrupted, resumed
	}
	for _, x := range n.History() {
		if step := pawl.StepID(x.Pawl.Step); x.Pawl.Run == m.run {
			interrupted[step] = interrupted[step] || x.Interrupts > 0
			resumed[step] = resumed[step] || x.Resumes > 0
		}
	}
	return interrupted, resumed
}

// openInterruptions returns how many attempts of a step or its items were interrupted and not resumed.
func openInterruptions(st *pawl.StepState) int {
	n := 0
	if st.Status != pawl.Done && wasCut(st.Retries) {
		n++
	}
	if st.Items == nil {
		return n
	}
	for i, t := range st.Items.Retries {
		if st.Items.Done.At(i) == 0 && wasCut(*t) {
			n++
		}
	}
	return n
}

func wasCut(t pawl.Retries) bool { return t.Last != nil && t.Live == nil && t.Last.CutShort() }

// seconds formats a duration as Gyoshu's markers do: 45s, 70.9s.
func seconds(s float64) string {
	if s <= 0 {
		return ""
	}
	return strconv.FormatFloat(float64(int64(s*10+0.5))/10, 'f', -1, 64) + "s"
}
