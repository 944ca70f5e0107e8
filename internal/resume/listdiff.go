package resume

import (
	"slices"

	"pawl"
	"pawl/internal/runs"
)

// foreach compares a journaled item list: what all items share, each item's inputs, and the list.
func (c *PlanDiff) foreach(look *comparer, step *pawl.Step, st *pawl.StepState) error {
	if why := look.rerunReasons(runs.Work{Step: step, Index: -1}, st.Key, st); len(why) > 0 {
		c.startOver(step, st, why...)
		return nil
	}
	values, err := runs.ListedValues(look.run.Log, st.Items)
	if err != nil {
		return err
	}
	if err := c.items(look, step, st, values); err != nil {
		return err
	}
	c.list(look, step, st, values)
	if st.Status == pawl.Done {
		return c.finished(look, step, st)
	}
	return nil
}

// relisted compares the list of a foreach step that failed. If it changed, the step is reopened.
func (c *PlanDiff) relisted(look *comparer, step *pawl.Step, st *pawl.StepState) error {
	values, err := runs.ListedValues(look.run.Log, st.Items)
	if err == nil && c.list(look, step, st, values) {
		c.Relisted = append(c.Relisted, step.ID)
	}
	return err
}

// list compares the journaled list of a step with the current one, and reports whether they differ in what is left to do. A
// list that cannot be read counts as unchanged.
func (c *PlanDiff) list(look *comparer, step *pawl.Step, st *pawl.StepState, values []string) (changed bool) {
	now, err := runs.ListValues(look.root, step)
	if err != nil {
		return false
	}
	listed := make(map[string]bool, len(now))
	for _, v := range now {
		listed[v] = true
	}
	dropped, returned := ListedItems{Step: step.ID}, ListedItems{Step: step.ID}
	for index, v := range values {
		skip, skipped := st.Items.Skipped[index]
		switch {
		case skipped && skip.Dropped && listed[v]:
			returned.Values, returned.Index = append(returned.Values, v), append(returned.Index, index)
		case !skipped && !listed[v] && st.Items.Done.At(index) == 0:
			dropped.Values, dropped.Index = append(dropped.Values, v), append(dropped.Index, index)
		}
	}
	if len(dropped.Index) > 0 {
		c.Dropped = append(c.Dropped, dropped)
	}
	if len(returned.Index) > 0 {
		c.Returned = append(c.Returned, returned)
	}
	added := missingFrom(values, now)
	if len(added) > 0 && newAxes(step, values) {
		c.NewAxes = append(c.NewAxes, step.ID)
	}
	if len(added) > 0 {
		c.NewItems[step.ID], c.ListLength[step.ID] = added, len(values)
	}
	return len(added)+len(dropped.Index)+len(returned.Index) > 0
}

// newAxes reports whether no combination before has the axes that the matrix of a step has now.
func newAxes(step *pawl.Step, before []string) bool {
	if step.Foreach == nil || len(step.Foreach.Matrix) == 0 || len(before) == 0 {
		return false
	}
	return !slices.ContainsFunc(before, func(value string) bool { return hasAxes(step.Foreach, pawl.ParseCombination(value)) })
}

// hasAxes reports whether a combination has all axes of the matrix, and otherwise only names that Include has.
func hasAxes(f *pawl.Foreach, c pawl.Combination) bool {
	if len(c) < len(f.Matrix) {
		return false
	}
	for i, axis := range f.Matrix {
		if c[i].Axis != axis.Name {
			return false
		}
	}
	for _, s := range c[len(f.Matrix):] {
		if !slices.ContainsFunc(f.Include, func(entry pawl.Combination) bool { _, has := entry.Get(s.Axis); return has }) {
			return false
		}
	}
	return true
}

// MaxReruns is how many items can be reopened one by one. If more change, the whole step reruns.
const MaxReruns = 2000

// items compares finished items whose own inputs may have changed.
func (c *PlanDiff) items(look *comparer, step *pawl.Step, st *pawl.StepState, values []string) error {
	if !slices.ContainsFunc(step.Inputs, pawl.NamesItem) {
		return nil
	}
	listed := map[string]bool{}
	now, listErr := runs.ListValues(look.root, step)
	for _, v := range now {
		listed[v] = true
	}
	again := Rerun{Step: step.ID}
	for index := range st.Items.Total {
		if st.Items.Done.At(index) == 0 || listErr == nil && !listed[values[index]] { // what was removed from the list cannot rerun
			continue
		}
		done, err := runs.ReadItemDone(look.run.Log, st.Items, index)
		if err != nil {
			return err
		}
		if why := look.rerunReasons(runs.Work{Step: step, Index: index, Value: values[index]}, done.Key, st); len(why) > 0 {
			again.Items = append(again.Items, done.Item)
			again.Index = append(again.Index, index)
			again.Why = append(again.Why, why...)
		}
	}
	if len(again.Items) > MaxReruns {
		again.Items, again.Index = nil, nil
	}
	if len(again.Why) > 0 {
		slices.Sort(again.Why)
		again.Why = slices.Compact(again.Why)
		c.Rerun = append(c.Rerun, again)
	}
	return nil
}

// missingFrom returns the values of now that are not in known, in order.
func missingFrom(known, now []string) []string {
	have := make(map[string]bool, len(known))
	for _, v := range known {
		have[v] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(v string) bool { return have[v] })
}
