package gyoshu

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// continuation is what somebody is told who goes on with a stage: on which checkpoint it builds, and how a session is brought back
// to it.
type continuation struct {
	base      *Manifest
	trust     Trust
	warning   string // of how far that is trusted
	passed    []passed
	objective string // of the loop
	env       format.Env
	most      int64 // bytes that are hashed for it; 0: all
}

// Limits of what is told.
const (
	longestCell   = 16 << 10 // bytes
	mostArtifacts = 20
	mostPassed    = 5
	mostChecked   = 256 << 20 // bytes that are hashed before each stage
)

// text returns what is told, with the cell in it where that is not too long.
func (t continuation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Gyoshu goes on from checkpoint %q (stage %s).\n", t.base.CheckpointID, t.base.Stage)
	for _, p := range t.passed[:min(len(t.passed), mostPassed)] {
		fmt.Fprintf(&b, "The newer checkpoint %q was passed over: %.300s.\n", p.ID, p.why)
	}
	for _, line := range []string{t.warning, titled("The objective of its loop: ", t.objective)} {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	held, artifacts := t.artifacts()
	if cell := strings.Join(Rehydrate(held, t.trust), "\n"); len(cell) <= longestCell {
		b.WriteString("Before all else execute this cell in a session of Python in the project's folder. It was made anew of what the checkpoint names; " +
			"nothing of its own lines is in it:\n\n```python\n" + cell + "\n```\n\n")
	} else {
		b.WriteString("Bring back what it left first. The cell for that is too long to stand here: it is in `prompt` of `pawl import gyoshu --dry-run --json`.\n")
	}
	if cell := strings.Join(driftCell(t.base.Python), "\n"); cell != "" && len(cell) <= longestCell {
		b.WriteString("This one says where the session differs from the checkpoint's:\n\n```python\n" + cell + "\n```\n\n")
	}
	b.WriteString(artifacts + "Then carry out the stage.")
	return b.String()
}

func titled(title, text string) string {
	if text == "" {
		return ""
	}
	return title + strings.Join(strings.Fields(text), " ")
}

// artifacts says how each artifact was found, and returns the checkpoint with those that are not known to have changed.
func (t continuation) artifacts() (held *Manifest, told string) {
	m := *t.base
	m.Artifacts = nil
	var b strings.Builder
	env, size := t.env, int64(0)
	for i, a := range t.base.Artifacts {
		if size += a.Size; t.most > 0 && size > t.most {
			env.Hash = nil
		}
		found, good := a.found(t.trust, env)
		if good {
			m.Artifacts = append(m.Artifacts, a)
		}
		if i < mostArtifacts || !good && i < 2*mostArtifacts {
			fmt.Fprintf(&b, "- %.300q: %.300s\n", a.Path, found)
		}
	}
	if n := len(t.base.Artifacts); n > 0 {
		return &m, fmt.Sprintf("It has %d artifacts, and this is how they were found:\n%s", n, b.String())
	}
	return &m, "It has no artifacts.\n"
}

// found says how an artifact was found, and whether there is nothing against it.
func (a Artifact) found(trust Trust, env format.Env) (what string, good bool) {
	if issue := a.issue(trust, env); issue != "" {
		return issue + "; it is not loaded", false
	}
	if env.Hash == nil {
		return "nobody looked at it", true
	}
	if _, _, err := env.Hash(a.Path); errors.Is(err, errUnseen) {
		return "nobody looked at it", true
	}
	return "as it was saved", true
}

// readTakeUp tells the first stage that is not done how it is gone on with: from the checkpoint, else behind the notebook's
// last cell.
func (r *research) readTakeUp(out *format.Project, run string, res resumption, env format.Env) {
	text := ""
	switch {
	case out.Native == "completed":
		return
	case res.base != nil:
		t := continuation{base: res.base.Manifest, trust: res.base.trust(), warning: res.base.warning(), passed: res.passed, env: env}
		if l := r.loopOf(run); l != nil {
			t.objective = l.Next
		}
		text = t.text()
		out.Prompt = strings.Join(Rehydrate(t.base, t.trust), "\n")
	case r.notebook != nil && len(r.notebook.Cells) > 0:
		last := r.notebook.Cells[len(r.notebook.Cells)-1]
		text = fmt.Sprintf("%s. Gyoshu then goes on behind the last cell of %q, which is %q.", res.issue, notebookPath(r.title), last.ID)
	}
	steps := out.Phases[0].Steps
	if i := slices.IndexFunc(steps, func(s format.Step) bool { return s.Status != pawl.Done }); i >= 0 && text != "" {
		steps[i].Resume = strings.TrimSpace(steps[i].Resume + "\n" + text)
	}
}

// loopOf returns the state of the loop, where it is that of a run.
func (r *research) loopOf(run string) *Loop {
	if r.loop == nil || r.loop.Run != "" && r.loop.Run != run {
		return nil
	}
	return r.loop
}

// objective returns what the loop wants next of a run that is not completed, and its stage where it names one, as pawl does.
func (r *research) objective(run string) (stage, goal string) {
	l, e := r.loopOf(run), r.front().run(run)
	if l == nil || l.Decision == Complete || e != nil && e.Status == "completed" {
		return "", ""
	}
	stage, goal, _ = strings.Cut(l.Next, ":")
	if _, _, ok := stageNumber(stage); !ok || strings.ContainsAny(stage, " \t\r\n") {
		return "", strings.TrimSpace(l.Next)
	}
	return stage, strings.TrimSpace(goal)
}

// wanted returns a step for what the loop wants next, where all stages that are known are done and it names none.
func (r *research) wanted(run string, known []format.Step) []format.Step {
	stage, goal := r.objective(run)
	if stage != "" || goal == "" || slices.ContainsFunc(known, func(s format.Step) bool { return s.Status != pawl.Done }) {
		return nil
	}
	next := "S01_"
	if len(known) > 0 {
		next = NextStage(known[len(known)-1].Name)
	}
	step := format.Step{ID: pawl.StepID(next + "next_objective"), Name: next + "next_objective", Goal: goal, Status: pawl.Pending,
		Where: loopPath(r.title), Why: "the loop wants it, and no stage of it has begun"}
	limit(&step)
	return []format.Step{step}
}

// preconditions says how a stage of a mirrored run is gone on with, from the checkpoint of the one that was finished last. Nothing
// where that was finished when the run was made: then its plan says it.
func preconditions(state *pawl.State, plan *pawl.Plan, env format.Env, step pawl.StepID) string {
	m := newResearchWriter(nil, format.Export{State: state, Plan: plan})
	finished := m.finished()
	if len(finished) == 0 || m.stages[step] == "" {
		return ""
	}
	last := finished[len(finished)-1]
	if m.imported(last) {
		return ""
	}
	return continuation{base: m.request(m.idOf(last), last, state.Steps[last].Ended).manifest(), trust: Local, objective: m.objective(step), env: env, most: mostChecked}.text()
}
