package interop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// readAnswers journals the answers that people wrote into the files to what is asked, as given there. Of one that cannot be taken
// it notes why, and tries it no more.
func (m *MirrorWriter) readAnswers(ctx context.Context, state *pawl.State, plan *pawl.Plan) {
	if len(state.OpenGates()) == 0 || m.Codec.Answers == nil {
		return
	}
	files, err := readToWrite(state, m.Dir, m.Codec)
	if err != nil {
		return // it is said when they are written
	}
	for _, reply := range m.Codec.Answers(files, format.Export{Now: time.Now().UTC(), Root: m.project.Root, State: state, Plan: plan}) {
		if m.refused[reply] != "" {
			continue
		}
		r, err := runs.Perform(ctx, m.project, state.Run, pawl.Author{Kind: pawl.ByPerson}, unlessClosed(reply))
		if err == nil {
			_ = r.Log.Close() // it is journaled
		}
		if pawl.KindOf(err) == pawl.KindUsage { // anything else is tried again
			m.refused[reply] = fmt.Sprintf("%s: the answer there was not taken: %v", reply.Where, err)
		}
	}
}

// unlessClosed is Reply, and nothing where somebody was quicker.
func unlessClosed(reply pawl.GateAnswered) runs.Act {
	return func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		if g := r.State.Gate(reply.Gate); g == nil || !g.Open() {
			return nil, nil
		}
		return runs.Reply(reply)(p, r)
	}
}

// Notes implements engine.Mirror: a failed last write, answers that were not taken, archived files, and unknown tasks.
func (m *MirrorWriter) Notes() []string {
	var notes []string
	if m.failed != "" {
		notes = append(notes, m.failed)
	}
	return slices.Concat(notes, slices.Sorted(maps.Values(m.refused)), m.aside, m.beyond)
}
