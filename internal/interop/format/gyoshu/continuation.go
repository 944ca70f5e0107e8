package gyoshu

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// continuation is the text that tells an agent how to continue a stage: from which checkpoint, and how to restore a session
// from it.
type continuation struct {
	base      *Manifest
	trust     Trust
	warning   string // about the checkpoint's trust
	passed    []passed
	objective string // of the loop
	env       format.Env
	maxBytes  int64           // limit of bytes to hash; 0: none
	imported  map[string]bool // artifacts of stages that pawl never ran
}

// Limits of the text.
const (
	maxCell       = 16 << 10 // bytes
	mostArtifacts = 20
	mostPassed    = 5
	maxHashed     = 256 << 20 // bytes that are hashed before each stage
)

// text returns the text, with the cell if it is short enough.
func (t continuation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Gyoshu continues from checkpoint %q (stage %s).\n", t.base.CheckpointID, t.base.Stage)
	for _, p := range t.passed[:min(len(t.passed), mostPassed)] {
		fmt.Fprintf(&b, "The newer checkpoint %q was skipped: %.300s.\n", p.ID, p.why)
	}
	for _, line := range []string{t.warning, titled("The objective of its loop: ", t.objective)} {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	held, artifacts := t.artifacts()
	if cell := strings.Join(Rehydrate(held, t.trust), "\n"); len(cell) <= maxCell {
		b.WriteString("First execute this cell in a Python session in the project's folder. pawl generated it from the names in the checkpoint; " +
			"it contains no code of the checkpoint:\n\n```python\n" + cell + "\n```\n\n")
	} else {
		b.WriteString("First load the artifacts of the checkpoint. The cell for that is too long for this text: it is in `prompt` of `pawl import gyoshu --dry-run --json`.\n")
	}
	if cell := strings.Join(driftCell(t.base.Python), "\n"); cell != "" && len(cell) <= maxCell {
		b.WriteString("This cell prints how the session differs from the checkpoint's:\n\n```python\n" + cell + "\n```\n\n")
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

// artifacts returns the status of each artifact, and the checkpoint without changed ones.
func (t continuation) artifacts() (held *Manifest, told string) {
	m := *t.base
	m.Artifacts = nil
	var b strings.Builder
	env, size := t.env, int64(0)
	for i, a := range t.base.Artifacts {
		if size += a.Size; t.maxBytes > 0 && size > t.maxBytes {
			env.Hash = nil
		}
		found, good := a.found(t.trust, env)
		if t.imported[a.Path] && loaderFor(a.Path, Local).executes {
			found, good = "it was imported, and loading it runs code; it is not loaded", false
		}
		if good {
			m.Artifacts = append(m.Artifacts, a)
		}
		if i < mostArtifacts || !good && i < 2*mostArtifacts {
			fmt.Fprintf(&b, "- %.300q: %.300s\n", a.Path, found)
		}
	}
	if n := len(t.base.Artifacts); n > 0 {
		return &m, fmt.Sprintf("Artifacts of the checkpoint: %d. pawl found them as follows:\n%s", n, b.String())
	}
	return &m, "The checkpoint has no artifacts.\n"
}

// found returns the status of an artifact, and whether it has no fault.
func (a Artifact) found(trust Trust, env format.Env) (what string, good bool) {
	if issue := a.issue(trust, env); issue != "" {
		return issue + "; it is not loaded", false
	}
	if env.Hash == nil {
		return "not checked", true
	}
	if _, _, err := env.Hash(a.Path); errors.Is(err, errNotChecked) {
		return "not checked", true
	}
	return "unchanged since it was saved", true
}

// setContinuation tells the first unfinished stage how to continue: from the checkpoint, or after the notebook's last cell.
func (r *research) setContinuation(out *format.Project, run string, res resumption, env format.Env) {
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
		text = fmt.Sprintf("%s. Gyoshu then continues after the last cell of %q, which is %q.", res.issue, notebookPath(r.title), last.ID)
	}
	steps := out.Phases[0].Steps
	if i := slices.IndexFunc(steps, func(s format.Step) bool { return s.Status != pawl.Done }); i >= 0 && text != "" {
		steps[i].Resume = strings.TrimSpace(steps[i].Resume + "\n" + text)
	}
}

// loopOf returns the state of the loop if it belongs to the run.
func (r *research) loopOf(run string) *Loop {
	if r.loop == nil || r.loop.Run != "" && r.loop.Run != run {
		return nil
	}
	return r.loop
}

// objective returns the next objective of the loop for an unfinished run, and its stage if it names one, as pawl does.
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

// loopStep returns a step for the loop's next objective, if all known stages are done and it names none of them.
func (r *research) loopStep(run string, known []format.Step) []format.Step {
	stage, goal := r.objective(run)
	if stage != "" || goal == "" || slices.ContainsFunc(known, func(s format.Step) bool { return s.Status != pawl.Done }) {
		return nil
	}
	next := "S01_"
	if len(known) > 0 {
		next = NextStage(known[len(known)-1].Name)
	}
	step := format.Step{ID: pawl.StepID(next + "next_objective"), Name: next + "next_objective", Goal: goal, Status: pawl.Pending,
		Where: loopPath(r.title), Why: "it is the next objective of the loop, and no stage for it has started"}
	addLimits(&step)
	(&stageState{id: step.Name}).require(&step, r.title)
	return []format.Step{step}
}

// preconditions returns how to continue a stage of a mirrored run, from the checkpoint of the last finished stage. It is
// empty if that was finished before the import: then the plan has the text.
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
	r := m.request(m.idOf(last), last, state.Steps[last].Ended)
	imported := map[string]bool{}
	for _, id := range finished {
		for path := range state.Steps[id].Outputs {
			imported[path] = m.imported(id)
		}
	}
	return continuation{base: r.manifest(), trust: r.Trust, warning: r.Trust.warning(), objective: m.objective(step), env: env, maxBytes: maxHashed, imported: imported}.text()
}
