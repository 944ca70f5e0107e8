package interop

import (
	"context"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// readAnswers journals the answers to open gates that people wrote into the files. It records why an answer is rejected, and
// does not retry that answer.
func (m *MirrorWriter) readAnswers(ctx context.Context, state *pawl.State, plan *pawl.Plan) {
	if len(state.OpenGates()) == 0 || m.Format.Answers == nil {
		return
	}
	files, err := readToWrite(state, m.Dir, m.Format)
	if err != nil {
		return // writing the files reports the error
	}
	for _, reply := range m.Format.Answers(files, format.Export{Now: time.Now().UTC(), Root: m.project.Root, State: state, Plan: plan}) {
		if m.rejected[reply] != "" {
			continue
		}
		r, err := runs.Perform(ctx, m.project, state.Run, pawl.Author{Kind: pawl.ByPerson}, replyIfOpen(reply))
		if err == nil {
			_ = r.Log.Close() // the answer is journaled
		}
		if pawl.KindOf(err) == pawl.KindUsage { // other errors are retried
			m.rejected[reply] = fmt.Sprintf("%s: answer rejected: %v", reply.Where, err)
		}
	}
}

// replyIfOpen is runs.Reply, or does nothing if the gate was answered in the meantime.
func replyIfOpen(reply pawl.GateAnswered) runs.Act {
	return func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		if g := r.State.Gate(reply.Gate); g == nil || !g.Open() {
			return nil, nil
		}
		return runs.Reply(reply)(p, r)
	}
}
