package planfile

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"pawl"
	"pawl/internal/strictyaml"
)

// Limits of includes.
const (
	maxIncludes     = 1_000
	maxIncludeDepth = 10
	maxInlined      = 100_000 // values that aliases stand for, in a plan with includes
)

// Opener reads a file that a plan includes. path is relative to the project and has no "..".
type Opener func(path string) ([]byte, error)

// Loaded is a plan with the files that it includes.
type Loaded struct {
	Plan  *pawl.Plan
	Data  []byte           // a plan file without includes, from which [Read] returns the same plan: the file itself if it has none
	File  *strictyaml.File // positions of the values
	Files []string         // the included files, in order
}

// Load reads a plan and the files that it includes. Its errors are those of [Read].
func Load(name string, data []byte, open Opener) (*Loaded, error) {
	return loadFile(name, data, open, false)
}

func loadFile(name string, data []byte, open Opener, saved bool) (*Loaded, error) {
	var file planFile
	x := &includer{open: open}
	r := &reader{File: strictyaml.ReadWith("plan", data, &file, x.expand), saved: saved}
	r.partial = x.failed
	l := &Loaded{Plan: r.plan(&file), Data: data, File: r.File, Files: x.files}
	if err := r.Err(name); err != nil {
		return nil, EditError(name, err)
	}
	if len(l.Files) == 0 {
		return l, nil
	}
	var err error
	if l.Data, err = x.write(name, l.Plan); err != nil {
		return nil, EditError(name, err)
	}
	return l, nil
}

// LoadIncluded reads a file that other plans include. The steps that it needs may be in those plans.
func LoadIncluded(name string, data []byte, open Opener) (*Loaded, error) {
	var file planFile
	x := &includer{open: open}
	r := &reader{partial: true}
	r.File = strictyaml.ReadWith("plan", []byte("name: included\nversion: 1\n"), &file, func(f *strictyaml.File, root *yaml.Node) {
		x.file, x.root, x.stack = f, root, []string{path.Clean(name)}
		entry := &yaml.Node{Kind: yaml.MappingNode}
		nodes := f.Parse(name, data)
		kind := "steps"
		if nodes != nil && valueOf(nodes, "phases") != nil {
			kind = "phases"
		}
		list := &yaml.Node{Kind: yaml.SequenceNode, Content: x.content(nodes, inclusion{kind: kind, name: name, entry: entry})}
		setKey(root, kind, list)
	})
	l := &Loaded{Plan: r.plan(&file), Data: data, File: r.File, Files: x.files}
	if err := r.Err(name); err != nil {
		return nil, EditError(name, err)
	}
	return l, nil
}

// include is an entry of steps or phases that stands for those of a file.
type include struct {
	Include string   `yaml:"include"`
	Prefix  string   `yaml:"prefix,omitempty"` // before the ids of the steps
	Env     pawl.Env `yaml:"env,omitempty"`
}

// includedFile is an included file without its steps and phases, which are decoded as those of the plan.
type includedFile struct {
	Version  int                       `yaml:"version,omitempty"`
	Name     string                    `yaml:"name,omitempty"`
	Goal     string                    `yaml:"goal,omitempty"`
	Params   map[string]pawl.Parameter `yaml:"params,omitempty"`
	Env      pawl.Env                  `yaml:"env,omitempty"`
	Defaults pawl.Defaults             `yaml:"defaults,omitempty"`
	Phases   yaml.Node                 `yaml:"phases,omitempty"`
	Steps    yaml.Node                 `yaml:"steps,omitempty"`
}

// Noun names the file in messages.
func (includedFile) Noun() string { return "an included file" }

// inclusion is a file that is being included.
type inclusion struct {
	kind  string // steps or phases
	name  string // of the file
	entry *yaml.Node
	include
}

// includer replaces the includes of a plan by what the files have.
type includer struct {
	file    *strictyaml.File
	open    Opener
	root    *yaml.Node
	stack   []string // the files that include one another, from the outermost
	files   []string // all included files
	number  int      // of includes
	failed  bool     // an include is wrong, so steps are missing
	params  map[string]declared
	inlined int // values that aliases stand for
	filled  int // values that included files set for their steps
}

// declared is a parameter of an included file.
type declared struct {
	key, value *yaml.Node
	stack      []string
}

// expand replaces the includes of a plan.
func (x *includer) expand(f *strictyaml.File, root *yaml.Node) {
	x.file, x.root = f, root
	if root.Kind != yaml.MappingNode || !hasIncludes(root) {
		return
	}
	x.inline(root)
	for _, kind := range []string{"steps", "phases"} {
		x.list(valueOf(root, kind), kind)
	}
}

// hasIncludes reports whether steps or phases have an include.
func hasIncludes(root *yaml.Node) bool {
	has := func(list *yaml.Node) bool {
		return list != nil && slices.ContainsFunc(target(list).Content, isInclude)
	}
	if has(valueOf(root, "steps")) || has(valueOf(root, "phases")) {
		return true
	}
	phases := valueOf(root, "phases")
	return phases != nil && slices.ContainsFunc(target(phases).Content, func(phase *yaml.Node) bool { return has(valueOf(target(phase), "steps")) })
}

func isInclude(entry *yaml.Node) bool { return valueOf(target(entry), "include") != nil }

// list replaces the includes in a list of steps or phases.
func (x *includer) list(list *yaml.Node, kind string) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	var all []*yaml.Node
	for _, entry := range list.Content {
		switch {
		case isInclude(entry):
			nodes := x.include(entry, kind)
			x.failed = x.failed || nodes == nil
			all = append(all, nodes...)
			list.Style &^= yaml.FlowStyle
			continue
		case kind == "phases":
			x.list(valueOf(entry, "steps"), "steps")
		}
		all = append(all, entry)
	}
	list.Content = all
}

// include returns what an include stands for: nothing if it is wrong, after reporting why.
func (x *includer) include(entry *yaml.Node, kind string) []*yaml.Node {
	before := x.file.Count()
	in := inclusion{kind: kind, entry: entry}
	x.file.Decode(entry, &in.include, "an include")
	r := &reader{File: x.file}
	if in.Include != "" {
		r.checkPath(&in.Include, in.Include, "an include")
	}
	r.checkEnv(&in.Env)
	if strings.Trim(in.Prefix, idLetters) != "" || len(in.Prefix) > 32 {
		x.file.Errorf(&in.Prefix, "invalid prefix %q: use 1 to 32 letters, digits, '.', '_' or '-'", in.Prefix)
	}
	in.name = path.Clean(in.Include)
	switch at := slices.Index(x.stack, in.name); {
	case x.file.Count() > before:
		return nil
	case x.open == nil:
		x.file.Errorf(&in.Include, "this plan is read without other files, so it cannot include %q", in.name)
		return nil
	case strings.HasPrefix(in.name, ".pawl/"):
		x.file.Errorf(&in.Include, "an include cannot be in .pawl; that folder is reserved for pawl")
		return nil
	case at >= 0:
		x.file.Errorf(&in.Include, "include cycle: %s → %s; remove one of these includes", strings.Join(x.stack[at:], " → "), in.name)
		return nil
	case len(x.stack) == maxIncludeDepth:
		x.file.Errorf(&in.Include, "files include one another more than %d deep: %s", maxIncludeDepth, strings.Join(x.stack, " → "))
		return nil
	case x.number == maxIncludes:
		x.file.Errorf(&in.Include, "the plan has more than %d includes", maxIncludes)
		return nil
	}
	x.number++
	data, err := x.open(in.name)
	if err != nil {
		x.file.Errorf(&in.Include, "include: %v", err)
		return nil
	}
	if !slices.Contains(x.files, in.name) {
		x.files = append(x.files, in.name)
	}
	x.stack = append(x.stack, in.name)
	nodes := x.content(x.file.Parse(in.name, data), in)
	x.stack = x.stack[:len(x.stack)-1]
	return nodes
}

const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// content returns the steps or phases of an included file, with the values that the file sets for all of them.
func (x *includer) content(root *yaml.Node, in inclusion) []*yaml.Node {
	if root == nil {
		if !x.file.HasErrors(in.name) {
			x.file.ErrorAt(in.entry, "%s is empty; an included file needs %q", in.name, in.kind)
		}
		return nil
	}
	if root.Kind != yaml.MappingNode {
		x.file.ErrorAt(root, "an included file must be a mapping with %q", in.kind)
		return nil
	}
	x.inline(root)
	list := x.listOf(root, in)
	good := x.header(root)
	if list == nil {
		return nil
	}
	if good {
		x.declare(valueOf(root, "params"))
	}
	x.list(list, in.kind)
	steps := stepsIn(list, in.kind)
	if good {
		x.fill(root, steps, in)
	}
	prefix(steps, in.Prefix)
	if nodes := list.Content; len(nodes) > 0 {
		nodes[0].HeadComment = strings.TrimSpace(in.entry.HeadComment + "\n# " + commentText(in.name) + "\n" + nodes[0].HeadComment)
	}
	return list.Content
}

// fill sets in the steps of an included file what the file and its include set for all of them.
func (x *includer) fill(root *yaml.Node, steps []*yaml.Node, in inclusion) {
	left := maxFilled - x.filled
	scope := scopeOf(root, in.entry, &left)
	for _, step := range steps {
		scope.fill(step)
	}
	if x.filled = maxFilled - left; left < 0 {
		x.file.ErrorAt(root, "included files set more than %d values for their steps; move variables into the env of the plan", maxFilled)
		x.filled = 0
	}
}

// listOf returns the list of an included file's steps or phases.
func (x *includer) listOf(root *yaml.Node, in inclusion) *yaml.Node {
	list := valueOf(root, in.kind)
	other := map[string]string{"steps": "phases", "phases": "steps"}[in.kind]
	switch wrong := keyOf(root, other); {
	case wrong != nil && list != nil:
		x.file.ErrorAt(wrong, "an included file has either steps or phases")
	case wrong != nil:
		x.file.ErrorAt(wrong, `this file has %s; include it in a list of %s, or write %s`, other, other, in.kind)
	case list == nil:
		x.file.ErrorAt(root, "an included file needs %q", in.kind)
	case list.Kind == yaml.SequenceNode && len(list.Content) == 0:
		x.file.ErrorAt(list, "%q is empty; add one", in.kind)
	case list.Kind != yaml.SequenceNode:
		x.file.ErrorAt(list, "%q must be a list", in.kind)
	default:
		return list
	}
	return nil
}

// header checks the values of an included file apart from its steps and phases, and reports whether they are valid.
func (x *includer) header(root *yaml.Node) bool {
	before := x.file.Count()
	header := *root
	header.Content = nil
	own := yamlKeys(reflect.TypeFor[includedFile]())
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch key := root.Content[i]; {
		case key.Value == "steps" || key.Value == "phases":
		case !slices.Contains(own, key.Value) && slices.Contains(yamlKeys(reflect.TypeFor[planFile]()), key.Value):
			x.file.ErrorAt(key, "an included file cannot set %q, which is for the whole plan; set it in the plan", key.Value)
		default:
			header.Content = append(header.Content, key, root.Content[i+1])
		}
	}
	var h includedFile
	x.file.Decode(&header, &h, "an included file")
	r := &reader{File: x.file}
	r.checkVersion(&h.Version)
	r.checkEnv(&h.Env)
	r.checkDefaults(&h.Defaults)
	return x.file.Count() == before
}

// yamlKeys returns the keys of a struct.
func yamlKeys(t reflect.Type) (keys []string) {
	for _, field := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		keys = append(keys, key)
	}
	return keys
}

// declare adds parameters of an included file to the plan. A parameter that the plan, or the file that includes this one,
// declares too is as declared there.
func (x *includer) declare(params *yaml.Node) {
	if params == nil || params.Kind != yaml.MappingNode {
		return
	}
	if x.params == nil {
		x.params = map[string]declared{}
		if plan := valueOf(x.root, "params"); plan != nil && plan.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(plan.Content); i += 2 {
				x.params[plan.Content[i].Value] = declared{key: plan.Content[i], value: plan.Content[i+1]}
			}
		}
	}
	for i := 0; i+1 < len(params.Content); i += 2 {
		key, value := params.Content[i], params.Content[i+1]
		other, has := x.params[key.Value]
		switch {
		case !has:
			x.params[key.Value] = declared{key, value, slices.Clone(x.stack)}
			all := valueOf(x.root, "params")
			if all == nil {
				all = &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}
				setKey(x.root, "params", all)
			}
			all.Content = append(all.Content, key, value)
		case len(other.stack) < len(x.stack) && slices.Equal(other.stack, x.stack[:len(other.stack)]):
		case !same(other.value, value):
			x.file.ErrorAt(key, "parameter %q is declared differently in %s; declare it in the plan", key.Value, x.file.NameOf(other.key))
		}
	}
}

// inline replaces aliases by copies of what they stand for, because anchors of different files may have the same name.
func (x *includer) inline(n *yaml.Node) {
	n.Anchor = ""
	for i, inner := range n.Content {
		if inner.Kind == yaml.AliasNode {
			inner = x.copied(inner.Alias)
			n.Content[i] = inner
		}
		x.inline(inner)
	}
}

// copied returns a copy of a node, without its comments. Too large a copy is cut and reported.
func (x *includer) copied(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if x.inlined++; x.inlined >= maxInlined {
		if x.inlined == maxInlined {
			x.file.ErrorAt(n, "the aliases in a plan with includes expand to more than %d values; write the values out", maxInlined)
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Line: n.Line, Column: n.Column}
	}
	clone := *n
	clone.Anchor, clone.HeadComment, clone.LineComment, clone.FootComment = "", "", "", ""
	clone.Content = make([]*yaml.Node, len(n.Content))
	for i, inner := range n.Content {
		clone.Content[i] = x.copied(inner)
	}
	return &clone
}

// write returns the plan file without includes.
func (x *includer) write(name string, plan *pawl.Plan) ([]byte, error) {
	title := fmt.Sprintf("# This is %s with what it includes: %s.\n", path.Base(commentText(name)), commentText(strings.Join(x.files, ", ")))
	for range 2 {
		data, err := yaml.Dump(x.root, yaml.WithLineWidth(-1))
		if err != nil {
			return nil, fmt.Errorf("write the plan with its includes: %w", err)
		}
		data = append([]byte(title), data...)
		again, err := ReadSaved(name, data)
		if err == nil && reflect.DeepEqual(plan, again) {
			return data, nil
		}
		if errs, is := errors.AsType[*Errors](err); is && errs.TooLarge {
			return nil, fmt.Errorf("%s is too large with what it includes: %s", name, errs.Faults[0].Text)
		}
		withoutComments(x.root) // a comment at an odd place may be written where it means something else
	}
	return nil, fmt.Errorf("%s: the plan with its includes cannot be written as one file; write unusual values in quotes", name)
}

func withoutComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, inner := range n.Content {
		withoutComments(inner)
	}
}

// commentText returns text without characters that end a comment.
func commentText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, text)
}
