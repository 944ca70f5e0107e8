package format

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"pawl"
)

// PlanOf returns the plan that continues a project: each step is an agent step whose prompt has what the files say of it. Steps
// of one wave may run concurrently.
func PlanOf(r Project, agent pawl.AgentName) *pawl.Plan {
	plan := &pawl.Plan{Version: 1, Name: PlanName(r), Goal: Plain(r.Goal), Mode: r.Mode, Budget: r.Budget}
	if plan.Mode == "" {
		plan.Mode = pawl.Guided
	}
	dense := r.Dense()
	for i, phase := range r.Phases {
		p := pawl.Phase{Name: cmp.Or(Plain(phase.Name), fmt.Sprintf("phase %d", i+1))}
		waves := map[int][]pawl.StepID{}
		for _, s := range phase.Steps {
			waves[s.Wave] = append(waves[s.Wave], s.ID)
		}
		for _, s := range phase.Steps {
			step := stepOf(s, waves, agent, dense)
			step.Dir = r.Dir
			if n := len(p.Steps); n > 0 && len(step.Needs) == 1 && step.Needs[0] == p.Steps[n-1].ID {
				step.Needs = nil // the default
			}
			p.Steps = append(p.Steps, step)
		}
		if len(p.Steps) > 0 {
			plan.Phases = append(plan.Phases, p)
		}
	}
	return plan
}

// PlanName returns the name of the plan.
func PlanName(r Project) string { return cmp.Or(Plain(r.Name), r.System) }

// denseFrom is the number of steps above which the plan is shortened, since its file has a size limit: lists are put on one line,
// facts are left out, and a step has a single check.
const denseFrom = 2000

// Dense reports whether the plan is shortened.
func (r Project) Dense() bool { return r.Count() > denseFrom }

func stepOf(s Step, waves map[int][]pawl.StepID, agent pawl.AgentName, dense bool) pawl.Step {
	step := pawl.Step{ID: s.ID, Name: Plain(s.Name), Needs: s.Needs, Outputs: slices.Concat(s.Missing, s.Outputs), Agent: &pawl.AgentAction{Use: agent, Role: Plain(s.Role), Prompt: Plain(promptOf(s, dense))}}
	if s.Gate != nil {
		step.Agent, step.Outputs, step.Gate = nil, nil, s.Gate
	}
	for by, least := range s.Minimum {
		if by = Plain(by); by != "" && !s.finished() {
			if step.Review == nil {
				step.Review = map[string]int{}
			}
			step.Review[by] = least
		}
	}
	if step.Needs == nil && s.Wave > 0 {
		step.Needs = append([]pawl.StepID{}, waves[before(waves, s.Wave)]...)
	}
	return step
}

// AllCriteria is the name of the single check for all criteria of a step.
const AllCriteria = "criteria"

// Checks returns the check commands of a step: one for each criterion or, if one is true, a single one. Each runs pawl verify, which
// calls CheckCriterion. A finished step has them too, for a person who has it done again. place is the folder of the system's files, relative to the step's; empty: the project.
func (s Step) Checks(system, place string, one bool) map[string]string {
	if s.Status == pawl.Skipped || len(s.Criteria) == 0 {
		return nil
	}
	command := fmt.Sprintf("pawl verify --as %s --step %s", system, s.ID)
	if place != "" {
		place = " -- " + quoted(place)
	}
	if one {
		return map[string]string{AllCriteria: command + place}
	}
	checks := map[string]string{}
	for criterion := range s.Criteria {
		if name := Plain(criterion); strings.TrimSpace(name) != "" {
			checks[name] = command + " --criterion=" + quoted(name) + place
		}
	}
	return checks
}

// Asks reports whether a check is one of Checks: it only proves what the system's own files say of the step.
func Asks(system, command string) bool {
	return strings.HasPrefix(command, "pawl verify --as "+system+" --step ")
}

// quoted quotes a text as one word of a shell command.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func (s Step) finished() bool { return s.Status == pawl.Done || s.Status == pawl.Skipped }

// before returns the previous wave; 0 if there is none.
func before(waves map[int][]pawl.StepID, wave int) int {
	last := 0
	for _, w := range slices.Sorted(maps.Keys(waves)) {
		if w > 0 && w < wave {
			last = w
		}
	}
	return last
}

// Plain removes the characters that a plan must not contain.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\ufeff' || r == '\ufffe' || r == '\uffff' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// promptOf returns the prompt of a step, from what the files say of it; of a finished step only the goal.
func promptOf(s Step, dense bool) string {
	var b strings.Builder
	list := list
	if dense {
		s.Facts, list = nil, line
	}
	fmt.Fprintf(&b, "%s\n", cmp.Or(s.Goal, s.Name, string(s.ID)))
	if s.finished() {
		return b.String()
	}
	var open, done []string
	for _, item := range s.Items {
		name := strings.TrimSpace(item.ID + " " + item.Name)
		if item.Status == pawl.ItemIsDone {
			done = append(done, name)
		} else {
			open = append(open, name)
		}
	}
	list(&b, "Other facts in its files", factsOf(s.Facts))
	list(&b, "Already done, do not repeat", done)
	list(&b, "Remaining", open)
	list(&b, "Criteria not met yet", unmet(s.Criteria))
	if p := s.Partial; p != nil { // near the end, which a brief keeps of a long prompt
		list(&b, "Files created", p.Created)
		list(&b, "Files modified", p.Modified)
		fmt.Fprintf(&b, "\nIt was started, but nothing proves that it is finished. Last action: %s\n", cmp.Or(p.Last, "unknown"))
	}
	if s.Resume != "" {
		fmt.Fprintf(&b, "\nHow to continue: %s\n", s.Resume)
	}
	return b.String()
}

func unmet(criteria map[string]bool) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(criteria)) {
		if !criteria[name] {
			names = append(names, name)
		}
	}
	return names
}

// Limits of the facts in a prompt.
const (
	manyFacts = 30
	longFact  = 300 // bytes
)

func factsOf(facts map[string]string) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		line := name + ": " + strings.Join(strings.Fields(facts[name]), " ")
		if len(line) > longFact {
			line = strings.ToValidUTF8(line[:longFact], "") + "…"
		}
		if lines = append(lines, line); len(lines) == manyFacts {
			break
		}
	}
	return lines
}

// line writes a list on one line.
func line(b *strings.Builder, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "%s: %s\n", title, strings.Join(lines, "; "))
	}
}

func list(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "- %s\n", line)
	}
}
