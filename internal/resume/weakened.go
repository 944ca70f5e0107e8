package resume

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"pawl"
)

// Weakened returns what a changed plan removes or weakens of the gates, checks and limits of the plan before, one line each. It
// is pure. Whatever it does not understand to be at least as strict counts as weaker.
func Weakened(before, now *pawl.Plan) []string {
	w := weakened{}
	if rank := map[pawl.Mode]int{pawl.HandsOn: 2, pawl.Autopilot: -1}; rank[now.Mode] < rank[before.Mode] {
		w.add("mode: %s, was %s", now.Mode, before.Mode)
	}
	w.limit("budget time", float64(before.Budget.Time), float64(now.Budget.Time))
	w.limit("budget usd", before.Budget.USD, now.Budget.USD)
	w.limit("budget tokens", float64(before.Budget.Tokens), float64(now.Budget.Tokens))
	w.end(before, now)
	above, aboveNow := closure(before.Order()), closure(now.Order())
	for _, old := range before.Steps() {
		step := now.Step(old.ID)
		if step == nil {
			w.removed(old)
			continue
		}
		w.step(old, step)
		for _, gate := range before.Steps() {
			if gate.Gate != nil && above[old.ID][gate.ID] && !aboveNow[old.ID][gate.ID] && now.Step(gate.ID) != nil {
				w.add("step %s no longer waits for gate %s", old.ID, gate.ID)
			}
		}
	}
	return w.lines
}

type weakened struct{ lines []string }

func (w *weakened) add(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// limit compares two values of a limit. 0 means none.
func (w *weakened) limit(name string, before, now float64) {
	unlimited := func(v float64) float64 {
		if v == 0 {
			return math.Inf(1)
		}
		return v
	}
	if unlimited(now) > unlimited(before) {
		w.add("%s was raised or removed", name)
	}
}

// end compares what happens at the end of a run, and who hears of it.
func (w *weakened) end(before, now *pawl.Plan) {
	for _, old := range before.Handlers() {
		h := now.Step(old.ID)
		if h == nil || !now.HandlesEnd(old.ID) || h.Run != old.Run || h.Shell != old.Shell {
			w.add("%s was changed or removed", old.ID)
		}
	}
	for i := range before.Notify {
		old := &before.Notify[i]
		if !slices.ContainsFunc(now.Notify, func(n pawl.Notify) bool { return reflect.DeepEqual(n, *old) }) {
			w.add("notification %s was changed or removed", old.Name)
		}
	}
}

func (w *weakened) removed(step *pawl.Step) {
	switch {
	case step.Gate != nil:
		w.add("gate %s was removed", step.ID)
	case len(step.Accept)+len(step.Review) > 0:
		w.add("step %s was removed, with its checks", step.ID)
	}
}

func (w *weakened) step(before, now *pawl.Step) {
	if before.Gate != nil && !reflect.DeepEqual(before.Gate, now.Gate) {
		w.add("gate %s was changed", before.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(before.Accept)) {
		if now.Accept[name] != before.Accept[name] {
			w.add("check %s of step %s was changed or removed", name, before.ID)
		}
	}
	for _, path := range before.Outputs {
		if !slices.Contains(now.Outputs, path) {
			w.add("output %s of step %s was removed", path, before.ID)
		}
	}
	for _, reviewer := range slices.Sorted(maps.Keys(before.Review)) {
		if score, asked := now.Review[reviewer]; !asked || score < before.Review[reviewer] {
			w.add("review of step %s by %s was lowered or removed", before.ID, reviewer)
		}
	}
	w.limits(before, now)
}

// limits compares what bounds the attempts of a step and the effects of repeating it.
func (w *weakened) limits(before, now *pawl.Step) {
	of := " of step " + string(before.ID)
	w.limit("timeout"+of, float64(before.Timeout), float64(now.Timeout))
	w.limit("stall"+of, float64(before.Stall), float64(now.Stall))
	if now.Grace > before.Grace {
		w.add("grace%s was raised", of)
	}
	if now.Retry.Attempts > before.Retry.Attempts {
		w.add("retry%s was raised", of)
	}
	if !before.MayRepeat() && now.MayRepeat() {
		w.add("step %s is now idempotent", before.ID)
	}
	if before.Shell != now.Shell && len(before.Accept)+len(before.Undo) > 0 {
		w.add("shell%s was changed; it runs the checks and undo", of)
	}
	if before.Undo != now.Undo && before.Undo != "" {
		w.add("undo%s was changed or removed", of)
	}
	if before.Agent != nil && now.Agent != nil {
		w.limit("max_usd"+of, before.Agent.MaxUSD, now.Agent.MaxUSD)
		if !slices.Equal(before.Agent.Args, now.Agent.Args) {
			w.add("agent arguments%s were changed", of)
		}
	}
}

// closure returns everything that each step needs, directly or indirectly.
func closure(order map[pawl.StepID][]pawl.StepID) map[pawl.StepID]map[pawl.StepID]bool {
	all := map[pawl.StepID]map[pawl.StepID]bool{}
	var of func(id pawl.StepID) map[pawl.StepID]bool
	of = func(id pawl.StepID) map[pawl.StepID]bool {
		if needs, known := all[id]; known {
			return needs
		}
		needs := map[pawl.StepID]bool{}
		all[id] = needs
		for _, need := range order[id] {
			needs[need] = true
			maps.Copy(needs, of(need))
		}
		return needs
	}
	for id := range order {
		of(id)
	}
	return all
}
