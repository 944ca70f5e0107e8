package resume

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/oneline"
	"pawl/internal/runs"
)

// named returns the changes of a key, with the parameters and variables by name if only their values made the definition another one.
func (l *comparer) named(w runs.Work, was pawl.Key, changes []string) []string {
	if i := slices.Index(changes, pawl.DefinitionChanged); i >= 0 {
		changes[i] = l.definitionChange(w.Step, was.Definition, w.Value)
	}
	return changes
}

// resetReason says why a failed step starts again. old is the step as it was, nil if it is new.
func (l *comparer) resetReason(old, step *pawl.Step) string {
	switch {
	case old == nil:
		return pawl.DefinitionChanged
	case pawl.DefinitionOf(l.run.Plan, old, "") != pawl.DefinitionOf(l.plan, step, ""):
		return l.definitionChange(step, pawl.DefinitionOf(l.run.Plan, old, ""), "")
	case old.If.Text() != step.If.Text():
		return "its condition changed"
	}
	return "its acceptance checks changed"
}

// definitionChange says why the definition of a step is not the recorded one.
func (l *comparer) definitionChange(step *pawl.Step, recorded, item string) string {
	old := l.run.Plan.Step(step.ID)
	if old == nil || recorded != pawl.DefinitionOf(l.run.Plan, old, item) || writtenDefinition(l.run.Plan, old) != writtenDefinition(l.plan, step) {
		return pawl.DefinitionChanged
	}
	if params := differing(l.run.Plan.Values, l.plan.Values); len(params) > 0 {
		return parametersChanged(params, l.run.Plan.Values, l.plan.Values)
	}
	if names := differing(l.run.Plan.EnvOf(old), l.plan.EnvOf(step)); len(names) > 0 {
		return fmt.Sprintf("%s %s of its environment changed", plural(len(names), "variable"), strings.Join(names, ", "))
	}
	return pawl.DefinitionChanged
}

// writtenDefinition returns the definition of a step without the values that it gets in its environment.
func writtenDefinition(plan *pawl.Plan, step *pawl.Step) string {
	bare := *step
	bare.Env = nil
	return pawl.DefinitionOf(&pawl.Plan{Dotenv: plan.Dotenv}, &bare, "")
}

// differing returns the names whose values differ, sorted.
func differing[V comparable](was, now map[string]V) []string {
	names := maps.Clone(was)
	if names == nil {
		names = map[string]V{}
	}
	maps.Copy(names, now)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		before, had := was[name]
		after, has := now[name]
		return had == has && before == after
	})
}

// maxValue is how much of a parameter's value a reason quotes, in bytes.
const maxValue = 40

// parametersChanged names parameters, and the values of a single one. Values of secrets are not among them.
func parametersChanged(names []string, was, now map[string]string) string {
	text := plural(len(names), "parameter") + " " + strings.Join(names, ", ") + " changed"
	before, had := was[names[0]]
	after, has := now[names[0]]
	if len(names) == 1 && had && has {
		text += fmt.Sprintf(": %s → %s", strconv.Quote(oneline.Clip(before, maxValue)), strconv.Quote(oneline.Clip(after, maxValue)))
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
