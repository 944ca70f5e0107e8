package pawl

import "slices"

// Needs returns the steps that a step waits for: its needs and, if none of them is in its own phase, every step of the
// previous phase. So phases run strictly one after another. For many steps, call Order.
func (p *Plan) Needs(id StepID) []StepID {
	for i := range p.Phases {
		steps := p.Phases[i].Steps
		at := indexOf(steps, id)
		if at < 0 {
			continue
		}
		inside := func(need StepID) bool { return indexOf(steps, need) >= 0 }
		if i == 0 || slices.ContainsFunc(steps[at].Needs, inside) {
			return steps[at].Needs
		}
		return union(steps[at].Needs, idsOf(p.Phases[i-1].Steps))
	}
	return nil
}

// Order returns the Needs of every step. Steps that wait for a whole phase may share a slice.
func (p *Plan) Order() map[StepID][]StepID {
	order := make(map[StepID][]StepID, len(p.Steps()))
	var before []StepID
	for i := range p.Phases {
		inside := needsInside(p.Phases[i].Steps)
		for j := range p.Phases[i].Steps {
			s := &p.Phases[i].Steps[j]
			switch {
			case len(inside[j]) > 0:
				order[s.ID] = s.Needs
			case len(s.Needs) == 0:
				order[s.ID] = before
			default:
				order[s.ID] = union(s.Needs, before)
			}
		}
		before = idsOf(p.Phases[i].Steps)
	}
	return order
}

// Waves returns the steps of a phase, counted from 0, by level. The steps of a level can run concurrently, and each
// needs one of the previous level. Steps in dependency cycles, which package planfile rejects, are in no level.
func (p *Plan) Waves(phase int) [][]StepID {
	steps := p.Phases[phase].Steps
	levels, waves := levelsOf(steps)
	groups := make([][]StepID, waves)
	for i, level := range levels {
		if level > 0 {
			groups[level-1] = append(groups[level-1], steps[i].ID)
		}
	}
	return groups
}

// levelsOf returns the level of each step, counted from 1, and the number of levels. A step in a dependency cycle has level 0.
func levelsOf(steps []Step) (levels []int, count int) {
	missing := make([]int, len(steps)) // number of needs that have no level yet
	neededBy := make([][]int, len(steps))
	for i, needs := range needsInside(steps) {
		missing[i] = len(needs)
		for _, need := range needs {
			neededBy[need] = append(neededBy[need], i)
		}
	}
	queue := make([]int, 0, len(steps))
	levels = make([]int, len(steps))
	reached := func(i, level int) {
		levels[i], count = level, level // never less than that of the ones before
		queue = append(queue, i)
	}
	for i := range steps {
		if missing[i] == 0 {
			reached(i, 1)
		}
	}
	for at := 0; at < len(queue); at++ {
		for _, next := range neededBy[queue[at]] {
			if missing[next]--; missing[next] == 0 {
				reached(next, levels[queue[at]]+1)
			}
		}
	}
	return levels, count
}

// needsInside returns the needs of each step that are among the steps, as indexes.
func needsInside(steps []Step) [][]int {
	at, all := make(map[StepID]int, len(steps)), 0
	for i := range steps {
		at[steps[i].ID] = i
		all += len(steps[i].Needs)
	}
	inside, found := make([][]int, len(steps)), make([]int, 0, all)
	for i := range steps {
		from := len(found)
		for _, id := range steps[i].Needs {
			if need, known := at[id]; known {
				found = append(found, need)
			}
		}
		inside[i] = found[from:len(found):len(found)]
	}
	return inside
}

// union returns the ids of a, then those of b, without duplicates.
func union(a, b []StepID) []StepID {
	seen := make(map[StepID]bool, len(a)+len(b))
	var ids []StepID
	for _, list := range [][]StepID{a, b} {
		for _, id := range list {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// indexOf returns the index of the step with this id, or -1.
func indexOf(steps []Step, id StepID) int {
	for i := range steps {
		if steps[i].ID == id {
			return i
		}
	}
	return -1
}

func idsOf(steps []Step) []StepID {
	ids := make([]StepID, len(steps))
	for i := range steps {
		ids[i] = steps[i].ID
	}
	return ids
}
