package gyoshu

import (
	"strconv"

	"pawl"
	"pawl/internal/interop/format"
)

// updateHistory lists in the report the stages that were carried out. A report is made only at the end, or when it is asked
// for; one that is there is kept up to date.
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

// history returns the stages that were carried out, or cut off, in the plan's order.
func (m *researchWriter) history() []stageRun {
	var runs []stageRun
	for _, id := range m.steps {
		st := m.State.Steps[id]
		if st == nil || st.Attempts == 0 && st.Status != pawl.Done {
			continue
		}
		r := stageRun{stage: m.stages[id], duration: seconds(st.Seconds), interrupted: st.CutShort > 0, resumed: st.CutShort > stillCut(st)}
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

// stillCut returns how many tries of a step, its own or those of its items, ended by being cut off and were not gone on with.
func stillCut(st *pawl.StepState) int {
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

// seconds writes a duration as Gyoshu's markers do: 45s, 70.9s.
func seconds(s float64) string {
	if s <= 0 {
		return ""
	}
	return strconv.FormatFloat(float64(int64(s*10+0.5))/10, 'f', -1, 64) + "s"
}
