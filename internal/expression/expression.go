// Package expression compiles and evaluates the expressions of plans: the conditions of steps, and ${{ … }} in values. The
// language is that of expr-lang, without loops, assignments and functions that depend on anything but their arguments. So the
// work of an expression is in proportion to its length. The package does no I/O and reads no clock.
package expression

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"pawl"
)

// Limits of an expression.
const (
	MaxLength = 2000   // bytes of its text
	maxNodes  = 500    // nodes of its syntax tree
	maxMemory = 50_000 // elements that an evaluation allocates
	maxResult = 64 << 10
)

// Error is an error in an expression, and its fix.
type Error struct {
	Offset int // in characters, from the start of the text
	Text   string
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Offset+1, e.Text) }

// Scope is what an expression may refer to.
type Scope struct {
	Params map[string]pawl.Parameter
	Steps  *Steps // nil: the value is computed before the first step starts
}

// Steps are the steps of a plan as the condition of one of them sees them.
type Steps struct {
	Own   pawl.StepID          // the step with the condition
	Ended map[pawl.StepID]bool // the steps that its needs lead to
	All   map[pawl.StepID]bool
}

// Values are the values of an evaluation.
type Values struct {
	Params  map[string]string // as in pawl.Plan; a parameter without a value has the zero value of its type
	Run     Run
	Step    func(pawl.StepID) Step // for conditions
	Success bool                   // no step that the needs lead to has failed
}

// Run is the variable run.
type Run struct {
	Name string `expr:"name"`
	Mode string `expr:"mode"`
}

// Step is an element of the variable steps.
type Step struct {
	Status  string `expr:"status"`  // StatusDone, StatusFailed, StatusSkipped or StatusPending
	Exit    int    `expr:"exit"`    // exit code of the last attempt, -1 for none
	Summary string `expr:"summary"` // what the step reported
	Why     string `expr:"why"`     // why it failed or was skipped
	Answer  string `expr:"answer"`  // of a gate step: the chosen option, "approved" or "rejected"
}

// The statuses of steps in conditions.
const (
	StatusDone    = "done"
	StatusFailed  = "failed"
	StatusSkipped = "skipped"
	StatusPending = "pending" // it was not run, because another step failed
)

// A Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	text    string
	program *vm.Program
	params  map[string]pawl.Parameter
	steps   []pawl.StepID // that it refers to
	results []pawl.StepID // whose summary or answer it refers to
	status  bool          // it calls success, failure or always
}

// Text returns the expression without ${{ and }}.
func (p *Program) Text() string { return p.text }

// AsksStatus reports whether a condition calls success, failure or always. Without one of them success() is implied.
func (p *Program) AsksStatus() bool { return p.status }

// Results returns the steps whose summary or answer the expression refers to: more than whether they are done.
func (p *Program) Results() []pawl.StepID { return p.results }

// Kind is the type of result that an expression must have.
type Kind int

// The kinds of results.
const (
	Condition Kind = iota // true or false
	Text                  // a text, a number, true or false
	Items                 // like Text, or a list of texts
)

// Unwrap returns the expression in a condition, which may be written as ${{ EXPR }}, and the offset of its first character.
func Unwrap(text string) (expression string, offset int) {
	inner := strings.TrimSpace(text)
	if body, ok := strings.CutPrefix(inner, "${{"); ok {
		if body, ok = strings.CutSuffix(body, "}}"); ok && !strings.Contains(body, "${{") {
			inner = strings.TrimSpace(body)
		}
	}
	at := max(strings.Index(text, inner), 0)
	return inner, utf8.RuneCountInString(text[:at])
}

// Compile compiles an expression. The error is an [*Error].
func Compile(text string, kind Kind, scope Scope) (*Program, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, &Error{Text: "the expression is empty"}
	case len(text) > MaxLength:
		return nil, &Error{Text: fmt.Sprintf("the expression has %d bytes; the maximum is %d; let a step decide instead", len(text), MaxLength)}
	case strings.ContainsRune(text, guard):
		return nil, &Error{Text: fmt.Sprintf("unexpected character %q", guard)}
	}
	p := &Program{text: text, params: scope.Params}
	rewritten := rewrite(text)
	tree, err := parse(rewritten)
	if err != nil {
		return nil, syntaxError(err)
	}
	c := checker{scope: scope, program: p}
	if c.walk(tree); c.err != nil {
		return nil, c.err
	}
	if p.program, err = expr.Compile(rewritten, append(options(), expr.Env(environment(scope, p.steps)))...); err != nil {
		return nil, syntaxError(err)
	}
	if err := checkResult(p.program.Node().Nature().Type, kind); err != nil {
		return nil, err
	}
	return p, nil
}

// syntaxError returns an error of expr in our form: its first line, with the names that the user wrote.
func syntaxError(err error) *Error {
	at := 0
	text := err.Error()
	if located, ok := errors.AsType[*file.Error](err); ok {
		at, text = located.From, located.Message
	}
	text, _, _ = strings.Cut(text, "\n")
	switch {
	case text == "unexpected token EOF":
		text = "the expression is incomplete; add what is missing at its end"
	case text == `unexpected token Operator("=")`:
		text = "unexpected \"=\"; compare with =="
	}
	return &Error{Offset: max(at, 0), Text: restore(text)}
}

func checkResult(t reflect.Type, kind Kind) error {
	name := ""
	switch {
	case t == nil: // nil, or the branches of ?: differ; the evaluation checks it
		return nil
	case t.Kind() == reflect.Slice:
		name = "a list"
	case t.Kind() == reflect.Map || t.Kind() == reflect.Struct || t.Kind() == reflect.Func:
		name = "a mapping"
	case t.Kind() == reflect.Bool:
		name = "true or false"
	case t.Kind() == reflect.String:
		name = "a string"
	default:
		name = "a number"
	}
	switch {
	case kind == Condition && name != "true or false":
		return &Error{Text: "the result is " + name + ", not true or false; compare it, as in X == 'prod'"}
	case name == "a mapping", kind == Text && name == "a list":
		return &Error{Text: "the value is " + name + ", not a string; use one of its elements, or join(LIST, ',')"}
	}
	return nil
}

// Holds evaluates a condition.
func (p *Program) Holds(v Values) (bool, error) {
	result, err := p.run(v)
	if err != nil {
		return false, err
	}
	holds, ok := result.(bool)
	if !ok {
		return false, fmt.Errorf("the result is %s, not true or false", shown(result))
	}
	return holds, nil
}

// Value returns the value of an expression as a text.
func (p *Program) Value(v Values) (string, error) {
	result, err := p.run(v)
	if err != nil {
		return "", err
	}
	return textOf(result)
}

// List returns the value of an expression as a list. A single value is a list of one element.
func (p *Program) List(v Values) ([]string, error) {
	result, err := p.run(v)
	if err != nil {
		return nil, err
	}
	list := reflect.ValueOf(result)
	if !list.IsValid() || list.Kind() != reflect.Slice {
		text, err := textOf(result)
		return []string{text}, err
	}
	values := make([]string, list.Len())
	for i := range values {
		if values[i], err = textOf(list.Index(i).Interface()); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// run evaluates the program. It recovers from what expr panics with.
func (p *Program) run(v Values) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(syntaxError(fmt.Errorf("%v", r)).Text)
		}
	}()
	machine := vm.VM{MemoryBudget: maxMemory}
	result, err = machine.Run(p.program, p.env(v))
	if err != nil {
		return nil, errors.New(syntaxError(err).Text)
	}
	return result, nil
}

func textOf(result any) (string, error) {
	text := ""
	switch x := result.(type) {
	case string:
		text = x
	case bool:
		text = strconv.FormatBool(x)
	case int:
		text = strconv.Itoa(x)
	case float64:
		text = strconv.FormatFloat(x, 'f', -1, 64)
	default:
		return "", fmt.Errorf("the result is %s, not a string", shown(result))
	}
	switch {
	case len(text) > maxResult:
		return "", fmt.Errorf("the result has %d bytes; the maximum is %d", len(text), maxResult)
	case strings.ContainsRune(text, 0):
		return "", errors.New("the result contains a NUL byte")
	}
	return text, nil
}

func shown(result any) string {
	if result == nil {
		return "nil"
	}
	return fmt.Sprintf("of type %T", result)
}
