package planfile

import (
	"maps"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/stepenv"
	"pawl/internal/strictyaml"
)

// MissingVariables reports the references in a plan's env to variables that are not set, each with its position in file.
func MissingVariables(name string, plan *pawl.Plan, file *strictyaml.File, variables []string) error {
	r := &reader{File: file.Without()}
	envs := []*pawl.Env{&plan.Env, &plan.Defaults.Env}
	for _, step := range plan.Steps() {
		envs = append(envs, &step.Env)
	}
	for _, h := range []*pawl.Handler{plan.OnSuccess, plan.OnFailure} {
		if h != nil {
			envs = append(envs, &h.Env)
		}
	}
	for i := range plan.Notify {
		n := &plan.Notify[i]
		if envs = append(envs, &n.Headers); n.Webhook != nil {
			r.missing(n.Webhook, n.Webhook.Value, variables)
		}
	}
	for _, env := range envs {
		for target, v := range *env {
			r.missing(strictyaml.Entry{Of: env, Key: target}, v.Value, variables)
		}
	}
	if err := r.Err(name); err != nil {
		return &pawl.Error{Kind: pawl.KindUsage, Err: err}
	}
	return nil
}

// missing reports the references in a value to variables that are not set.
func (r *reader) missing(at any, value string, variables []string) {
	t, err := stepenv.Parse(value)
	if err != nil {
		return
	}
	names, optional := t.Names()
	for i, name := range names {
		if !optional[i] && slices.Contains(variables, name) {
			r.Errorf(at, "variable %s is not set; set it, or write ${%s:-default}", name, name)
		}
	}
}

func (r *reader) checkEnv(env *pawl.Env) {
	for name, v := range *env {
		at := strictyaml.Entry{Of: env, Key: name}
		switch {
		case !stepenv.IsName(name):
			r.Errorf(at, "invalid environment variable name %q; use letters, digits and '_'", name)
		case strings.HasPrefix(name, "PAWL_"):
			r.Errorf(at, "environment variable %q is reserved; choose a name without the prefix PAWL_", name)
		case r.Good(at):
			r.checkValue(at, name, v)
		}
	}
}

// checkValue checks the value of a variable.
func (r *reader) checkValue(at any, name string, v pawl.Variable) {
	t, err := stepenv.Parse(v.Value)
	if err != nil {
		r.Errorf(at, "environment variable %q: %v", name, err)
		return
	}
	if names, _ := t.Names(); v.Secret && len(names) == 0 {
		r.Errorf(at, "environment variable %q is a secret, so its value must not be in the plan; refer to a variable of the caller: $%s", name, name)
	}
}

// maxParams is the maximum number of parameters of a plan.
const maxParams = 200

func (r *reader) checkParams(p *pawl.Plan) {
	if len(p.Params) > maxParams {
		r.Errorf(&p.Params, "the plan has %d parameters; the maximum is %d", len(p.Params), maxParams)
		return
	}
	folded := map[string]string{}
	for _, name := range p.ParamNames() {
		at := strictyaml.Entry{Of: &p.Params, Key: name}
		param := p.Params[name]
		variable := pawl.ParamVar(name)
		switch other, twice := folded[variable]; {
		case !r.Good(at):
		case !stepenv.IsName(name) || len(name) > 64:
			r.Errorf(at, "invalid parameter name %q: use 1 to 64 letters, digits or '_', and no digit first", name)
		case twice:
			r.Errorf(at, "parameters %q and %q differ only in case; rename one of them", other, name)
		default:
			param = r.checkParam(at, name, param)
		}
		folded[variable] = name
		p.Params[name] = param
	}
}

// checkParam checks a parameter and returns it with its defaults.
func (r *reader) checkParam(at any, name string, param pawl.Parameter) pawl.Parameter {
	if param.Type == "" {
		param.Type = pawl.StringParam
	}
	if !slices.Contains(pawl.ParamTypes, param.Type) {
		types := make([]string, len(pawl.ParamTypes))
		for i, t := range pawl.ParamTypes {
			types[i] = string(t)
		}
		r.Errorf(at, "unknown type %q of parameter %q; %s", param.Type, name, strictyaml.DidYouMean(string(param.Type), types))
		return param
	}
	switch enum := param.Type == pawl.EnumParam; {
	case param.Default != nil && param.Type != pawl.ListParam && r.Good(param.Default) && !r.Scalar(param.Default):
		r.Errorf(at, "the default of parameter %q is a list; use type: list", name)
	case enum && len(param.Options) == 0:
		r.Errorf(at, "parameter %q has type enum and needs \"options\"", name)
	case !enum && len(param.Options) > 0:
		r.Errorf(at, "parameter %q has options; they require type: enum", name)
	case param.Secret && param.Default != nil:
		r.Errorf(at, "parameter %q is a secret, so its value must not be in the plan; remove the default", name)
	case param.Required && param.Default != nil:
		r.Errorf(at, "parameter %q is required, so it has no default; remove one of them", name)
	case param.Default != nil:
		value, err := param.Parse(string(*param.Default))
		if err != nil {
			r.Errorf(at, "default of parameter %q: %v", name, err)
		}
		param.Default = new(pawl.ParamValue(value))
	}
	r.oneLine(at, param.Description)
	return param
}

// maxDotenvFiles is the maximum number of dotenv files of a plan.
const maxDotenvFiles = 20

func (r *reader) checkDotenv(files []string) {
	if len(files) > maxDotenvFiles {
		r.Errorf(&files[0], "the plan has %d dotenv files; the maximum is %d", len(files), maxDotenvFiles)
	}
	r.checkPaths(files, "a dotenv file")
	for i := range files {
		if clean := path.Clean(files[i]); clean == ".pawl" || strings.HasPrefix(clean, ".pawl/") {
			r.Errorf(&files[i], "a dotenv file cannot be in .pawl; that folder is reserved for pawl")
		}
	}
}

// ReadParams reads a file of parameters, YAML or JSON: a mapping of names to values. Parameters that are secrets may be there. A value
// must be of the type that params declare for its name.
func ReadParams(name string, data []byte, params map[string]pawl.Parameter) (map[string]string, error) {
	var file map[string]pawl.ParamValue
	f := strictyaml.Read("parameter file", data, &file)
	values := make(map[string]string, len(file))
	for _, key := range slices.Sorted(maps.Keys(file)) {
		values[key] = string(file[key])
		if param, declared := params[key]; declared {
			checkGiven(f, strictyaml.Entry{Of: &file, Key: key}, param, key, values[key])
		}
	}
	if err := f.Err(name); err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: err}
	}
	return values, nil
}

// checkGiven reports a value in a file that is not of its parameter's type. It does not quote the value of a secret.
func checkGiven(f *strictyaml.File, at strictyaml.Entry, param pawl.Parameter, name, value string) {
	if !f.Good(at) {
		return
	}
	kind := param.Type
	if kind == "" {
		kind = pawl.StringParam
	}
	if kind != pawl.ListParam && !f.Scalar(at) {
		f.Errorf(at, "parameter %s is of type %s, not a list; give one value, or declare it with type: list", name, kind)
		return
	}
	if _, err := param.Parse(value); err != nil && !param.Secret {
		f.Errorf(at, "parameter %s: %v", name, err)
	}
}
