package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// readOthers journals what others wrote into the files: answers to open gates, a pause, and which blockers they removed.
func (m *MirrorWriter) readOthers(ctx context.Context, state *pawl.State, plan *pawl.Plan) {
	gates, blockers := m.Format.Answers != nil && len(state.OpenGates()) > 0, m.Format.ListedBlockers != nil && len(state.OpenBlockers()) > 0
	if m.kept = nil; state.Ended() || !gates && !blockers && m.Format.Paused == nil {
		return
	}
	files, err := m.readStamped(state)
	if err != nil {
		return // writing the files reports the error
	}
	export := format.Export{Now: time.Now().UTC(), Root: m.project.Root, State: state, Plan: plan, Status: state.StatusNow(true)}
	if gates {
		for _, reply := range m.Format.Answers(files, export) {
			m.readAnswer(ctx, state, reply)
		}
	}
	if blockers {
		m.clearRemoved(ctx, &runs.Run{Log: m.log, State: state, Plan: plan}, files)
	}
	if m.Format.Paused != nil {
		if where := m.Format.Paused(files, export); where != "" {
			_ = m.perform(ctx, state, pawl.ByTable, pauseIfActive("paused in "+where)) // a run that has ended is not paused
		}
	}
}

// perform journals an act, and returns an error of KindUsage only: others are retried.
func (m *MirrorWriter) perform(ctx context.Context, state *pawl.State, by pawl.AuthorKind, act runs.Act) error {
	r, err := runs.Perform(ctx, m.project, state.Run, pawl.Author{Kind: by}, act)
	if err == nil {
		_ = r.Log.Close() // it is journaled
	}
	if pawl.KindOf(err) == pawl.KindUsage {
		return err
	}
	return nil
}

// readAnswer journals an answer, or records why it does not count.
func (m *MirrorWriter) readAnswer(ctx context.Context, state *pawl.State, reply pawl.GateAnswered) {
	if m.rejected[reply] != "" {
		return
	}
	by := pawl.ByPerson
	why := m.refuseAnswer(state, reply)
	if why != "" && m.Format.Tables != nil {
		if by = pawl.ByTable; reply.Answer == pawl.Rejected {
			why = "" // whoever wrote it, a rejection only stops work
		}
	}
	switch {
	case why != "" && m.Format.Tables != nil:
		m.rejected[reply] = fmt.Sprintf("%s: gate %s is %s there; confirm it with pawl approve %s: %s", reply.Where, reply.Gate, cmp.Or(reply.Option, string(reply.Answer)), reply.Gate, why)
	case why != "":
		m.rejected[reply] = reply.Where + ": answer rejected: " + why
	default:
		if err := m.perform(ctx, state, by, replyIfOpen(reply)); err != nil {
			m.rejected[reply] = fmt.Sprintf("%s: answer rejected: %v", reply.Where, err)
		}
	}
}

// refuseAnswer returns why an answer in the files does not count, "" if it does. It must be certain that no step wrote it: a
// step can write any file of the user's.
func (m *MirrorWriter) refuseAnswer(state *pawl.State, reply pawl.GateAnswered) string {
	if why := m.refuseFiles(state); why != "" {
		return why
	}
	if step := m.ranSince(reply.Gate); step != "" {
		return "step " + step + " ran while the gate was open and may have written it"
	}
	return ""
}

// refuseFiles returns why nothing in the files counts as the user's, "" if it does.
func (m *MirrorWriter) refuseFiles(state *pawl.State) string {
	if only, err := runs.ServerOnly(m.project); only || err != nil {
		return `your own settings have "gates: server-only": only a server accepts answers`
	}
	if !m.Answers && !(state.Mirror.SameFiles(m.Record(m.project)) && state.Mirror.Answers) {
		return "answers in mirrored files count only with --mirror-answers, or if your own settings have mirrors: {answers: true}"
	}
	if live := state.Live(); len(live) > 0 {
		return "step " + live[0].Name() + " is running and may have written it"
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

// pauseIfActive is runs.Pause, or does nothing if the run is not active.
func pauseIfActive(why string) runs.Act {
	return func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		if r.State.Status != pawl.StatusActive {
			return nil, nil
		}
		return runs.Pause(why)(p, r)
	}
}
