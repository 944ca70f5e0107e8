package engine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/evidence"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// An Evaluator chooses among the verdicts that the decision table leaves open.
type Evaluator interface {
	// Evaluate returns one of the allowed verdicts, or human_review. It does not return an error: Evaluation.Doubt says
	// what went wrong, and the verdict is then human_review.
	Evaluate(ctx context.Context, e evidence.Evidence) Evaluation
}

// Evaluation is the answer of an Evaluator.
type Evaluation struct {
	Word    pawl.VerdictWord
	Reasons []string
	By      string
	Doubt   string // why the answer is ignored; "" if it is used
	Cost    pawl.Usage
}

// evaluate asks the evaluator if the rules leave more than one verdict open. It returns nil if no evaluator was asked.
func (e *Engine) evaluate(ctx context.Context, w runs.Work, ref pawl.AttemptRef, ev resume.Evidence) *pawl.Verdict {
	v := ev.Judge(w.Step)
	if len(v.Open) == 0 || e.cfg.Evaluator == nil {
		return nil
	}
	told := e.evidenceFor(ctx, w, ref, ev)
	told.Allowed = v.Open
	a := e.cfg.Evaluator.Evaluate(ctx, told)
	v.Word, v.By, v.Doubt, v.Cost, v.Judged = a.Word, a.By, runs.ClipText(a.Doubt), a.Cost, time.Now().UTC()
	v.Reasons = append(v.Reasons, a.Reasons...)
	return &v
}

// evidenceFor gathers what the evaluator gets to see.
func (e *Engine) evidenceFor(ctx context.Context, w runs.Work, ref pawl.AttemptRef, ev resume.Evidence) evidence.Evidence {
	c := ev.Case(w.Step)
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	told := evidence.Evidence{
		Time: ev.Now, Goal: e.plan.Goal, Plan: e.plan.Name, Run: e.run,
		Step: evidence.Step{
			ID: w.Step.ID, Item: ref.Item, Name: w.Step.Name, Goal: w.Step.Goal, Action: actionOf(w.Step),
			Outputs: w.Paths(w.Step.Outputs), Accept: maps.Clone(w.Step.Accept),
		},
		Outcome: evidence.Outcome{
			Attempt: string(c.Attempt), Result: string(c.Result), Outputs: string(c.Outputs), Checks: ev.Checks,
			Printed: tailOf(filepath.Join(dir, pawl.OutFile)), Attempts: ref.Attempt,
		},
	}
	e.callEngine(ctx, func() { e.addState(&told, ref) })
	for _, path := range told.Step.Outputs {
		if len(resume.NonEmptyOutputs(e.cfg.Project.Root, []string{path})) == 0 {
			told.Outcome.Missing = append(told.Outcome.Missing, path)
		}
	}
	told.Changed = e.changedSince(ctx)
	told.Files = evidence.CountFiles(ctx, e.cfg.Project.Root, told.Files.Since)
	return told
}

// actionOf describes what a step does.
func actionOf(step *pawl.Step) string {
	if step.Agent != nil {
		return fmt.Sprintf("prompt for agent %s: %s", step.Agent.Use, step.Agent.Task())
	}
	return step.Run
}

// addState adds evidence from the state. Only the engine's goroutine may call it.
func (e *Engine) addState(told *evidence.Evidence, ref pawl.AttemptRef) {
	for _, step := range e.plan.Steps() {
		told.Steps++
		if e.state.Steps[step.ID].Finished() {
			told.StepsDone++
		}
	}
	st := e.state.Steps[told.Step.ID]
	if st == nil {
		return
	}
	if st.Progress != nil {
		told.LastAction = st.Progress.Text
	}
	for _, live := range st.Live() {
		if live.Token == ref.Token {
			told.Files.Since = live.Started
		}
	}
	for _, id := range slices.Sorted(maps.Keys(st.Named)) {
		if item := st.Named[id]; item.Status == pawl.ItemIsDone {
			told.Done = append(told.Done, evidence.Task{ID: id, Title: item.Title})
		}
	}
	told.DoneTotal = len(told.Done)
}

// tailOf returns the last 4 KiB of a file, "" if it cannot be read.
func tailOf(path string) string {
	const most = 4 << 10
	f, err := disk.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-most)
	data, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(data), "?")
}

// changedSince lists the files that changed since the run's newest snapshot. It is best effort: errors give an empty
// result.
func (e *Engine) changedSince(ctx context.Context) evidence.Changes {
	if e.saver.Store == nil {
		return evidence.Changes{}
	}
	records, err := e.saver.Store.Records()
	if err != nil {
		return evidence.Changes{}
	}
	at := -1
	for i, r := range records {
		if r.Run == e.run {
			at = i
		}
	}
	if at < 0 {
		return evidence.Changes{}
	}
	compared, err := e.saver.Store.Compare(ctx, records[at], nil, nil)
	if err != nil {
		return evidence.Changes{}
	}
	var files []evidence.Change
	for _, c := range compared.Changes {
		if c.New != nil && c.New.Kind == snapshot.Folder || c.Old != nil && c.Old.Kind == snapshot.Folder {
			continue
		}
		files = append(files, evidence.Change{Path: c.Path, How: map[string]string{"added": "created", "removed": "deleted"}[c.What()]})
		if last := &files[len(files)-1]; last.How == "" {
			last.How = "modified"
		}
	}
	if err := compared.Close(); err != nil {
		return evidence.Changes{}
	}
	return evidence.NewChanges(files)
}
