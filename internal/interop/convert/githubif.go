package convert

import (
	"strconv"
	"strings"

	"pawl"
)

// condition converts a condition, which is "" if it always holds. status is whether it asks if steps succeeded or failed.
func (g *github) condition(n *node, j *githubJob) (text string, status bool) {
	if !n.Scalar() {
		g.lost(n, "if", "expected an expression")
		return "", false
	}
	source := strings.TrimSpace(n.Text)
	if findExpression(source) == len(source) && source != "" {
		source = inside(source)
	}
	e, err := parseExpression(source)
	if err != nil {
		g.lost(n, "if", "%s: %v", oneLine(n.Text), err)
		return "", false
	}
	if j.matrix != nil {
		if g.tests, e = g.matrixTests(e, j); e == nil {
			return "", false
		}
	}
	c := &conditions{github: g, job: j}
	text, kind := c.emit(e)
	if c.missing != "" {
		g.lost(n, "if", "%s: %s has no counterpart in a plan; use a parameter, or test it in a command", oneLine(source), c.missing)
		return "", false
	}
	if text = outerless(truth(text, kind)); text == "true" || text == "success()" {
		return "", false
	}
	return text, c.status
}

// outerless returns an expression without parentheses around all of it.
func outerless(text string) string {
	for strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		depth, quoted := 0, false
		for i, c := range text {
			switch {
			case c == '\'' && (i == 0 || text[i-1] != '\\'):
				quoted = !quoted
			case quoted:
			case c == '(':
				depth++
			case c == ')':
				depth--
			}
			if depth == 0 && i < len(text)-1 {
				return text
			}
		}
		text = text[1 : len(text)-1]
	}
	return text
}

// conditions writes expressions of GitHub as those of plans.
type conditions struct {
	*github
	job     *githubJob
	values  bool // the result is a value, computed before the first step starts
	status  bool
	missing string // the first part that cannot be written
}

func (c *conditions) fail(what string) (string, string) {
	if c.missing == "" {
		c.missing = what
	}
	return "false", "boolean"
}

// truth returns the condition that a value is true.
func truth(text, kind string) string {
	switch kind {
	case "string":
		return text + " != ''"
	case "number":
		return text + " != 0"
	}
	return text
}

// quotedExpr returns a text in quotes of an expression in a plan.
func quotedExpr(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) + "'"
}

// emit returns an expression and its type: boolean, string or number.
func (c *conditions) emit(e *formula) (text, kind string) {
	switch e.op {
	case "value":
		switch e.kind {
		case "null":
			return "''", "string"
		case "string":
			return quotedExpr(e.text), "string"
		case "number":
			if _, err := strconv.ParseFloat(e.text, 64); err != nil {
				return c.fail(e.text)
			}
		}
		return e.text, e.kind
	case "name":
		return c.name(e)
	case "call":
		return c.call(e)
	case "!":
		if inner := e.args[0]; inner.op == "call" && inner.text == "cancelled" {
			c.status = true
			return "always()", "boolean"
		}
		return "!(" + truth(c.emit(e.args[0])) + ")", "boolean"
	case "&&", "||":
		if then := e.args[0]; e.op == "||" && then.op == "&&" && c.values {
			yes, kind := c.emit(then.args[1])
			no, other := c.emit(e.args[1])
			if kind != other {
				return c.fail("a choice between " + kind + " and " + other)
			}
			return "(" + truth(c.emit(then.args[0])) + " ? " + yes + " : " + no + ")", kind
		}
		left, right := truth(c.emit(e.args[0])), truth(c.emit(e.args[1]))
		neutral := map[string]string{"&&": "true", "||": "false"}[e.op]
		if left == neutral {
			return right, "boolean"
		} else if right == neutral {
			return left, "boolean"
		}
		return "(" + left + " " + e.op + " " + right + ")", "boolean"
	case "==", "!=", "<", "<=", ">", ">=":
		return c.compare(e)
	}
	return c.fail("an index")
}

func (c *conditions) compare(e *formula) (string, string) {
	for i := range e.args {
		if ids := c.stepsOf(e.args[i]); len(ids) > 0 {
			return c.compareStatus(ids, e.op, e.args[1-i])
		}
	}
	left, leftKind := c.emit(e.args[0])
	right, rightKind := c.emit(e.args[1])
	if leftKind != rightKind {
		if left, leftKind = asBoolean(left, leftKind, rightKind); leftKind != rightKind {
			right, rightKind = asBoolean(right, rightKind, leftKind)
		}
	}
	if leftKind != rightKind || leftKind != "number" && e.op != "==" && e.op != "!=" {
		return c.fail("a comparison of " + leftKind + " with " + rightKind)
	}
	return "(" + left + " " + e.op + " " + right + ")", "boolean"
}

// asBoolean returns 'true' and 'false' as booleans where they are compared with one.
func asBoolean(text, kind, other string) (string, string) {
	if kind == "string" && other == "boolean" && (text == "'true'" || text == "'false'") {
		return strings.Trim(text, "'"), "boolean"
	}
	return text, kind
}

func (c *conditions) call(e *formula) (string, string) {
	switch {
	case len(e.args) == 0 && (e.text == "always" || e.text == "success" || e.text == "failure"):
		c.status = true
		return e.text + "()", "boolean"
	case len(e.args) == 0 && e.text == "cancelled":
		return "false", "boolean"
	case len(e.args) == 2 && (e.text == "contains" || e.text == "startswith" || e.text == "endswith"):
		a, kindA := c.emit(e.args[0])
		b, kindB := c.emit(e.args[1])
		if kindA != "string" || kindB != "string" {
			return c.fail(e.text + "()")
		}
		names := map[string]string{"contains": "contains", "startswith": "startsWith", "endswith": "endsWith"}
		return names[e.text] + "(" + a + ", " + b + ")", "boolean"
	}
	return c.fail(e.text + "()")
}

func (c *conditions) name(e *formula) (string, string) {
	if param, ok := c.inputOf(e); ok {
		switch c.plan.Params[param].Type {
		case pawl.BoolParam:
			return "params." + param, "boolean"
		case pawl.IntParam, pawl.NumberParam:
			return "params." + param, "number"
		}
		return "params." + param, "string"
	}
	if value, ok := c.static(e.text, c.job); ok {
		return quotedExpr(value), "string"
	}
	return c.fail(e.text)
}

// stepsOf returns the steps that steps.ID.outcome or needs.JOB.result is about.
func (c *conditions) stepsOf(e *formula) []pawl.StepID {
	parts := strings.Split(e.text, ".")
	if e.op != "name" || len(parts) != 3 || c.values || c.job == nil {
		return nil
	}
	switch field := strings.ToLower(parts[2]); {
	case strings.EqualFold(parts[0], "steps") && (field == "outcome" || field == "conclusion") && c.job.steps[parts[1]] != "":
		return []pawl.StepID{c.job.steps[parts[1]]}
	case strings.EqualFold(parts[0], "needs") && field == "result":
		for _, j := range c.jobs {
			if j.name == parts[1] {
				return j.all
			}
		}
	}
	return nil
}

// compareStatus compares the status of steps with a word.
func (c *conditions) compareStatus(ids []pawl.StepID, op string, word *formula) (string, string) {
	if word.op != "value" || op != "==" && op != "!=" {
		return c.fail("a comparison of a status")
	}
	status := func(id pawl.StepID, is string) string {
		return "steps[" + quotedExpr(string(id)) + "].status == '" + is + "'"
	}
	last, text := ids[len(ids)-1], ""
	switch word.text {
	case "success":
		text = status(last, "done")
	case "skipped":
		text = status(last, "skipped")
	case "cancelled":
		text = "false"
	case "failure":
		for i, id := range ids {
			if i > 0 {
				text += " || "
			}
			text += status(id, "failed")
		}
	default:
		return c.fail("the status " + word.text)
	}
	if op == "!=" {
		return "!(" + text + ")", "boolean"
	}
	return "(" + text + ")", "boolean"
}
