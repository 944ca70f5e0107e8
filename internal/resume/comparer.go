package resume

import (
	"cmp"
	"maps"
	"slices"

	"pawl"
	"pawl/internal/runs"
)

// comparer compares recorded keys and outputs with the files.
type comparer struct {
	root   string
	run    *runs.Run
	plan   *pawl.Plan
	order  map[pawl.StepID][]pawl.StepID
	byPath map[string]OutputRecord
	items  pawl.Outputs // cache of ofItems
}

// OutputRecord is the newest recorded content of a path, and the step that recorded it.
type OutputRecord struct {
	Step    pawl.StepID
	Done    pawl.Seq
	Content pawl.Content
}

// NewestRecords returns the newest record of each path that a finished step declares as an output.
func NewestRecords(s *pawl.State) map[string]OutputRecord {
	newest := map[string]OutputRecord{}
	for id, st := range s.Steps {
		for path, c := range st.Outputs {
			if st.Done > newest[path].Done {
				newest[path] = OutputRecord{Step: id, Done: st.Done, Content: c}
			}
		}
	}
	return newest
}

// rerunReasons returns why finished work with this key would rerun, nothing if it would not.
func (l *comparer) rerunReasons(w runs.Work, was pawl.Key, st *pawl.StepState) []string {
	w.Vars = runs.PathVars(l.run.State.Origin(), w)
	var needs map[pawl.StepID]string
	if w.Index < 0 {
		needs = l.needDigests(w.Step.ID, was)
	}
	now, err := runs.CurrentKey(l.root, l.plan, w, needs)
	if err != nil {
		return []string{"inputs: " + err.Error()}
	}
	for path := range now.Inputs {
		if expected, ours := l.expectedContent(path, was, st, w.Step.ID); ours {
			now.Inputs[path] = expected
		}
	}
	return l.named(w, was, was.Changes(runs.CompactLike(was, now)))
}

// needDigests returns the output digests of the step's needs. A need that is not finished counts as unchanged; it is
// compared when it finishes.
func (l *comparer) needDigests(id pawl.StepID, was pawl.Key) map[pawl.StepID]string {
	needs := runs.OutputDigests(l.order, l.order[id], l.run.State)
	for need := range needs {
		if gave, known := was.Needs[need]; known && !l.run.State.Steps[need].Finished() {
			needs[need] = gave
		}
	}
	return needs
}

// expectedContent returns the content that this run itself wrote to an input's path: what a needed step recorded, or,
// if a later step wrote there, the content when the work started.
func (l *comparer) expectedContent(path string, was pawl.Key, st *pawl.StepState, id pawl.StepID) (pawl.Content, bool) {
	newest, ours := l.byPath[path]
	_, named := was.Inputs[path]
	switch {
	case !ours:
		return pawl.Content{}, false
	case !named || newest.Step != id && l.needs(id, newest.Step):
		return newest.Content, true
	case newest.Step == id:
		return was.Inputs[path], true
	}
	return was.Inputs[path], st.Done == 0 || newest.Done > st.Done
}

// needs reports whether a step needs another, directly or indirectly.
func (l *comparer) needs(id, other pawl.StepID) bool {
	seen := map[pawl.StepID]bool{}
	var reach func(pawl.StepID) bool
	reach = func(id pawl.StepID) bool {
		if seen[id] {
			return false
		}
		seen[id] = true
		return slices.ContainsFunc(l.order[id], func(n pawl.StepID) bool { return n == other || reach(n) })
	}
	return reach(id)
}

// editedOutputs returns the outputs of a finished step or its items that differ from what this run wrote.
func (l *comparer) editedOutputs(st *pawl.StepState) ([]string, error) {
	recorded := maps.Clone(st.Outputs)
	for path := range recorded {
		recorded[path] = l.byPath[path].Content
	}
	if st.Items != nil {
		items, err := l.ofItems()
		if err != nil {
			return nil, err
		}
		if recorded, err = runs.ItemOutputs(l.run, st.Items); err != nil {
			return nil, err
		}
		for path := range recorded {
			recorded[path] = items[path]
		}
	}
	now := runs.CurrentOutputs(l.root, recorded)
	maps.DeleteFunc(now, func(path string, c pawl.Content) bool { return c == recorded[path] })
	return slices.Sorted(maps.Keys(now)), nil
}

// ofItems returns the newest record of each path that an item of a finished step wrote, or a step since.
func (l *comparer) ofItems() (pawl.Outputs, error) {
	if l.items != nil {
		return l.items, nil
	}
	l.items = pawl.Outputs{}
	byDone := slices.SortedFunc(maps.Values(l.run.State.Steps), func(a, b *pawl.StepState) int { return cmp.Compare(a.Done, b.Done) })
	for _, st := range byDone {
		if st.Items == nil || st.Status != pawl.Done {
			continue
		}
		of, err := runs.ItemOutputs(l.run, st.Items)
		if err != nil {
			return nil, err
		}
		maps.Copy(l.items, of)
		for path := range of {
			if newest, ours := l.byPath[path]; ours && newest.Done > st.Done {
				l.items[path] = newest.Content
			}
		}
	}
	return l.items, nil
}

// otherKind reports whether a step with foreach had none when it ran, or had one and has none any more.
func (l *comparer) otherKind(step *pawl.Step, st *pawl.StepState) bool {
	if step.Foreach == nil {
		return st.Items != nil
	}
	old := l.run.Plan.Step(step.ID)
	return st.Items == nil && st.Attempts > 0 && old != nil && old.Foreach == nil
}
