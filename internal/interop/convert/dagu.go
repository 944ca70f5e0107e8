package convert

import (
	"strings"
	"time"
	"unicode"

	"pawl"
	"pawl/internal/strictyaml"
)

// dagu converts a DAG of dagu, with keys in snake case or in camel case.
type dagu struct {
	*draft
	list     []*daguStep
	ids      map[string]pawl.StepID // by name and by id
	names    map[string]string      // name of a parameter in dagu → in the plan
	consts   map[string]string
	env      map[string]string // static variables
	exports  []export
	paramEnv pawl.Env // variables with the values of parameters
	args     int      // number of positional parameters
	shell    *node
	dir      string
	setup    []pawl.StepID // steps before the first one
}

// daguStep is a step of a DAG.
type daguStep struct {
	body  *node
	id    pawl.StepID
	name  string
	group int  // steps of one group run at the same time, groups one after another
	leaf  bool // no step depends on it
}

// snake returns a key in snake case.
func snake(key string) string {
	var text strings.Builder
	for i, c := range key {
		if unicode.IsUpper(c) {
			if i > 0 {
				text.WriteByte('_')
			}
			c = unicode.ToLower(c)
		}
		text.WriteRune(c)
	}
	switch name := text.String(); name {
	case "dir":
		return "working_dir"
	case "precondition":
		return "preconditions"
	case "executor":
		return "type"
	default:
		return name
	}
}

// get returns the value of a key, however its case is.
func get(n *node, key string) *node {
	for _, f := range fieldsOf(n) {
		if snake(f.Name) == key && f.Value.Kind != strictyaml.NoValue {
			return f.Value
		}
	}
	return nil
}

func (d *dagu) convert(job string) error {
	if job != "" {
		return usage("", "%s: --job is for workflows and Taskfiles; a DAG is converted as a whole", d.file)
	}
	d.plan.Name = nameOf(d.file, d.root.Get("name"))
	d.paramEnv = pawl.Env{}
	d.names, d.consts, d.env, d.ids = map[string]string{}, map[string]string{}, map[string]string{}, map[string]pawl.StepID{}
	d.shell = get(d.root, "shell")
	for _, f := range d.root.Fields {
		d.topKey(snake(f.Name), f)
	}
	d.params(get(d.root, "params"))
	d.constants(get(d.root, "consts"))
	d.topEnv()
	if dir := get(d.root, "working_dir"); dir.Scalar() {
		d.dir = d.path(dir, "working_dir", dir.Text)
	}
	d.findSteps()
	d.before()
	for _, s := range d.list {
		d.step(s)
	}
	d.handlers()
	return nil
}

// without are keys that a plan does not need, with the reason.
var withoutInDagu = map[string]string{
	"log_dir": "pawl keeps the output of each attempt below .pawl", "hist_retention_days": "see pawl archive and pawl prune", "hist_retention_runs": "see pawl archive and pawl prune",
	"tags": "not needed", "labels": "not needed", "group": "not needed", "queue": "pawl runs one run of a project at a time",
	"max_active_runs": "pawl runs one run of a project at a time", "max_clean_up_time_sec": "not needed", "max_output_size": "not needed; output_cap in .pawl/config.yaml limits stored output",
	"log_output": "not needed", "artifacts": "steps write to PAWL_OUT what they want to keep", "run_config": "not needed", "otel": "traces are configured in your own settings, or by OTEL_EXPORTER_OTLP_ENDPOINT",
	"skip_if_successful": "not needed: a plan has no schedule", "catchup_window": "not needed: a plan has no schedule", "overlap_policy": "not needed: a plan has no schedule",
	"restart_wait_sec": "not needed", "webhook": "a run starts with pawl run", "worker_selector": "pawl runs the steps on this machine", "resources": "pawl does not limit memory or CPU time",
}

func (d *dagu) topKey(key string, f strictyaml.Field) {
	switch key {
	case "name", "steps", "params", "env", "dotenv", "secrets", "working_dir", "type", "shell", "shell_args", "handler_on", "preconditions", "consts", "defaults":
	case "description":
		d.plan.Goal = strings.TrimSpace(f.Value.Text)
	case "schedule":
		d.schedule(f.Value)
	case "max_active_steps":
		d.plan.Parallel = numberOf(f.Value)
	case "timeout_sec":
		d.note(f.Value, f.Name, "pawl has no limit for a whole run; budget: {time: %s} pauses it after that much step time", pawl.Duration(time.Duration(numberOf(f.Value))*time.Second))
	case "delay_sec", "retry_policy", "mail_on", "smtp", "error_mail", "info_mail", "tools", "actions", "step_types", "ssh", "s3", "llm", "harness", "harnesses", "registry_auths", "tasks":
		d.aside(f.Value, f.Name, "pawl has no such key")
	case "container":
		d.lost(f.Value, f.Name, "the steps do not run in a container; add docker run to the commands, or remove this line")
	default:
		if why := withoutInDagu[key]; why != "" {
			d.note(f.Value, f.Name, "%s", why)
			return
		}
		d.aside(f.Value, f.Name, "unknown key of a DAG")
	}
}

func (d *dagu) schedule(n *node) {
	for _, cron := range texts(n) {
		d.note(cron, "schedule", "a plan has no schedule; install one: pawl run --schedule %q --install", cron.Text)
	}
	for _, element := range append([]*node{n}, listOf(n)...) {
		for _, f := range element.Fields {
			if f.Name == "start" || f.Name == "cron" || f.Name == "at" {
				d.schedule(f.Value)
				continue
			}
			d.aside(f.Value, "schedule."+f.Name, "have cron run pawl stop, or pawl run --new")
		}
	}
}

// findSteps reads the list or mapping of steps, and gives each an id.
func (d *dagu) findSteps() {
	n := d.root.Get("steps")
	for _, f := range fieldsOf(n) {
		d.found(f.Value, f.Name, len(d.list))
	}
	for i, element := range listOf(n) {
		if element.Kind == strictyaml.List {
			for _, one := range element.List {
				d.found(one, "", i)
			}
			continue
		}
		d.found(element, "", i)
	}
	needed := map[string]bool{}
	for _, s := range d.list {
		for _, need := range texts(get(s.body, "depends")) {
			needed[need.Text] = true
		}
	}
	chain := d.inOrder()
	for i, s := range d.list {
		id := get(s.body, "id")
		s.leaf = !needed[s.name] && !(id.Scalar() && needed[id.Text]) && (!chain || i == len(d.list)-1)
	}
}

func (d *dagu) found(n *node, name string, group int) {
	if n.Scalar() {
		n = &node{Line: n.Line, Column: n.Column, Kind: strictyaml.Mapping, Fields: []strictyaml.Field{{Name: "command", Line: n.Line, Column: n.Column, Value: n}}}
	}
	if n.Kind != strictyaml.Mapping {
		d.aside(n, "steps", "a step is a mapping or a command")
		return
	}
	s := &daguStep{body: n, name: name, group: group}
	if v := get(n, "name"); v.Scalar() {
		s.name = oneLine(v.Text)
	}
	id := get(n, "id")
	switch command := firstNode(get(n, "run"), get(n, "command"), get(n, "script")); {
	case id.Scalar() && id.Text != "":
		s.id = d.id(id.Text)
	case s.name != "":
		s.id = d.id(s.name)
	default:
		text := firstText(command)
		if rest, script := strings.CutPrefix(text, "#!"); script {
			_, text, _ = strings.Cut(rest, "\n")
		}
		words := strings.Fields(oneLine(text))
		s.id = d.id(strings.ToLower(slugOf(strings.Join(words[:min(len(words), 3)], " "))))
	}
	for _, known := range []string{s.name, orEmpty(id).Text} {
		if known != "" {
			d.ids[known] = s.id
		}
	}
	d.list = append(d.list, s)
}

// firstText returns a scalar, or the first one of a list.
func firstText(n *node) string {
	if all := texts(n); len(all) > 0 {
		return all[0].Text
	}
	return ""
}

// inOrder reports whether steps without depends run one after another.
func (d *dagu) inOrder() bool {
	if kind := get(d.root, "type"); kind.Scalar() && (kind.Text == "chain" || kind.Text == "graph") {
		return kind.Text == "chain"
	}
	for _, s := range d.list {
		if get(s.body, "depends") != nil {
			return false
		}
	}
	return true
}

// needs returns the steps that a step needs.
func (d *dagu) needs(s *daguStep) []pawl.StepID {
	depends := get(s.body, "depends")
	if depends == nil && d.inOrder() {
		return d.groupBefore(s)
	}
	ids := []pawl.StepID{}
	for _, need := range texts(depends) {
		if id, known := d.ids[need.Text]; known {
			ids = append(ids, id)
		} else {
			d.lost(need, "depends", "no step is called %q", need.Text)
		}
	}
	if len(ids) == 0 {
		ids = append(ids, d.setup...)
	}
	return unique(ids)
}

// groupBefore returns the steps of the group before that of a step.
func (d *dagu) groupBefore(s *daguStep) []pawl.StepID {
	ids, group := append([]pawl.StepID{}, d.setup...), -1
	for _, other := range d.list {
		if other.group >= s.group {
			break
		}
		if other.group != group {
			ids, group = nil, other.group
		}
		ids = append(ids, other.id)
	}
	return unique(ids)
}

func unique(ids []pawl.StepID) []pawl.StepID {
	seen, all := map[pawl.StepID]bool{}, []pawl.StepID{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			all = append(all, id)
		}
	}
	return all
}
