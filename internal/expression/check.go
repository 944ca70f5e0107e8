package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"

	"pawl"
	"pawl/internal/strictyaml"
)

// parse parses a rewritten expression.
func parse(text string) (ast.Node, error) {
	config := conf.CreateNew()
	for _, option := range options() {
		option(config)
	}
	for name := range config.Disabled {
		delete(config.Builtins, name)
	}
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil, err
	}
	return tree.Node, nil
}

// checker checks the names and forms in an expression. expr then checks the types.
type checker struct {
	scope   Scope
	program *Program
	err     *Error
}

func (c *checker) fail(n ast.Node, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Offset: n.Location().From, Text: fmt.Sprintf(format, args...)}
	}
}

func (c *checker) walkAll(nodes ...ast.Node) {
	for _, n := range nodes {
		if n != nil {
			c.walk(n)
		}
	}
}

func (c *checker) walk(n ast.Node) {
	switch n := n.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ConstantNode:
	case *ast.IdentifierNode:
		c.name(n)
	case *ast.UnaryNode:
		c.walk(n.Node)
	case *ast.BinaryNode:
		c.binary(n)
	case *ast.ChainNode:
		c.walk(n.Node)
	case *ast.MemberNode:
		c.member(n)
	case *ast.SliceNode:
		c.walkAll(n.Node, n.From, n.To)
	case *ast.CallNode:
		c.call(n)
	case *ast.BuiltinNode:
		c.builtin(n)
	case *ast.ConditionalNode:
		c.walkAll(n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		c.walkAll(n.Nodes...)
	default:
		c.fail(n, "this form is not available in plans; use comparisons, && and ||, and functions")
	}
}

func (c *checker) binary(n *ast.BinaryNode) {
	if n.Operator == ".." {
		c.fail(n, "ranges are not available in plans")
	}
	c.walkAll(n.Left, n.Right)
	if n.Operator == "==" || n.Operator == "!=" {
		c.compared(n.Left, n.Right)
		c.compared(n.Right, n.Left)
	}
}

// compared reports a comparison with a word that the value never is.
func (c *checker) compared(value, with ast.Node) {
	word, ok := with.(*ast.StringNode)
	if !ok {
		return
	}
	variable, name, field := path(value)
	var words []string
	switch param := c.scope.Params[name]; {
	case variable == "steps" && field == "status":
		words = []string{StatusDone, StatusFailed, StatusSkipped, StatusPending}
	case variable == "params" && field == "" && param.Type == pawl.EnumParam:
		words = param.Options
	case variable == "run" && name == "mode":
		words = []string{string(pawl.Guided), string(pawl.Autopilot), string(pawl.HandsOn)}
	default:
		return
	}
	if slices.Contains(words, word.Value) {
		return
	}
	fix := strictyaml.DidYouMean(word.Value, words)
	if status := statusWords[word.Value]; status != "" && variable == "steps" {
		fix = fmt.Sprintf("use %q", status)
	}
	c.fail(with, "%s is never %q; %s", sourceOf(variable, name, field), word.Value, fix)
}

// statusWords are words of other systems for statuses.
var statusWords = map[string]string{
	"success": StatusDone, "succeeded": StatusDone, "completed": StatusDone, "ok": StatusDone,
	"failure": StatusFailed, "error": StatusFailed, "cancelled": StatusPending, "neutral": StatusSkipped,
}

// path takes steps.ID.status apart. variable is "" for anything else.
func path(n ast.Node) (variable, name, field string) {
	if chain, ok := n.(*ast.ChainNode); ok {
		n = chain.Node
	}
	var parts []string
	for {
		switch x := n.(type) {
		case *ast.MemberNode:
			property, ok := x.Property.(*ast.StringNode)
			if !ok {
				return "", "", ""
			}
			parts = append(parts, restore(property.Value))
			n = x.Node
			continue
		case *ast.IdentifierNode:
			parts = append(parts, x.Value)
		default:
			return "", "", ""
		}
		break
	}
	slices.Reverse(parts)
	parts = append(parts, "", "")
	if len(parts) > 5 {
		return "", "", ""
	}
	return parts[0], parts[1], parts[2]
}

func sourceOf(parts ...string) string {
	var text strings.Builder
	for i, part := range parts {
		switch {
		case part == "":
		case i == 0:
			text.WriteString(part)
		case strings.ContainsAny(part, "."):
			fmt.Fprintf(&text, "[%q]", part)
		default:
			text.WriteString("." + part)
		}
	}
	return text.String()
}

// member checks params.NAME, steps.ID.FIELD and run.FIELD. The variables themselves are not values.
func (c *checker) member(n *ast.MemberNode) {
	variable, ok := n.Node.(*ast.IdentifierNode)
	if !ok || !slices.Contains(variables, variable.Value) {
		c.walkAll(n.Node, n.Property)
		if inner, ok := n.Node.(*ast.MemberNode); ok {
			c.field(n, inner)
		}
		return
	}
	property, ok := n.Property.(*ast.StringNode)
	if !ok {
		c.fail(n.Property, "%s[…] needs a name in quotes", variable.Value)
		return
	}
	switch name := restore(property.Value); variable.Value {
	case "params":
		c.param(property, name)
	case "steps":
		c.step(property, name)
	case "run":
		c.oneOf(property, "run", name, []string{"name", "mode"})
	}
}

// field checks the FIELD of steps.ID.FIELD.
func (c *checker) field(n, of *ast.MemberNode) {
	variable, ok := of.Node.(*ast.IdentifierNode)
	if !ok || variable.Value != "steps" {
		return
	}
	property, ok := n.Property.(*ast.StringNode)
	if !ok {
		c.fail(n.Property, "a field of a step needs a name")
		return
	}
	switch property.Value {
	case "outcome", "conclusion", "result":
		c.fail(property, "a step has no field %q; use status", property.Value)
	case "outputs":
		c.fail(property, "a step has no field \"outputs\"; use summary, or have the step write a file")
	case "exit_code", "code":
		c.fail(property, "a step has no field %q; use exit", property.Value)
	case "summary", "answer":
		if id, ok := of.Property.(*ast.StringNode); ok {
			c.program.results = append(c.program.results, pawl.StepID(restore(id.Value)))
		}
	default:
		c.oneOf(property, "a step", property.Value, stepFields)
	}
}

func (c *checker) oneOf(n ast.Node, what, name string, names []string) {
	if !slices.Contains(names, name) {
		c.fail(n, "%s has no field %q; %s", what, name, strictyaml.DidYouMean(name, names))
	}
}

func (c *checker) param(n ast.Node, name string) {
	param, known := c.scope.Params[name]
	switch {
	case known && param.Secret:
		c.fail(n, "parameter %q is a secret, and pawl does not store it, so expressions cannot use it; use $%s in the step's script", name, pawl.ParamVar(name))
	case known:
	case len(c.scope.Params) == 0:
		c.fail(n, "unknown parameter %q; the plan has no parameters; add it to params", name)
	default:
		c.fail(n, "unknown parameter %q; %s", name, strictyaml.DidYouMean(name, slices.Sorted(maps.Keys(c.scope.Params))))
	}
}

func (c *checker) step(n ast.Node, name string) {
	steps, id := c.scope.Steps, pawl.StepID(name)
	switch {
	case steps == nil:
		c.fail(n, "steps are not available here, because the value is computed before the first step starts; use them in \"if\"")
	case id == steps.Own:
		c.fail(n, "step %q has not run when its own condition is evaluated; use another step", name)
	case !steps.All[id]:
		var ids []string
		for id := range steps.All {
			ids = append(ids, string(id))
		}
		slices.Sort(ids)
		c.fail(n, "%s", strictyaml.UnknownStep(name, ids))
	case !steps.Ended[id]:
		c.fail(n, "step %q may not have ended by then; add it to \"needs\"", name)
	default:
		if !slices.Contains(c.program.steps, id) {
			c.program.steps = append(c.program.steps, id)
		}
	}
}

// otherNames are names of other systems, and what to use instead.
var otherNames = map[string]string{
	"inputs": "use params.NAME", "vars": "use params.NAME", "param": "use params.NAME", "needs": "use steps.ID.status", "step": "use steps.ID.status",
	"env":     "expressions do not see the environment; use a parameter",
	"secrets": "expressions do not see secrets; use the variable in the step's script",
	"matrix":  "use $PAWL_ITEM in the step's script", "item": "use $PAWL_ITEM in the step's script",
	"github": "use params or run", "job": "use success() or failure()", "null": "use nil",
}

func (c *checker) name(n *ast.IdentifierNode) {
	switch {
	case slices.Contains(variables, n.Value):
		c.fail(n, "%s is not a value; use %s", n.Value, map[string]string{"params": "params.NAME", "steps": "steps.ID.status", "run": "run.mode"}[n.Value])
	case otherNames[n.Value] != "":
		c.fail(n, "unknown name %q; %s", n.Value, otherNames[n.Value])
	case slices.Contains(functionNames(), restore(n.Value)) || statusFunctions[n.Value]:
		c.fail(n, "%s is a function; write %s()", restore(n.Value), restore(n.Value))
	default:
		if _, known := c.scope.Params[n.Value]; known {
			c.fail(n, "unknown name %q; use params.%s", n.Value, n.Value)
			return
		}
		c.fail(n, "unknown name %q; a string needs quotes: '%s'", n.Value, n.Value)
	}
}

// builtin checks a call that expr's parser knows. It knows also those with a predicate, which are not available.
func (c *checker) builtin(n *ast.BuiltinNode) {
	if !slices.Contains(functionNames(), n.Name) {
		c.fail(n, "unknown function %q; %s", n.Name, strictyaml.DidYouMean(n.Name, append(functionNames(), "success", "failure", "always")))
	}
	c.walkAll(n.Arguments...)
}

// statusFunctions are available in conditions only.
var statusFunctions = map[string]bool{"success": true, "failure": true, "always": true}

func (c *checker) call(n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		c.fail(n, "only functions can be called")
		return
	}
	switch name := restore(callee.Value); {
	case statusFunctions[name] && c.scope.Steps == nil:
		c.fail(callee, "%s() is available in \"if\" only", name)
	case statusFunctions[name]:
		c.program.status = true
	case name == "cancelled":
		c.fail(callee, "cancelled() does not exist: an interrupted run is resumed; use always()")
	case !slices.Contains(functionNames(), name):
		c.fail(callee, "unknown function %q; %s", name, strictyaml.DidYouMean(name, append(functionNames(), "success", "failure", "always")))
	}
	c.walkAll(n.Arguments...)
}
