package interop

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/strictyaml"
)

// CheckCriterion reports whether a step meets one of its criteria, and why. It fails if there is no such step or criterion. by is the
// attempt that asks; it may be nil. If it is an attempt at the step, names are not checked, because the work on the step may have
// changed the criteria in the files; its items count, and the run learns what the files say if they meet the criterion or ask a person:
// notes, items, and the question that the work ended with.
func (f *Folder) CheckCriterion(by *runs.StepClient, step pawl.StepID, criterion string) (bool, string, error) {
	if by == nil || by.Attempt.Step != step {
		if err := f.checkNames(step, criterion); err != nil {
			return false, "", err
		}
		met, why := f.format.CheckCriterion(f.files, f.env, step, criterion)
		return met, why, nil
	}
	env := f.attemptEnv(by)
	met, why := f.format.CheckCriterion(f.files, env, step, criterion)
	if met {
		return true, why, f.record(by, env)
	}
	if f.format.Asks != nil {
		if question := f.format.Asks(f.files, env, step); question != nil {
			return false, "a person is asked: " + question.Ask, errors.Join(f.record(by, env), by.MarkWaiting(*question))
		}
	}
	return false, why, nil
}

// checkNames returns an error if the files have no such step, or if the step has no such criterion; "" means all criteria.
func (f *Folder) checkNames(step pawl.StepID, criterion string) error {
	known := f.format.Criteria(f.files, f.env, step)
	if known == nil {
		reading, _ := f.Read("")
		var ids []string
		for _, phase := range reading.Phases {
			for _, s := range phase.Steps {
				ids = append(ids, string(s.ID))
			}
		}
		if slices.Contains(ids, string(step)) {
			return runs.UsageError("", "step %s has no criteria", step)
		}
		return runs.UsageError("", "%s", strictyaml.UnknownStep(string(step), ids))
	}
	wanted, _ := format.CutTime(criterion)
	quoted := make([]string, len(known))
	for i, name := range known {
		name = format.Plain(name)
		if wanted == "" || name == wanted {
			return nil
		}
		quoted[i] = strconv.Quote(name)
	}
	return runs.UsageError("", "step %s has no criterion %q; it has: %s", step, criterion, strings.Join(quoted, ", "))
}

// attemptEnv returns the Env for the step of an attempt.
func (f *Folder) attemptEnv(by *runs.StepClient) format.Env {
	env := f.env
	env.Asked = env.Now
	if env.Run != nil {
		if s, _ := env.Run(string(by.Run)); s != nil && s.Steps[by.Attempt.Step] != nil {
			env.Items = namedItems(s.Steps[by.Attempt.Step])
			env.Asked = askedSince(s, by.Attempt.Step)
			env.Redone = f.doneAt(string(by.Run), by.Attempt.Step)
			env.IDs = []string{s.Import.ID, string(by.Run)}
			env.Made = func() ([]string, string) { return f.made(by.Run, by.Attempt.Step) }
		}
	}
	for _, item := range by.Items() {
		env.Items = append(env.Items, format.Item{ID: string(item.Item), Status: item.Status, Commit: item.Commit})
	}
	return env
}

// record reports to the run what the files of a step record, each thing once.
func (f *Folder) record(by *runs.StepClient, env format.Env) error {
	if f.format.Records == nil {
		return nil
	}
	known := by.Memories()
	for _, line := range f.format.Records(f.files, env, by.Attempt.Step) {
		if line.Learn != nil && (line.Learn.Validate() != nil || slices.Contains(known, *line.Learn)) {
			continue
		}
		if err := by.Report(line); err != nil && pawl.KindOf(err) != pawl.KindUsage { // a text that is too long is left out
			return err
		}
	}
	return nil
}

// askedSince returns the time from which a question in the files is new to a run: the last answer to the step, and the start of
// its attempt. If attempts before it crashed, they may have left a question that nobody has read.
func askedSince(s *pawl.State, id pawl.StepID) time.Time {
	since := s.Created
	note := func(at time.Time) {
		if at.After(since) {
			since = at
		}
	}
	for _, g := range s.Gates {
		if g.Step == id {
			note(g.Closed)
		}
	}
	for _, b := range s.Blockers {
		if b.Step == id || b.Step == "" {
			note(b.Cleared)
		}
	}
	if t := s.Steps[id].Retries; t.Live != nil && t.LostInARow == 0 {
		note(t.Live.Started)
	}
	return since
}

// lastDone returns when a step that runs again was last done; zero if it was not.
func lastDone(ctx context.Context, p *project.Project, run string, id pawl.StepID) time.Time {
	r, err := runs.Load(ctx, p, pawl.RunID(run))
	if err != nil {
		return time.Time{}
	}
	defer r.Log.Close()
	st := r.State.Steps[id]
	if st == nil || st.Done == 0 || st.Finished() {
		return time.Time{}
	}
	for event, err := range r.Log.Events(st.Done - 1) {
		if err == nil && event.Seq == st.Done {
			return event.Time
		}
		break
	}
	return time.Time{}
}
