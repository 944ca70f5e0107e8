package interop

import (
	"context"
	"encoding/json"
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
		if why := m.refuseAnswer(state, reply); why != "" {
			m.rejected[reply] = reply.Where + ": answer rejected: " + why
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

// refuseAnswer returns why an answer in the files does not count, "" if it does. It must be certain that no step wrote it: a
// step can write any file of the user's.
func (m *MirrorWriter) refuseAnswer(state *pawl.State, reply pawl.GateAnswered) string {
	if !m.Answers && !(state.Mirror.SameFiles(m.Record(m.project)) && state.Mirror.Answers) {
		return "answers in mirrored files count only with --mirror-answers, or if your own settings have mirrors: {answers: true}"
	}
	if live := state.Live(); len(live) > 0 {
		return "step " + live[0].Name() + " is running and may have written it"
	}
	if step := m.ranSince(reply.Gate); step != "" {
		return "step " + step + " ran while the gate was open and may have written it"
	}
	return ""
}

// ranSince returns the step of an attempt that ran after a gate was opened, "" for none. An attempt that ended in the same batch
// ended before.
func (m *MirrorWriter) ranSince(gate pawl.GateID) string {
	var batch pawl.Seq // of the gate's last opening; 0: not open yet
	ran := ""
	for event, err := range m.log.Events(0) {
		if err != nil {
			return "(unknown, since the journal is unreadable)"
		}
		var about struct {
			ID   pawl.GateID `json:"id"`
			Step pawl.StepID `json:"step"`
		}
		switch event.Type {
		case pawl.GateOpened{}.Event():
			if json.Unmarshal(event.Data, &about) == nil && about.ID == gate {
				batch, ran = event.Batch, ""
			}
		case pawl.AttemptStarted{}.Event(), pawl.AttemptEnded{}.Event(), pawl.StepDone{}.Event(), pawl.ItemDone{}.Event(), pawl.StepFailed{}.Event():
			if batch > 0 && event.Batch != batch && json.Unmarshal(event.Data, &about) == nil {
				ran = string(about.Step)
			}
		}
	}
	return ran
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
