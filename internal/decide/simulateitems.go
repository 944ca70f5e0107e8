package decide

import "pawl"

// itemsCourse is what a resume does with the items of a foreach step.
type itemsCourse struct {
	do     Do
	why    string
	byItem map[Do][]int
	each   []Item
}

// decideItems decides about a foreach step as a whole: about each of its items if they are known.
func (m *simulation) decideItems(d *decider, step *pawl.Step) {
	m.items[step.ID] = true
	st := m.state.Steps[step.ID]
	c := m.course(step.ID)
	if st == nil || st.Items == nil {
		why := m.decisionOn(d, step).why
		if c.all != nil { // it was begun and is reopened: all items run
			c.do, c.why, c.all, c.again = Run, why, nil, true
		}
		m.note(step.ID, Run, why)
		return
	}
	switch {
	case c.all != nil:
		c.do, c.why = c.all.do, c.all.why
	case c.do == "":
		c.all = m.ofItems(d, step, st)
		c.do, c.why = c.all.do, c.all.why
	}
}

// ofItems decides about a foreach step by its items.
func (m *simulation) ofItems(d *decider, step *pawl.Step, st *pawl.StepState) *itemsCourse {
	c, why := &itemsCourse{byItem: map[Do][]int{}}, map[Do]string{}
	for index := range st.Items.Total {
		item := d.ofItem(step, st, index)
		if t := st.Items.Retries[index]; t != nil && t.Live != nil {
			if fixed, known := m.fixed[t.Live.AttemptRef]; known {
				item = fixed
			}
		}
		c.byItem[item.do] = append(c.byItem[item.do], index)
		if st.Items.Done.At(index) == 0 {
			c.each = append(c.each, Item{Index: index, Do: item.do, Why: item.why})
		}
		if why[item.do] == "" {
			why[item.do] = item.why
		}
	}
	c.do = Run
	for _, do := range []Do{Run, Attach, Ask, Wait, Fail} {
		if n := len(c.byItem[do]); n > 0 {
			c.do, c.why = do, itemsText(st.Items, len(c.byItem[Run]))+"; "+why[do]
			break
		}
	}
	return c
}

// halt makes the items wait that would run.
func (c *itemsCourse) halt(why string) {
	c.byItem[Wait] = append(c.byItem[Wait], c.byItem[Run]...)
	delete(c.byItem, Run)
	for i := range c.each {
		if item := &c.each[i]; item.Do == Run {
			item.Do, item.Why = Wait, why
		}
	}
}

// waits reports whether an item of a foreach step that was begun waits for a person.
func (c *course) waits() bool {
	return c.all != nil && len(c.all.byItem[Ask])+len(c.all.byItem[Wait]) > 0
}

// endForeach ends the foreach steps whose items are decided: those of which items have failed, or the others. The former end last, since
// their failure keeps other steps from starting. It reports whether there were any.
func (m *simulation) endForeach(failed bool) (moved bool) {
	for _, step := range m.plan.InOrder {
		if m.items[step.ID] && m.endItems(step, failed) {
			moved = true
		}
	}
	return moved
}

// endItems ends a foreach step, unless its items wait, or failed does not say whether some have failed. It reports whether it did.
func (m *simulation) endItems(step *pawl.Step, failed bool) (moved bool) {
	c, st := m.course(step.ID), m.state.Steps[step.ID]
	switch {
	case st.Finished(), st.FailsRun(), c.waits():
		return false
	case failed != (st != nil && st.Items != nil && len(st.Items.Failed) > 0):
		return false
	case failed:
		m.fold(pawl.StepFailed{Step: step.ID, Why: failedItems(st.Items), Continued: step.ContinueOnError})
	default:
		m.complete(step, pawl.AttemptRef{Step: step.ID}, m.key(step, st))
	}
	delete(m.items, step.ID)
	return true
}
