package gyoshu

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
	"pawl/internal/foreign/splice"
)

// Envelope is a stage as it is given to whoever carries it out.
type Envelope struct {
	Stage           string            `json:"stageId"`
	Goal            string            `json:"goal"`
	Inputs          map[string]string `json:"inputs"`
	Outputs         map[string]string `json:"outputs"`
	Seconds         int64             `json:"maxDurationSec"`
	Needs           []string          `json:"dependencies,omitempty"`
	Retryable       bool              `json:"retryable"`
	CheckpointAfter bool              `json:"checkpointAfter"`
}

// Limits of a stage.
const (
	shortestGoal, longestGoal   = 10, 200
	shortestStage, longestStage = 30, 600 // seconds
	usualStage                  = 240
	graceOfStage                = 30 * time.Second
)

// ReadEnvelope reads a stage's envelope, and says all that is wrong with it. What is missing has its default.
func ReadEnvelope(data []byte) (Envelope, []string, error) {
	root, err := splice.ReadJSON(data)
	if err != nil {
		return Envelope{}, nil, err
	}
	if !root.Is(splice.JSONObject) {
		return Envelope{}, nil, errors.New("an envelope is an object")
	}
	e := Envelope{Stage: root.Get("stageId").Text(), Goal: root.Get("goal").Text(), Inputs: namedTexts(root.Get("inputs")),
		Outputs: namedTexts(root.Get("outputs")), Needs: textsOf(root.Get("dependencies")), Seconds: usualStage,
		Retryable: !isFalse(root.Get("retryable")), CheckpointAfter: !isFalse(root.Get("checkpointAfter"))}
	if n, ok := root.Get("maxDurationSec").Int(); ok {
		e.Seconds = n
	}
	return e, e.Issues(), nil
}

func isFalse(v *splice.JSON) bool { return v.Is(splice.JSONBool) && !v.True() }

func namedTexts(v *splice.JSON) map[string]string {
	texts := map[string]string{}
	if v.Is(splice.JSONObject) {
		for _, m := range v.Members {
			texts[m.Key] = m.Value.Text()
		}
	}
	return texts
}

// Issues says all that is wrong with an envelope.
func (e Envelope) Issues() []string {
	var issues []string
	say := func(format string, args ...any) { issues = append(issues, fmt.Sprintf(format, args...)) }
	if !IsStage(e.Stage) {
		say("stageId: %q is not S{NN}_{verb}_{noun}: two digits, then small letters only", e.Stage)
	}
	if n := utf8.RuneCountInString(e.Goal); n < shortestGoal || n > longestGoal {
		say("goal: it has %d characters, not %d to %d", n, shortestGoal, longestGoal)
	}
	if e.Seconds < shortestStage || e.Seconds > longestStage {
		say("maxDurationSec: %d is not %d to %d", e.Seconds, shortestStage, longestStage)
	}
	if slices.Contains(e.Needs, e.Stage) {
		say("dependencies: it needs itself")
	}
	for _, p := range append(sortedValues(e.Inputs), sortedValues(e.Outputs)...) {
		if issue := CheckPath(p); issue != "" {
			say("%s", issue)
		}
	}
	return issues
}

func sortedValues(m map[string]string) []string {
	var values []string
	for _, v := range m {
		values = append(values, v)
	}
	slices.Sort(values)
	return values
}

// EnvelopeOf returns a step of a plan as a stage's envelope.
func EnvelopeOf(plan *pawl.Plan, id pawl.StepID) (Envelope, error) {
	s := plan.Step(id)
	if s == nil {
		return Envelope{}, fmt.Errorf("the plan has no step %s", id)
	}
	names := stageNames(plan)
	e := Envelope{Stage: names[id], Goal: s.Goal, Inputs: byBase(s.Inputs), Outputs: byBase(s.Outputs), Retryable: s.MayRepeat(),
		CheckpointAfter: true, Seconds: min(max(int64(time.Duration(s.Timeout)/time.Second), shortestStage), longestStage)}
	if e.Goal == "" {
		e.Goal = s.Name
	}
	if s.Timeout == 0 {
		e.Seconds = usualStage
	}
	for _, need := range plan.Order()[id] {
		e.Needs = append(e.Needs, names[need])
	}
	return e, nil
}

// byBase names paths by their file's name without its extension.
func byBase(paths []string) map[string]string {
	named, taken := map[string]string{}, map[string]bool{}
	for _, p := range paths {
		named[nameFor(path.Base(p), taken)] = p
	}
	return named
}

// Step returns a stage as a step of a plan, with what does the work left open: its limits, its order, its files.
func (e Envelope) Step(title, run string) pawl.Step {
	s := pawl.Step{ID: pawl.StepIDOf(e.Stage), Goal: e.Goal, Timeout: pawl.Duration(time.Duration(e.Seconds) * time.Second),
		Grace: pawl.Duration(graceOfStage), Idempotent: &e.Retryable}
	for _, need := range e.Needs {
		s.Needs = append(s.Needs, pawl.StepIDOf(need))
	}
	folder := path.Join(reports, title, run)
	for _, p := range sortedValues(e.Inputs) {
		if CheckPath(p) == "" {
			s.Inputs = append(s.Inputs, e.input(folder, p))
		}
	}
	for _, p := range sortedValues(e.Outputs) {
		switch {
		case CheckPath(p) != "":
		case strings.HasPrefix(p, reports+"/"):
			s.Outputs = append(s.Outputs, p)
		default:
			s.Outputs = append(s.Outputs, path.Join(folder, e.Stage, p))
		}
	}
	return s
}

// input returns where an input lies: in the folder of the stage that its path names, or of the only stage that is needed,
// else where it says.
func (e Envelope) input(folder, file string) string {
	first, _, below := strings.Cut(file, "/")
	_, _, isStage := stageNumber(first)
	switch {
	case below && isStage:
		return path.Join(folder, file)
	case !below && len(e.Needs) == 1 && CheckSegment("stageId", e.Needs[0]) == "":
		return path.Join(folder, e.Needs[0], file)
	}
	return file
}
