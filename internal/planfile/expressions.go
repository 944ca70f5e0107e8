package planfile

import (
	"strings"
	"unicode/utf8"

	"pawl"
	"pawl/internal/stepenv"
	"pawl/internal/strictyaml"
)

// A Language checks the expressions of plans. The errors have offsets in characters.
type Language interface {
	// CheckCondition checks the condition of a step. ended are the steps that its needs lead to.
	CheckCondition(text string, plan *pawl.Plan, step *pawl.Step, ended map[pawl.StepID]bool) (offset int, err error)
	// CheckValue checks the expression in a value that is computed before the first step starts. list: the value may be a list.
	CheckValue(text string, plan *pawl.Plan, list bool) (offset int, err error)
}

// language is the one that programs register which accept plans. Programs that only read plans which were accepted before, such
// as pawl-hook, do without: it is large.
var language Language

// Register sets the language of expressions.
func Register(l Language) { language = l }

// checkExpressions checks conditions, and ${{ … }} in values.
func (r *reader) checkExpressions(p *pawl.Plan) {
	if language == nil || r.saved {
		return
	}
	for _, env := range []*pawl.Env{&p.Env, &p.Defaults.Env} {
		r.checkEnvExpressions(p, env)
	}
	r.checkEndExpressions(p)
	var order map[pawl.StepID][]pawl.StepID
	for _, step := range p.Steps() {
		r.checkEnvExpressions(p, &step.Env)
		if step.Foreach != nil {
			r.checkItemExpressions(p, step.Foreach)
		}
		if step.Kernel != nil {
			r.checkKernelExpressions(p, step.Kernel)
		}
		if !r.Good(&step.If) || r.partial { // it may refer to a step that is not there
			continue
		}
		if order == nil {
			order = p.Order()
		}
		if at, err := language.CheckCondition(string(step.If), p, step, Reach(order, step.ID)); err != nil {
			r.ErrorWithin(&step.If, at, "condition: %v", err)
		}
	}
}

// checkEndExpressions checks the values of handlers and notifications.
func (r *reader) checkEndExpressions(p *pawl.Plan) {
	for _, h := range []*pawl.Handler{p.OnSuccess, p.OnFailure} {
		if h != nil {
			r.checkEnvExpressions(p, &h.Env)
		}
	}
	for i := range p.Notify {
		n := &p.Notify[i]
		r.checkEnvExpressions(p, &n.Headers)
		if n.Webhook == nil {
			continue
		}
		if t, err := stepenv.Parse(n.Webhook.Value); err == nil {
			r.checkTemplate(n.Webhook, n.Webhook.Value, t, p, false)
		}
	}
}

// Reach returns the steps that the needs of a step lead to.
func Reach(order map[pawl.StepID][]pawl.StepID, id pawl.StepID) map[pawl.StepID]bool {
	reached := map[pawl.StepID]bool{}
	queue := order[id]
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if !reached[next] {
			reached[next] = true
			queue = append(queue[:len(queue):len(queue)], order[next]...)
		}
	}
	return reached
}

func (r *reader) checkEnvExpressions(p *pawl.Plan, env *pawl.Env) {
	for name, v := range *env {
		t, err := stepenv.Parse(v.Value)
		if err == nil {
			r.checkTemplate(strictyaml.Entry{Of: env, Key: name}, v.Value, t, p, false)
		}
	}
}

func (r *reader) checkItemExpressions(p *pawl.Plan, f *pawl.Foreach) {
	for i := range f.Items {
		item := &f.Items[i]
		t, err := stepenv.ParseItem(*item)
		if err != nil && r.Good(item) {
			r.Errorf(item, "item %q: %v", *item, err)
			continue
		}
		r.checkTemplate(item, *item, t, p, t.Single())
	}
}

// checkKernelExpressions checks the expressions in the parameters of a kernel. A value that is nothing but an expression keeps its type.
func (r *reader) checkKernelExpressions(p *pawl.Plan, k *pawl.KernelAction) {
	for name, text := range stepenv.KernelTexts(k) {
		at := strictyaml.Entry{Of: &k.Params, Key: name}
		t, err := stepenv.ParseItem(text)
		if err != nil {
			r.Errorf(at, "parameter %q: %v", name, err)
			continue
		}
		if _, isText := k.Params[name].(string); !t.Single() && isText {
			r.checkTemplate(at, text, t, p, false)
			continue
		}
		for _, x := range t.Expressions() {
			expression, before := x.Text, 0
			if t.Single() {
				expression, before = stepenv.Typed(x.Text), stepenv.TypedOffset
			}
			if offset, err := language.CheckValue(expression, p, false); err != nil {
				r.ErrorWithin(at, max(0, utf8.RuneCountInString(text[:x.Offset])+offset-before), "expression: %v", err)
			}
		}
	}
}

func (r *reader) checkTemplate(at any, value string, t stepenv.Template, p *pawl.Plan, list bool) {
	for _, x := range t.Expressions() {
		offset, err := language.CheckValue(x.Text, p, list)
		if err != nil {
			r.ErrorWithin(at, utf8.RuneCountInString(value[:x.Offset])+offset, "expression: %v", err)
		}
	}
}

// computed reports whether an item contains an expression.
func computed(item string) bool { return strings.Contains(item, "${{") }
