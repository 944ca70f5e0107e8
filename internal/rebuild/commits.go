package rebuild

import (
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/lazyregexp"
)

// Commit is a git commit with the first line of its message.
type Commit struct {
	Hash    string
	Subject string
	Time    time.Time
}

var (
	// conventional matches "type(scope)!: what" with the types of Conventional Commits.
	conventional = lazyregexp.New(`^(feat|fix|docs|test|refactor|perf|chore|build|ci|style|revert)\(([^()]+)\)!?: `)
	// reverted matches the message of git revert.
	reverted = lazyregexp.New(`^Revert "(.*)"$`)
	// scopeNumber matches a step by number: 01, or phase and step: 02-01.
	scopeNumber = lazyregexp.New(`^(\d{1,3})(?:-(\d{1,3}))?$`)
	// scopeThread matches an item by numbers: 02.1 is the first item of the second step.
	scopeThread = lazyregexp.New(`^(\d{1,3})\.(\d{1,3})$`)
	digits      = lazyregexp.New(`\d+`)
)

// reverts reports whether the commit reverts another.
func (c Commit) reverts() bool {
	return reverted.MatchString(c.Subject) || strings.HasPrefix(strings.ToLower(c.Subject), "revert(")
}

// scope returns the scope of a conventional commit, "" for none.
func (c Commit) scope() string {
	subject := c.Subject
	if m := reverted.FindStringSubmatch(subject); m != nil {
		subject = m[1]
	}
	if m := conventional.FindStringSubmatch(strings.ToLower(subject)); m != nil {
		return strings.TrimSpace(m[2])
	}
	return ""
}

// names reports whether the commit names the unit's step, and whether it names its item.
func (c Commit) names(plan *pawl.Plan, u Unit) (step, item bool) {
	scope := c.scope()
	if scope == "" || plan == nil {
		return false, false
	}
	if m := scopeThread.FindStringSubmatch(scope); m != nil && plan.Step(pawl.StepID(scope)) == nil {
		n, _ := strconv.Atoi(m[2]) // only digits
		step = numbered(plan, m[1]) == u.Step.ID
		return step && (u.Index < 0 || u.Index == n-1), step && u.Index == n-1
	}
	if id, rest, ok := strings.Cut(scope, "/"); ok {
		same := strings.EqualFold(id, string(u.Step.ID)) && strings.EqualFold(rest, string(u.Item))
		return same, same
	}
	return stepOf(plan, scope) == u.Step.ID, false
}

// stepOf returns the step that a scope means: by its ID, ignoring case, or by its number.
func stepOf(plan *pawl.Plan, scope string) pawl.StepID {
	for _, s := range plan.Steps() {
		if strings.EqualFold(string(s.ID), scope) {
			return s.ID
		}
	}
	m := scopeNumber.FindStringSubmatch(scope)
	switch {
	case m == nil:
		return ""
	case m[2] == "":
		return numbered(plan, m[1])
	}
	phase, _ := strconv.Atoi(m[1]) // only digits
	step, _ := strconv.Atoi(m[2])
	if phase < 1 || phase > len(plan.Phases) || step < 1 || step > len(plan.Phases[phase-1].Steps) {
		return ""
	}
	return plan.Phases[phase-1].Steps[step-1].ID
}

// numbered returns the step with this number: the one with the number in its ID, or else the one at that position of
// the plan.
func numbered(plan *pawl.Plan, number string) pawl.StepID {
	n, _ := strconv.Atoi(number) // only digits
	var found []pawl.StepID
	steps := plan.Steps()
	for _, s := range steps {
		if own, err := strconv.Atoi(digits.FindString(string(s.ID))); err == nil && own == n {
			found = append(found, s.ID)
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case n >= 1 && n <= len(steps):
		return steps[n-1].ID
	}
	return ""
}
