package planfile

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// executable are the actions that this version can run. Read rejects the others.
var executable = []string{"run", "agent", "kernel", "gate"}

// fillPlan sets the defaults of omitted values.
func (r *reader) fillPlan(p *pawl.Plan) {
	fill(r, &p.Version, 1)
	fill(r, &p.Mode, pawl.Guided)
	d := &p.Defaults
	for i := range p.Phases {
		var before []pawl.StepID
		for j := range p.Phases[i].Steps {
			s := &p.Phases[i].Steps[j]
			timeout, stall := chosen(r, &d.Timeout, pawl.Duration(pawl.DefaultTimeout)), chosen(r, &d.Stall, pawl.Duration(pawl.DefaultStall))
			if s.Kernel != nil {
				timeout, stall = r.fillKernel(s.Kernel), 0 // a cell may be silent
			}
			fill(r, &s.Name, string(s.ID))
			fill(r, &s.Needs, before)
			fill(r, &s.Dir, d.Dir)
			fill(r, &s.Shell, d.Shell)
			if s.Run != "" && s.Service == nil {
				fill(r, &s.On, d.On)
			}
			if s.Service == nil {
				fill(r, &s.Timeout, timeout)
				fill(r, &s.Grace, chosen(r, &d.Grace, pawl.Duration(pawl.DefaultGrace)))
				fill(r, &s.Stall, stall)
				fill(r, &s.Estimate, chosen(r, &d.Estimate, pawl.Duration(pawl.DefaultEstimate)))
				fill(r, &s.Retry.Attempts, chosen(r, &d.Retry.Attempts, 1))
			} else {
				r.fillService(s, d)
			}
			fill(r, &s.Retry.Backoff, chosen(r, &d.Retry.Backoff, pawl.Duration(pawl.DefaultBackoff)))
			before = []pawl.StepID{s.ID}
		}
	}
}

// fill sets a value that the plan omits.
func fill[T any](r *reader, value *T, otherwise T) {
	if !r.Given(value) {
		*value = otherwise
	}
}

// chosen returns a value of the plan, or the other one where the plan omits it.
func chosen[T any](r *reader, value *T, otherwise T) T {
	if r.Good(value) {
		return *value
	}
	return otherwise
}

func (r *reader) checkPlan(p *pawl.Plan) {
	r.checkVersion(&p.Version)
	r.oneOf(&p.Mode, string(p.Mode), "mode", string(pawl.Guided), string(pawl.Autopilot), string(pawl.HandsOn))
	r.oneLine(&p.Name, p.Name)
	r.atLeastOne(&p.Parallel, p.Parallel, "parallel")
	r.checkBudget(&p.Budget)
	r.checkParams(p)
	r.checkDotenv(p.Dotenv)
	r.checkEnv(&p.Env)
	r.checkDefaults(&p.Defaults)
	if r.Good(&p.Phases) && len(p.Phases) == 0 && !r.partial {
		r.Errorf(&p.Phases, "the plan has no phases; add one, or use steps instead")
	}
	r.checkHandler("on_success", p.OnSuccess)
	r.checkHandler("on_failure", p.OnFailure)
	r.checkNotify(p)
	for i := range p.Phases {
		phase := &p.Phases[i]
		r.oneLine(&phase.Name, phase.Name)
		if r.Good(&phase.Steps) && len(phase.Steps) == 0 && !r.partial {
			r.Errorf(&phase.Steps, "phase %q has no steps; add one or remove the phase", phase.Name)
		}
		for j := range phase.Steps {
			if r.Good(&phase.Steps[j]) {
				r.checkStep(&phase.Steps[j])
			}
		}
	}
	r.checkNeeds(p)
	if r.uniqueIDs(p) {
		r.checkCycles(p)
		r.checkUsers(p)
		r.checkSessions(p)
	}
	r.checkExpressions(p)
}

func (r *reader) checkVersion(version *int) {
	if *version != 1 && r.Good(version) {
		r.Errorf(version, "unsupported plan version %d; use version: 1 or remove the key", *version)
	}
}

func (r *reader) checkDefaults(d *pawl.Defaults) {
	r.checkEnv(&d.Env)
	r.checkPath(&d.Dir, d.Dir, "dir")
	r.checkShell(&d.Shell)
	r.checkQueue(&d.On)
	r.checkLimits(&d.Timeout, &d.Stall, &d.Estimate, &d.Retry)
}

func (r *reader) checkBudget(b *pawl.Budget) {
	r.positive(&b.Time, "time")
	if r.Good(&b.USD) && !(b.USD > 0 && b.USD <= math.MaxFloat64) {
		r.Errorf(&b.USD, `"usd" must be greater than 0`)
	}
	if r.Good(&b.Tokens) && b.Tokens <= 0 {
		r.Errorf(&b.Tokens, `"tokens" must be greater than 0`)
	}
}

func (r *reader) checkStep(s *pawl.Step) {
	if _, err := pawl.ParseStepID(string(s.ID)); err != nil && r.Good(&s.ID) && s.ID != "" {
		r.Errorf(&s.ID, "%v", err)
	}
	r.oneLine(&s.Name, s.Name)
	r.checkAction(s)
	r.checkEnv(&s.Env)
	r.checkPath(&s.Dir, s.Dir, "dir")
	r.checkShell(&s.Shell)
	if r.Given(&s.Shell) && !r.Given(&s.Run) && !r.Given(&s.Accept) && !r.Given(&s.Undo) {
		r.Errorf(&s.Shell, `"shell" requires "run", "accept" or "undo"; remove it`)
	}
	r.checkOn(s)
	r.checkPaths(s.Inputs, "an input")
	r.checkOutputs(s)
	r.checkForeach(s)
	r.checkService(s)
	r.checkAccept(s)
	if r.Given(&s.ContinueOnError) && s.Gate != nil {
		r.Errorf(&s.ContinueOnError, `a gate cannot have "continue_on_error": a person decides; remove it`)
	}
	r.checkLimits(&s.Timeout, &s.Stall, &s.Estimate, &s.Retry)
	if r.Good(&s.Undo) && strings.TrimSpace(s.Undo) == "" {
		r.Errorf(&s.Undo, `"undo" is empty; set a command or remove the key`)
	}
	for name, score := range s.Review {
		at := strictyaml.Entry{Of: &s.Review, Key: name}
		if name == "" {
			r.Errorf(at, `a reviewer in "review" has no name`)
		}
		if r.Good(at) && (score < 0 || score > 100) {
			r.Errorf(at, "the minimum score of reviewer %q must be between 0 and 100, not %d", name, score)
		}
	}
}

// checkAction checks that a step has exactly one action and that pawl can run it.
func (r *reader) checkAction(s *pawl.Step) {
	type action struct {
		key     string
		pointer any
	}
	var given []action
	for _, a := range []action{{"run", &s.Run}, {"agent", &s.Agent}, {"kernel", &s.Kernel}, {"gate", &s.Gate}} {
		if !r.Given(a.pointer) {
			continue
		}
		given = append(given, a)
		if !slices.Contains(executable, a.key) {
			r.Errorf(a.pointer, "this version of pawl cannot run %q steps; use %s", a.key, strictyaml.OneOf(executable))
		}
	}
	switch len(given) {
	case 0:
		r.Errorf(s, "%s has no action; give it %s", title(s), strictyaml.OneOf(executable))
	case 1:
	default:
		r.Errorf(given[1].pointer, "%s has two actions, %s (line %d) and %s; keep one or split the step",
			title(s), given[0].key, r.Line(given[0].pointer), given[1].key)
	}
	if r.Good(&s.Run) && strings.TrimSpace(s.Run) == "" {
		r.Errorf(&s.Run, `"run" is empty; set a command`)
	}
	r.checkAgent(s.Agent)
	r.checkKernel(s)
	if r.Good(s.Gate) {
		r.checkGate(s.Gate)
	}
}

// title names a step in messages.
func title(s *pawl.Step) string {
	if s.ID == "" {
		return "the step"
	}
	return fmt.Sprintf("step %q", s.ID)
}

func (r *reader) checkAgent(a *pawl.AgentAction) {
	if !r.Good(a) {
		return
	}
	names := make([]string, len(pawl.AgentNames))
	for i, name := range pawl.AgentNames {
		names[i] = string(name)
	}
	r.oneOf(&a.Use, string(a.Use), "agent", names...)
	r.checkAgentCommand(a)
	if strings.ContainsAny(a.Role, "\r\n") {
		r.Errorf(&a.Role, `"role" must be one line`)
	}
	switch {
	case !r.Good(&a.MaxUSD):
	case !(a.MaxUSD > 0 && a.MaxUSD <= math.MaxFloat64):
		r.Errorf(&a.MaxUSD, `"max_usd" must be greater than 0`)
	case slices.Contains(pawl.AgentNames, a.Use) && !a.Use.ReportsCost():
		r.Errorf(&a.MaxUSD, `%s does not report its cost, so pawl cannot enforce "max_usd"; remove it, or set a token budget for the plan`, a.Use)
	}
}

// checkAgentCommand checks that "command" is set where use: command needs it, and only there.
func (r *reader) checkAgentCommand(a *pawl.AgentAction) {
	switch own := a.Use == pawl.AnyCommand; {
	case !r.Good(&a.Use):
	case own && !r.Given(&a.Command):
		r.Errorf(&a.Use, `use: command requires a "command"; add it`)
	case own && r.Good(&a.Command) && strings.TrimSpace(a.Command) == "":
		r.Errorf(&a.Command, `"command" is empty; set a command`)
	case !own && r.Given(&a.Command):
		r.Errorf(&a.Command, `"command" requires use: command; remove it or change "use"`)
	case own:
		for _, key := range []any{&a.Args, &a.Model} {
			if r.Given(key) {
				r.Errorf(key, `use: command allows no "args" and no "model"; put them into "command"`)
			}
		}
	}
}

func (r *reader) checkGate(g *pawl.GateAction) {
	r.oneOf(&g.Type, string(g.Type), "gate type", string(pawl.HumanVerify), string(pawl.DecisionFor), string(pawl.HumanAction))
	r.positive(&g.Expires, "expires")
	if g.Type != pawl.DecisionFor {
		for _, key := range []any{&g.Options, &g.OptionsFrom, &g.Default} {
			if r.Good(&g.Type) && r.Given(key) {
				r.Errorf(key, "only a gate of type %s has options and a default; remove the key or change the type", pawl.DecisionFor)
			}
		}
		return
	}
	switch given := r.Given(&g.OptionsFrom); {
	case given && r.Given(&g.Options):
		r.Errorf(&g.OptionsFrom, `"options" and "options_from" exclude each other; remove one of them`)
	case given:
		r.checkPath(&g.OptionsFrom, g.OptionsFrom, "options_from")
	case len(g.Options) == 0 && (!r.Given(&g.Options) || r.Good(&g.Options)):
		r.Errorf(g, `a gate of type decision needs "options" or "options_from"`)
	}
	seen := map[string]bool{}
	for i := range g.Options {
		option := &g.Options[i]
		switch {
		case !r.Good(option):
		case strings.TrimSpace(*option) == "":
			r.Errorf(option, "an option is empty; remove it")
		case seen[*option]:
			r.Errorf(option, "duplicate option %q", *option)
		}
		seen[*option] = true
	}
	if r.Good(&g.Default) && !seen[g.Default] {
		r.Errorf(&g.Default, "the default %q is not one of the options; %s", g.Default, strictyaml.DidYouMean(g.Default, g.Options))
	}
}

// checkPath rejects paths outside of the project.
func (r *reader) checkPath(pointer any, name, what string) {
	if !r.Good(pointer) {
		return
	}
	switch elements := strings.Split(name, "/"); {
	case strings.TrimSpace(name) == "":
		r.Errorf(pointer, "%s is empty; set a path inside the project", what)
	case path.IsAbs(name):
		r.Errorf(pointer, "%s must be a path inside the project; %q is absolute", what, name)
	case strings.HasPrefix(name, "~") || elements[0] == "$HOME" || elements[0] == "${HOME}":
		r.Errorf(pointer, "%s must be a path inside the project; %q is in the home folder", what, name)
	case slices.Contains(elements, ".."):
		r.Errorf(pointer, `%s must be a path inside the project; %q contains ".."`, what, name)
	}
}

func (r *reader) checkPaths(names []string, what string) {
	for i := range names {
		r.checkPath(&names[i], names[i], what)
	}
}

func (r *reader) checkOutputs(s *pawl.Step) {
	r.checkPaths(s.Outputs, "an output")
	seen := map[string]int{}
	for i := range s.Outputs {
		output := &s.Outputs[i]
		clean := path.Clean(*output)
		switch line, repeated := seen[clean]; {
		case !r.Good(output) || *output == "":
		case repeated:
			r.Errorf(output, "duplicate output %q (first used on line %d)", *output, line)
		case clean == ".":
			r.Errorf(output, "an output cannot be the whole project; list the files that the step writes")
		case clean == ".pawl" || strings.HasPrefix(clean, ".pawl/"):
			r.Errorf(output, "an output cannot be in .pawl; that folder is reserved for pawl")
		case r.Given(&s.Foreach) && !namesItem(*output):
			r.Errorf(output, "output %q is the same for all items of the foreach step; add $PAWL_ITEM or $PAWL_ITEM_ID to it", *output)
		}
		seen[clean] = r.Line(output)
	}
}

// namesItem reports whether the path differs from item to item.
func namesItem(name string) bool {
	marked := map[string]string{"PAWL_ITEM": "\x00", "PAWL_ITEM_ID": "\x00"}
	return strings.Contains(pawl.Expand(name, marked), "\x00") || strings.Contains(name, "$"+pawl.MatrixPrefix) || strings.Contains(name, "${"+pawl.MatrixPrefix)
}

func (r *reader) checkForeach(s *pawl.Step) {
	if !r.Given(&s.Foreach) {
		if r.Good(&s.Parallel) {
			r.Errorf(&s.Parallel, `"parallel" requires "foreach"; remove it or add "foreach"`)
		}
		return
	}
	r.atLeastOne(&s.Parallel, s.Parallel, "parallel")
	f := s.Foreach
	if !r.Good(f) {
		return
	}
	if r.Given(&s.Gate) {
		r.Errorf(&s.Foreach, "a gate cannot have foreach; remove it or move it to another step")
	}
	sources := 0
	for _, source := range []any{&f.Items, &f.Lines, &f.Files} {
		if r.Given(source) {
			sources++
		}
	}
	if r.Given(&f.Matrix) || r.Given(&f.Include) {
		sources++
	}
	if sources != 1 {
		r.Errorf(&s.Foreach, "foreach has %d lists; use exactly one of items, lines, files and matrix", sources)
	}
	r.checkPath(&f.Lines, f.Lines, "lines")
	r.checkPath(&f.Files, f.Files, "files")
	if _, err := path.Match(f.Files, ""); err != nil {
		r.Errorf(&f.Files, "invalid pattern %q: unclosed bracket; use a form such as docs/*.md", f.Files)
	}
	if r.Given(&f.Empty) {
		r.oneOf(&f.Empty, string(f.Empty), "empty", string(pawl.EmptyDone), string(pawl.EmptyFails))
		if !r.Given(&f.Lines) && !r.Given(&f.Files) {
			r.Errorf(&f.Empty, `"empty" requires "lines" or "files"; remove it: the other lists have items`)
		}
	}
	r.checkItems(f)
	before := r.Count()
	if r.checkMatrix(f); r.Count() == before {
		r.checkMatrixPaths(s)
	}
}

func (r *reader) checkItems(f *pawl.Foreach) {
	if len(f.Items) == 1 && r.Scalar(&f.Items) && !computed(f.Items[0]) {
		r.Errorf(&f.Items, "\"items\" must be a list, such as [%s]", f.Items[0])
	}
	if r.Good(&f.Items) && len(f.Items) == 0 {
		r.Errorf(&f.Items, "\"items\" is empty; add an item or remove the step")
	}
	seen := make(map[string]int, len(f.Items))
	for i := range f.Items {
		item := &f.Items[i]
		switch line, repeated := seen[*item]; {
		case !r.Good(item) || computed(*item):
		case strings.TrimSpace(*item) == "":
			r.Errorf(item, "an item is empty; remove it")
		case repeated:
			r.Errorf(item, "duplicate item %q (first used on line %d)", *item, line)
		default:
			seen[*item] = r.Line(item)
		}
	}
}

func (r *reader) checkAccept(s *pawl.Step) {
	for name, command := range s.Accept {
		at := strictyaml.Entry{Of: &s.Accept, Key: name}
		if strings.TrimSpace(name) == "" {
			r.Errorf(at, `a check in "accept" has no name`)
		}
		if r.Good(at) && strings.TrimSpace(command) == "" {
			r.Errorf(at, "check %q is empty; set a command", name)
		}
	}
}

func (r *reader) checkShell(shell *pawl.Shell) {
	if !r.Good(shell) {
		return
	}
	if err := shell.Check(); err != nil {
		r.Errorf(shell, "%v", err)
	}
}

func (r *reader) checkLimits(timeout, stall, estimate *pawl.Duration, retry *pawl.Retry) {
	r.positive(timeout, "timeout")
	r.positive(stall, "stall")
	r.positive(estimate, "estimate")
	r.checkRetry(retry)
}

func (r *reader) checkRetry(retry *pawl.Retry) {
	r.atLeastOne(&retry.Attempts, retry.Attempts, "attempts")
	if longest := pawl.Duration(pawl.MaxBackoff); r.Good(&retry.Backoff) && retry.Backoff > longest {
		r.Errorf(&retry.Backoff, `"backoff" must be at most %s, not %s`, longest, retry.Backoff)
	}
}

func (r *reader) positive(d *pawl.Duration, key string) {
	if r.Good(d) && *d == 0 {
		r.Errorf(d, "%q must be greater than 0s; remove the key to use the default", key)
	}
}

func (r *reader) atLeastOne(pointer any, n int, key string) {
	if r.Good(pointer) && n < 1 {
		r.Errorf(pointer, "%q must be at least 1, not %d", key, n)
	}
}

func (r *reader) oneLine(pointer any, text string) {
	if r.Good(pointer) && strings.ContainsAny(text, "\n\r") {
		r.Errorf(pointer, "a name must be a single line")
	}
}

func (r *reader) oneOf(pointer any, word, key string, words ...string) {
	if r.Good(pointer) && word != "" && !slices.Contains(words, word) {
		r.Errorf(pointer, "unknown %s %q; %s", key, word, strictyaml.DidYouMean(word, words))
	}
}
