package gyoshu

import (
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel"
)

// environment returns the environment of the run at a step, with the seeds that cells of the notebook and of kernel steps set.
func (m *researchWriter) environment(at pawl.StepID) Python {
	p := Python{Platform: platform()}
	if m.Python != nil {
		p.Path, p.Packages = m.Python()
	}
	set := lastSeeds{}
	if notebook := m.notebook(); notebook != nil {
		for _, c := range notebook.Cells {
			if c.Type == "code" && c.Executed != 0 && c.Kind != "checkpoint" {
				set.add(c.Source)
			}
		}
	}
	if m.Plan != nil {
		for _, id := range m.session(at) {
			if step := m.Plan.Step(id); step != nil && step.Kernel != nil && m.State.Steps[id].Finished() {
				set.add(step.Kernel.Code)
			}
		}
	}
	p.Seeds = set.seeds()
	return p
}

// session returns the steps whose code a session has executed at a step: those that were finished by then, and the step.
func (m *researchWriter) session(at pawl.StepID) []pawl.StepID {
	if finished := m.finished(); !slices.Contains(finished, at) {
		return append(slices.Clone(finished), at)
	}
	return m.upTo(at)
}

// notebook returns the notebook of the research; nil if it is missing or damaged.
func (m *researchWriter) notebook() *Notebook {
	file := m.files.File(notebookPath(m.title))
	if file == nil {
		return nil
	}
	notebook, err := ReadNotebook(file.Data)
	if err != nil {
		return nil
	}
	return notebook
}

// executed returns the highest execution count in the notebook and in the kernel at a step; 0 if none is known.
func (m *researchWriter) executed(at pawl.StepID) int64 {
	last := int64(0)
	if notebook := m.notebook(); notebook != nil {
		for _, c := range notebook.Cells {
			last = max(last, c.Executed)
		}
	}
	for _, id := range m.session(at) {
		last = max(last, int64(m.kernel(id).Executed))
	}
	return last
}

// kernel returns where the kernel of a step ended; a zero report if there is none.
func (m *researchWriter) kernel(id pawl.StepID) kernel.Report {
	if m.Kernel == nil {
		return kernel.Report{}
	}
	return m.Kernel(id)
}

// lostWork describes the cell that was in flight when a stage was interrupted, as the output of the emergency checkpoint's cell. No line
// of it is a marker.
func lostWork(r kernel.Report) []cellOutput {
	if r.InFlight == "" {
		return nil
	}
	var text strings.Builder
	for _, part := range []struct{ title, text string }{{"cell in flight: " + r.InFlight, r.Code}, {"last output", r.Output}, {"stacks", r.Stacks}} {
		if part.text == "" {
			continue
		}
		text.WriteString(part.title + "\n")
		for line := range strings.Lines(part.text) {
			text.WriteString("| " + strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	return []cellOutput{{Type: "stream", Name: "stderr", Text: sourceLines(text.String())}}
}

// cellOutput is a stream in the outputs of a cell.
type cellOutput struct {
	Type string   `json:"output_type"`
	Name string   `json:"name"`
	Text []string `json:"text"`
}
