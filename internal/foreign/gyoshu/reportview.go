package gyoshu

import (
	"strconv"

	"pawl"
	"pawl/internal/foreign"
)

// sayHistory lists in the report the stages that were carried out. A report is made only at the end, or when it is asked
// for; one that is there is kept up to date.
func (m *mirror) sayHistory() {
	name := reportPath(m.title)
	report := "# " + m.title + "\n"
	file := m.files.Find(name)
	if file != nil {
		report = string(file.Data)
	}
	runs := m.history()
	if len(runs) == 0 || file == nil && m.Why != foreign.RunEnded && m.Why != foreign.Exported {
		return
	}
	m.put(foreign.File{Path: name, Data: []byte(WithBlock(report, historyBlock, ExecutionHistory(runs)))})
}

// history returns the stages that were carried out, or cut off, in the plan's order.
func (m *mirror) history() []StageRun {
	var runs []StageRun
	for _, id := range m.steps {
		st := m.State.Steps[id]
		if st == nil || st.Attempts == 0 && st.Status != pawl.Done {
			continue
		}
		r := StageRun{Stage: m.stages[id], Duration: seconds(st.Seconds), Resumed: st.CutShort > 0}
		switch {
		case st.Status == pawl.Done:
			r.Status = "completed"
		case st.Status == pawl.GaveUp:
			r.Status = "failed"
		case st.Try.Live == nil && st.Try.Last != nil && st.Try.Last.CutShort():
			r.Status, r.Resumed = "interrupted", false
		default:
			continue
		}
		runs = append(runs, r)
	}
	return runs
}

// seconds writes a duration as Gyoshu's markers do: 45s, 70.9s.
func seconds(s float64) string {
	if s <= 0 {
		return ""
	}
	return strconv.FormatFloat(float64(int64(s*10+0.5))/10, 'f', -1, 64) + "s"
}
