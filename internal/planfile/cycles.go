package planfile

import "pawl"

// cyclesIn returns dependency cycles among the steps of a phase, each as the ids along it. The cycles have no step in common, so there
// may be more than are returned; the result is empty only if there is none.
func cyclesIn(p *pawl.Plan, phase int) (found [][]pawl.StepID) {
	steps := p.Phases[phase].Steps
	waiting := map[pawl.StepID]bool{} // in a cycle, or dependent on one
	for i := range steps {
		waiting[steps[i].ID] = true
	}
	for _, wave := range p.Waves(phase) {
		for _, id := range wave {
			delete(waiting, id)
		}
	}
	next := map[pawl.StepID]pawl.StepID{} // every waiting step has a waiting need, so following these ends in a cycle
	for i := range steps {
		for _, need := range steps[i].Needs {
			if waiting[need] {
				next[steps[i].ID] = need
				break
			}
		}
	}
	walk := map[pawl.StepID]int{} // step → number of the walk that reached it
	for i := range steps {
		id := steps[i].ID
		for waiting[id] && walk[id] == 0 {
			walk[id] = i + 1
			id = next[id]
		}
		if walk[id] == i+1 {
			found = append(found, alongCycle(next, id))
		}
	}
	return found
}

// alongCycle follows next from id until it returns to id.
func alongCycle(next map[pawl.StepID]pawl.StepID, id pawl.StepID) []pawl.StepID {
	ids := []pawl.StepID{id}
	for n := next[id]; n != id; n = next[n] {
		ids = append(ids, n)
	}
	return ids
}
