package pawl

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxPlanSize is the size in bytes of the largest plan that is read.
const MaxPlanSize = 16 << 20

// Limits that keep a hostile plan from taking more than a second or so. The YAML scanner takes up to 1.5 KB and 4 µs for
// each mark in a flow collection, and a fraction of that where none has begun.
const (
	maxPlanMarks  = 200_000 // lines, separators, brackets and quotes behind the first bracket that is not closed at once
	maxBlockMarks = 600_000 // in all
	maxExpanded   = 100_000 // values read through aliases
	maxPlanErrors = 1_000   // the rest is not told
)

// PlanError is one thing that is wrong with a plan. Lines and columns count from 1, columns in characters.
type PlanError struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"` // what is wrong and how to mend it
}

// PlanErrors is everything that is wrong with a plan, by position.
type PlanErrors struct {
	Name   string      `json:"name"` // of the file
	Errors []PlanError `json:"errors"`

	TooLarge bool `json:"-"` // it was not even read
}

// Error returns one line for each error: file:line:column: what is wrong; how to mend it.
func (e *PlanErrors) Error() string {
	lines := make([]string, len(e.Errors))
	for i, p := range e.Errors {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", e.Name, p.Line, p.Column, p.Text)
	}
	if len(lines) == maxPlanErrors {
		lines = append(lines, fmt.Sprintf("%s: these are the first %d errors found; there may be more", e.Name, maxPlanErrors))
	}
	return strings.Join(lines, "\n")
}

// ReadPlan reads a plan strictly and fills in the defaults, except for the parallel of the plan, which stays 0 and means
// the number of processors, and that of a step, where 0 means the plan's. Name is the file's, for messages.
//
// The error is an [Error] of KindUsage around a [PlanErrors] with all that is wrong with the file by itself. What takes a
// look at the disk (lists that are missing, links that lead out of the project) is checked when the plan is run.
func ReadPlan(name string, data []byte) (*Plan, error) {
	r := newPlanReader("plan")
	plan := r.read(data)
	if err := r.err(name); err != nil {
		return nil, &Error{Kind: KindUsage, Err: err, Hint: "pawl plan check " + quoted(name)}
	}
	return plan, nil
}

// ReadYAML reads a file of another kind, which messages call noun, as strictly as a plan, into a pointer to a struct
// whose fields have yaml tags. A file that says nothing leaves it as it is. Check, which may be nil, looks at what was
// read: wrong notes what is wrong with the value behind a pointer, if the file gives that value at all.
func ReadYAML(name, noun string, data []byte, into any, check func(wrong func(pointer any, format string, args ...any))) error {
	r := newPlanReader(noun)
	if root := r.parse(data); root != nil {
		r.decode(place{value: root}, reflect.ValueOf(into).Elem(), "a "+noun)
	}
	if check != nil {
		check(func(pointer any, format string, args ...any) {
			if r.good(pointer) {
				r.errorf(pointer, format, args...)
			}
		})
	}
	if err := r.err(name); err != nil {
		return &Error{Kind: KindUsage, Err: err}
	}
	return nil
}

func newPlanReader(noun string) *planReader {
	return &planReader{noun: noun, told: map[PlanError]bool{}, at: map[any]place{}, keys: map[reflect.Type]*structKeys{}}
}

// err returns all that is wrong with the file, nil where nothing is.
func (r *planReader) err(name string) error {
	if len(r.errors) == 0 {
		return nil
	}
	slices.SortStableFunc(r.errors, func(a, b PlanError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return &PlanErrors{Name: name, Errors: r.errors, TooLarge: r.tooLarge}
}

// quoted returns s so that a shell takes it for one word.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// planFile is a plan as it is written: bare steps stand for one phase.
type planFile struct {
	Plan
	Steps []Step `yaml:"steps,omitempty" json:"steps,omitempty"`
}

// planReader decodes YAML nodes into a plan and remembers where each value stands.
type planReader struct {
	noun     string // what messages call the file
	errors   []PlanError
	tooLarge bool
	told     map[PlanError]bool // an alias repeats what is wrong
	at       map[any]place      // pointer to the value, or an entry, → where it stands
	keys     map[reflect.Type]*structKeys
	aliases  int // that we are inside of
	expanded int // values read inside of aliases
}

// place is where a value stands.
type place struct {
	key   *yaml.Node // nil for an element of a list
	value *yaml.Node
	bad   bool // of the wrong type, so the value read says nothing
}

// entry is a value in a map, which has no address of its own.
type entry struct {
	of  any // pointer to the map
	key string
}

// node returns what to point at: the value where it is on one line with its key, else the key.
func (p place) node() *yaml.Node {
	if p.key != nil && (p.value.Kind != yaml.ScalarNode || p.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0) {
		return p.key
	}
	return p.value
}

// given reports whether the plan says anything about this value.
func (r *planReader) given(pointer any) bool {
	_, ok := r.at[pointer]
	return ok
}

// good reports whether the plan gives this value and its type is right.
func (r *planReader) good(pointer any) bool {
	p, ok := r.at[pointer]
	return ok && !p.bad
}

// line returns where the value stands, for messages.
func (r *planReader) line(pointer any) int {
	if p, ok := r.at[pointer]; ok {
		return p.node().Line
	}
	return 1
}

// errorf notes what is wrong with a value.
func (r *planReader) errorf(pointer any, format string, args ...any) {
	if p, ok := r.at[pointer]; ok {
		r.errorAt(p.node().Line, p.node().Column, format, args...)
		return
	}
	r.errorAt(1, 1, format, args...)
}

func (r *planReader) errorAt(line, column int, format string, args ...any) {
	if len(r.errors) == maxPlanErrors {
		return
	}
	e := PlanError{Line: max(line, 1), Column: max(column, 1), Text: fmt.Sprintf(format, args...)}
	if !r.told[e] {
		r.told[e] = true
		r.errors = append(r.errors, e)
	}
}

// read returns the plan in data; it is of use only when no errors were noted.
func (r *planReader) read(data []byte) *Plan {
	root := r.parse(data)
	if root == nil {
		if len(r.errors) == 0 {
			r.errorAt(1, 1, "the plan is empty; it needs a name and steps")
		}
		return nil
	}
	var file planFile
	r.decode(place{value: root}, reflect.ValueOf(&file).Elem(), "a plan")
	plan := &file.Plan
	switch {
	case !r.good(&file):
		return nil
	case r.given(&file.Steps) && r.given(&plan.Phases):
		r.errorf(&file.Steps, "a plan has phases (line %d) or steps, not both; put the steps into a phase", r.line(&plan.Phases))
	case r.given(&file.Steps):
		plan.Phases = []Phase{{Name: plan.Name, Steps: file.Steps}}
		r.at[&plan.Phases[0]] = r.at[&file.Steps]
		r.at[&plan.Phases[0].Steps] = r.at[&file.Steps]
	case !r.given(&plan.Phases):
		r.errorf(&file, "a plan needs \"steps\" or \"phases\"; add one of them")
	}
	r.fillPlan(plan)
	r.checkPlan(plan)
	return plan
}

// parse returns the one YAML document in data, nil where there is none or after noting why it cannot be read.
func (r *planReader) parse(data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !r.isText(data) {
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		r.errorAt(1, 1, "%v", err)
		return nil
	}
	var document, second yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF), err == nil && isEmpty(&document):
		return nil
	case err != nil:
		r.syntax(err, data)
		return nil
	}
	if err := loader.Load(&second); err == nil {
		r.errorAt(second.Line, second.Column, "a second document begins here; a file holds one %s", r.noun)
	} else if !errors.Is(err, io.EOF) {
		r.syntax(err, data)
	}
	return document.Content[0]
}

func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null"
}

// isText reports whether data may be given to the YAML parser, and notes why not.
func (r *planReader) isText(data []byte) bool {
	if len(data) > MaxPlanSize {
		r.tooLarge = true
		r.errorAt(1, 1, "the file has %d MiB; a %s has at most %d MiB: is this the right file?", len(data)>>20, r.noun, MaxPlanSize>>20)
		return false
	}
	line, column, marks, inFlow := 1, 1, 0, 0
	for i := 0; i < len(data); {
		c, width := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && width == 1 || !isPlanText(c) {
			r.errorAt(line, column, "this is not a text file: byte %d is 0x%02x; a %s is YAML in UTF-8", i, data[i], r.noun)
			return false
		}
		switch c {
		case '\r', '\n', ',', '[', ']', '{', '}', '&', '*', '!', '?', ':', '"', '\'', '-':
			marks++
			if inFlow > 0 || opensFlow(data[i:]) {
				inFlow++
			}
		}
		i += width
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	limit := maxBlockMarks
	if inFlow > maxPlanMarks {
		marks, limit = inFlow, maxPlanMarks
	}
	if marks > limit {
		r.tooLarge = true
		r.errorAt(1, 1, "the %s is too large: it has %d lines, separators, brackets and quotes, %d may be; "+
			"split it, or move long lists and scripts into files", r.noun, marks, limit)
		return false
	}
	return true
}

// opensFlow reports whether text may open a flow collection with something in it.
func opensFlow(text []byte) bool {
	return (text[0] == '[' || text[0] == '{') && !bytes.HasPrefix(text, []byte("[]")) && !bytes.HasPrefix(text, []byte("{}"))
}

// isPlanText reports whether YAML allows the character.
func isPlanText(c rune) bool {
	switch {
	case c < ' ':
		return c == '\t' || c == '\n' || c == '\r'
	case c >= 0x7f && c < 0xa0:
		return c == 0x85
	}
	return c != '\uFEFF' && c != 0xfffe && c != 0xffff
}

// syntax notes an error of the YAML parser.
func (r *planReader) syntax(err error, data []byte) {
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		r.errorAt(1, 1, "this is not YAML: %v", err)
		return
	}
	text := "this is not YAML: " + load.Message
	if load.ContextMsg != "" {
		text += " " + load.ContextMsg
	}
	lines := bytes.Split(data, []byte("\n"))
	if n := load.Mark.Line; n > 0 && n <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[n-1], " "), []byte("\t")) {
		text += "; indent with spaces, not tabs"
	}
	r.errorAt(load.Mark.Line, load.Mark.Column, "%s", text)
}

// decode reads a node into v, which is called what in messages.
func (r *planReader) decode(p place, v reflect.Value, what string) {
	if p.value.Kind == yaml.AliasNode {
		p.value = p.value.Alias
		r.aliases++
		defer func() { r.aliases-- }()
	}
	if r.aliases > 0 {
		r.expanded++
		if r.expanded == maxExpanded {
			r.errorAt(p.value.Line, p.value.Column, "the aliases in this %s stand for more than %d values; write them out", r.noun, maxExpanded)
		}
		if r.expanded >= maxExpanded {
			p.bad = true
			r.at[v.Addr().Interface()] = p
			return
		}
	}
	if v.Kind() == reflect.Pointer {
		r.at[v.Addr().Interface()] = p
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	pointer := v.Addr().Interface()
	r.at[pointer] = p
	if !r.decodeValue(p.value, v, what) {
		p.bad = true
		r.at[pointer] = p
	}
}

// decodeValue reports whether the node has the right type. Trouble inside lists and maps is noted with their elements.
func (r *planReader) decodeValue(n *yaml.Node, v reflect.Value, what string) bool {
	switch value := v.Addr().Interface().(type) {
	case *Duration:
		return r.decodeDuration(n, v, what)
	case encoding.TextUnmarshaler:
		return r.decodeText(n, value, what)
	}
	switch v.Kind() {
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			return r.wrongType(n, what, "keys with values")
		}
		r.decodeStruct(n, v)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return r.wrongType(n, what, "a list")
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, element := range n.Content {
			r.decode(place{value: element}, v.Index(i), "an element of "+what)
		}
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			return r.wrongType(n, what, "keys with values")
		}
		r.decodeMap(n, v, what)
	default:
		return r.decodeScalar(n, v, what)
	}
	return true
}

func (r *planReader) decodeStruct(n *yaml.Node, v reflect.Value) {
	keys := r.keysOf(v.Type())
	pointer := func(key string) any { return v.FieldByIndex(keys.fields[key]).Addr().Interface() }
	r.pairs(n, func(key, value *yaml.Node) {
		if index, ok := keys.fields[key.Value]; ok {
			r.decode(place{key: key, value: value}, v.FieldByIndex(index), strconv.Quote(key.Value))
			return
		}
		r.errorAt(key.Line, key.Column, "unknown key %q in %s; %s", key.Value, keys.word, didYouMean(key.Value, keys.all))
		if near := nearest(key.Value, keys.all); near != "" && !r.given(pointer(near)) {
			r.at[pointer(near)] = place{key: key, value: value, bad: true} // it is not missing
		}
	})
	for _, key := range keys.required {
		switch field := v.FieldByIndex(keys.fields[key]); {
		case !r.given(pointer(key)):
			r.errorAt(n.Line, n.Column, "%s has no %q; add it", keys.word, key)
		case field.Kind() == reflect.String && r.good(pointer(key)) && strings.TrimSpace(field.String()) == "":
			r.errorf(pointer(key), "%q is empty; fill it in", key)
		}
	}
}

func (r *planReader) decodeMap(n *yaml.Node, v reflect.Value, what string) {
	v.Set(reflect.MakeMap(v.Type()))
	r.pairs(n, func(key, value *yaml.Node) {
		element := reflect.New(v.Type().Elem())
		r.decode(place{key: key, value: value}, element.Elem(), fmt.Sprintf("%q in %s", key.Value, what))
		r.at[entry{of: v.Addr().Interface(), key: key.Value}] = place{value: key, bad: r.at[element.Interface()].bad}
		v.SetMapIndex(reflect.ValueOf(key.Value), element.Elem())
	})
}

// pairs calls do for each key that is text and stands there once.
func (r *planReader) pairs(n *yaml.Node, do func(key, value *yaml.Node)) {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, repeated := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.errorAt(key.Line, key.Column, "a key must be text")
		case key.ShortTag() == "!!merge":
			r.errorAt(key.Line, key.Column, "merge keys are not read; write the keys out, or use defaults")
		case key.ShortTag() != "!!str":
			r.errorAt(key.Line, key.Column, "a key must be text; write it in quotes: %q", key.Value)
		case strings.ContainsRune(key.Value, 0):
			r.errorAt(key.Line, key.Column, "a key holds a NUL byte; take it out")
		case repeated:
			r.errorAt(key.Line, key.Column, "the key %q is there already, at line %d; take one out", key.Value, line)
		default:
			seen[key.Value] = key.Line
			do(key, n.Content[i+1])
		}
	}
}

func (r *planReader) decodeDuration(n *yaml.Node, v reflect.Value, what string) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return r.wrongType(n, what, "a duration")
	}
	d, err := ParseDuration(n.Value)
	if err != nil || n.ShortTag() != "!!str" {
		r.errorAt(n.Line, n.Column, "%s: %q is not a duration; write it like 90s, 4m or 1h30m", what, n.Value)
		return false
	}
	v.SetInt(int64(d))
	return true
}

// decodeText reads a type that knows itself how it is written.
func (r *planReader) decodeText(n *yaml.Node, value encoding.TextUnmarshaler, what string) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return r.wrongType(n, what, "one value")
	}
	if err := value.UnmarshalText([]byte(n.Value)); err != nil {
		r.errorAt(n.Line, n.Column, "%s: %v", what, err)
		return false
	}
	return true
}

func (r *planReader) decodeScalar(n *yaml.Node, v reflect.Value, what string) bool {
	tags, want := "!!str", "text"
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		tags, want = "!!int", "a whole number"
	case reflect.Float64:
		tags, want = "!!int !!float", "a number"
	case reflect.Bool:
		tags, want = "!!bool", "true or false"
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains(strings.Fields(tags), n.ShortTag()) {
		return r.wrongType(n, what, want)
	}
	if v.Kind() == reflect.String {
		if strings.ContainsRune(n.Value, 0) {
			r.errorAt(n.Line, n.Column, "%s holds a NUL byte; take it out", what)
			return false
		}
		v.SetString(n.Value)
		return true
	}
	if err := n.Decode(v.Addr().Interface()); err != nil {
		r.errorAt(n.Line, n.Column, "%s must be %s, not %q", what, want, n.Value)
		return false
	}
	return true
}

// wrongType notes that the node is not what was wanted, with the likely remedy.
func (r *planReader) wrongType(n *yaml.Node, what, want string) bool {
	text := fmt.Sprintf("%s must be %s, not %s", what, want, kindOf(n))
	switch scalar := n.Kind == yaml.ScalarNode; {
	case n.ShortTag() == "!!null":
		text = what + " has no value; give it one, or leave it out"
	case scalar && want == "text":
		text += fmt.Sprintf("; write it in quotes: %q", n.Value)
	case scalar && want == "a list" && legalID(n.Value):
		text += fmt.Sprintf("; write [%s]", n.Value)
	case want == "a duration":
		text += "; write it like 90s, 4m or 1h30m"
	}
	r.errorAt(n.Line, n.Column, "%s", text)
	return false
}

// kindOf returns the word for what a node is.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "keys with values"
	}
	switch n.ShortTag() {
	case "!!str":
		return "text"
	case "!!int":
		return "a number"
	case "!!float":
		return "a decimal number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	}
	return n.ShortTag()
}

// structKeys are the keys that stand for the fields of a struct.
type structKeys struct {
	word     string           // for the struct: plan, step, gate
	all      []string         // in their order
	required []string         // those that are written even when empty
	fields   map[string][]int // key → index of the field
}

func (r *planReader) keysOf(t reflect.Type) *structKeys {
	if keys := r.keys[t]; keys != nil {
		return keys
	}
	word := strings.TrimSuffix(strings.TrimSuffix(t.Name(), "Action"), "File")
	keys := &structKeys{word: strings.ToLower(word), fields: map[string][]int{}}
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" {
			continue // the plan in a planFile, whose fields are visible too
		}
		keys.all = append(keys.all, key)
		keys.fields[key] = f.Index
		if options != "omitempty" {
			keys.required = append(keys.required, key)
		}
	}
	r.keys[t] = keys
	return keys
}

// didYouMean returns a question about the word of the list that is nearest, or the whole list where none is near.
func didYouMean(word string, list []string) string {
	if near := nearest(word, list); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known are " + strings.Join(list, ", ")
}

// nearest returns the word of the list that is at most two slips away (one for a short word), "" where none is.
func nearest(word string, list []string) string {
	best, least := "", 3
	if len(word) <= 3 {
		least = 2
	}
	for _, candidate := range list {
		if d := slips(strings.ToLower(word), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// slips returns how many letters must be added, dropped, replaced or swapped with their neighbour to make one word of the
// other; 99 where one is long or much longer.
func slips(a, b string) int {
	if len(a) > 64 || len(a) > len(b)+2 || len(b) > len(a)+2 {
		return 99
	}
	var d [65][67]int // d[i][j]: from the first i letters of a to the first j of b
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			d[i][j] = min(d[i-1][j], d[i][j-1], d[i-1][j-1]) + 1
			if a[i-1] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
