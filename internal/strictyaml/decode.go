package strictyaml

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decode decodes a node into v, which messages call what.
func (f *File) decode(p place, v reflect.Value, what string) {
	if p.value.Kind == yaml.AliasNode {
		p.value = p.value.Alias
		f.aliases++
		defer func() { f.aliases-- }()
	}
	if f.aliases > 0 {
		f.expanded++
		if f.expanded == maxExpanded {
			f.errorAt(p.value.Line, p.value.Column, "the aliases in this %s expand to more than %d values; write the values out", f.noun, maxExpanded)
		}
		if f.expanded >= maxExpanded {
			p.bad = true
			f.at[v.Addr().Interface()] = p
			return
		}
	}
	if v.Kind() == reflect.Pointer {
		f.at[v.Addr().Interface()] = p
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	pointer := v.Addr().Interface()
	f.at[pointer] = p
	if !f.decodeValue(p.value, v, what) {
		p.bad = true
		f.at[pointer] = p
	}
}

// decodeValue decodes a node and reports whether it has the right type. Errors in the elements of lists and maps do not count.
func (f *File) decodeValue(n *yaml.Node, v reflect.Value, what string) bool {
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return f.decodeText(n, text, what)
	}
	switch v.Kind() {
	case reflect.Struct:
		if short, ok := v.Addr().Interface().(Shorthand); ok && n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			return f.decodeScalar(n, reflect.ValueOf(short.Short()).Elem(), what)
		}
		if n.Kind != yaml.MappingNode {
			return f.wrongType(n, what, "a mapping", exampleOf(v))
		}
		f.decodeStruct(n, v)
	case reflect.Slice:
		if _, ok := v.Interface().(Ordered); ok {
			return f.decodeOrdered(n, v, what)
		}
		if single, ok := v.Addr().Interface().(Single); ok && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
			single.Single(n.Value)
			f.at[v.Index(0).Addr().Interface()] = place{value: n}
			return true
		}
		if n.Kind != yaml.SequenceNode {
			return f.wrongType(n, what, "a list", "")
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, element := range n.Content {
			f.decode(place{value: element}, v.Index(i), "an element of "+what)
		}
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			return f.wrongType(n, what, "a mapping", "")
		}
		f.decodeMap(n, v, what)
	case reflect.Interface: // any value
		if value := f.tree(n, 0).any(); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	default:
		return f.decodeScalar(n, v, what)
	}
	return true
}

func (f *File) decodeStruct(n *yaml.Node, v reflect.Value) {
	keys := f.keysOf(v.Type())
	pointer := func(key string) any { return v.FieldByIndex(keys.fields[key]).Addr().Interface() }
	f.pairs(n, func(key, value *yaml.Node) {
		switch index, ok := keys.fields[key.Value]; {
		case ok && f.instead(v, key, value):
			f.at[pointer(key.Value)] = place{key: key, value: value, bad: true}
			return
		case ok:
			f.decode(place{key: key, value: value}, v.FieldByIndex(index), strconv.Quote(key.Value))
			return
		}
		near, advice := suggest(v, key.Value, keys)
		f.errorAt(key.Line, key.Column, "unknown key %q in %s; %s", key.Value, keys.word, advice)
		if near != "" && !f.Given(pointer(near)) {
			f.at[pointer(near)] = place{key: key, value: value, bad: true} // it is not missing
		}
	})
	for _, key := range keys.required {
		switch field := v.FieldByIndex(keys.fields[key]); {
		case !f.Given(pointer(key)):
			f.errorAt(n.Line, n.Column, "%s has no %q; %s", keys.word, key, howToAdd(v, key))
		case field.Kind() == reflect.String && f.Good(pointer(key)) && strings.TrimSpace(field.String()) == "":
			f.Errorf(pointer(key), "%q is empty; fill it in", key)
		}
	}
}

// instead reports a value whose type shows that another key is meant, where the struct knows which one.
func (f *File) instead(v reflect.Value, key, value *yaml.Node) bool {
	known, ok := v.Addr().Interface().(interface{ Instead(key, kind string) string })
	if !ok {
		return false
	}
	kind := kindOf(value)
	advice := known.Instead(key.Value, kind)
	if advice != "" {
		f.errorAt(value.Line, value.Column, "%q cannot be %s; %s", key.Value, kind, advice)
	}
	return advice != ""
}

// Elsewhere is a struct that knows keys which other systems use. It returns the key of its own, "" for none, and how to write
// that; both are empty for other keys.
type Elsewhere interface {
	Elsewhere(key string) (own, advice string)
}

// suggest returns the key that an unknown key stands for, "" if that is not clear, and the advice for messages.
func suggest(v reflect.Value, key string, keys *structKeys) (near, advice string) {
	if known, ok := v.Addr().Interface().(Elsewhere); ok {
		own, how := known.Elsewhere(key)
		switch {
		case keys.fields[own] == nil && own == "" && how != "":
			return "", how
		case keys.fields[own] != nil && how != "":
			return own, fmt.Sprintf("did you mean %q? %s", own, how)
		case keys.fields[own] != nil:
			return own, fmt.Sprintf("did you mean %q?", own)
		}
	}
	return Nearest(key, keys.all), DidYouMean(key, keys.all)
}

// howToAdd returns what to do about a missing key.
func howToAdd(v reflect.Value, key string) string {
	if helpful, ok := v.Addr().Interface().(interface{ Missing(key string) string }); ok {
		if how := helpful.Missing(key); how != "" {
			return how
		}
	}
	return "add it"
}

func (f *File) decodeMap(n *yaml.Node, v reflect.Value, what string) {
	v.Set(reflect.MakeMap(v.Type()))
	f.pairs(n, func(key, value *yaml.Node) {
		element := reflect.New(v.Type().Elem())
		f.decode(place{key: key, value: value}, element.Elem(), fmt.Sprintf("%q in %s", key.Value, what))
		f.at[Entry{Of: v.Addr().Interface(), Key: key.Value}] = place{value: key, bad: f.at[element.Interface()].bad, content: value}
		v.SetMapIndex(reflect.ValueOf(key.Value), element.Elem())
	})
}

// Ordered is a list of structs of a key and its value, which a file writes as a mapping. It may have the method of [Elsewhere],
// for keys that it does not allow.
type Ordered interface{ KeepsOrder() }

func (f *File) decodeOrdered(n *yaml.Node, v reflect.Value, what string) bool {
	if n.Kind != yaml.MappingNode {
		return f.wrongType(n, what, "a mapping", exampleOf(v))
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content)/2, len(n.Content)/2))
	length := 0
	f.pairs(n, func(key, value *yaml.Node) {
		if known, ok := v.Interface().(Elsewhere); ok {
			if _, advice := known.Elsewhere(key.Value); advice != "" {
				f.errorAt(key.Line, key.Column, "%q cannot be a key of %s; %s", key.Value, what, advice)
				return
			}
		}
		element := v.Index(length)
		length++
		element.Field(0).SetString(key.Value)
		f.at[element.Addr().Interface()] = place{value: key}
		f.decode(place{key: key, value: value}, element.Field(1), fmt.Sprintf("%q in %s", key.Value, what))
	})
	v.SetLen(length)
	return true
}

// pairs calls do for the first occurrence of each key that is a string.
func (f *File) pairs(n *yaml.Node, do func(key, value *yaml.Node)) {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, repeated := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			f.errorAt(key.Line, key.Column, "a key must be a string")
		case key.ShortTag() == "!!merge":
			f.errorAt(key.Line, key.Column, "merge keys are not supported; write the keys out")
		case key.ShortTag() != "!!str":
			f.errorAt(key.Line, key.Column, "a key must be a string; quote it: %q", key.Value)
		case strings.ContainsRune(key.Value, 0):
			f.errorAt(key.Line, key.Column, "a key contains a NUL byte; remove it")
		case repeated:
			f.errorAt(key.Line, key.Column, "duplicate key %q (first used on line %d)", key.Value, line)
		default:
			seen[key.Value] = key.Line % partLines
			do(key, n.Content[i+1])
		}
	}
}

// Single is a list that a file may also write as its only element, a text.
type Single interface{ Single(text string) }

// Listed is a value with one text that a file may also write as a list.
type Listed interface{ SetList(elements []string) error }

// Noted is a type that decodes itself from text and describes its notation: "a duration", "use a form such as 90s".
type Noted interface {
	encoding.TextUnmarshaler
	Notation() (noun, example string)
}

// decodeText decodes a type that decodes itself.
func (f *File) decodeText(n *yaml.Node, value encoding.TextUnmarshaler, what string) bool {
	noun, example := "one value", ""
	if noted, ok := value.(Noted); ok {
		noun, example = noted.Notation()
	}
	if list, ok := value.(Listed); ok && n.Kind == yaml.SequenceNode {
		return f.decodeListed(n, list, what)
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return f.wrongType(n, what, noun, example)
	}
	if err := value.UnmarshalText([]byte(n.Value)); err != nil {
		f.errorAt(n.Line, n.Column, "%s: %v", what, err)
		return false
	}
	return true
}

// decodeListed decodes a list of scalars into a value that has one text.
func (f *File) decodeListed(n *yaml.Node, value Listed, what string) bool {
	elements := make([]string, len(n.Content))
	for i, element := range n.Content {
		if element.Kind != yaml.ScalarNode || element.ShortTag() == "!!null" {
			return f.wrongType(element, "an element of "+what, "a string", "")
		}
		elements[i] = element.Value
	}
	if err := value.SetList(elements); err != nil {
		f.errorAt(n.Line, n.Column, "%s: %v", what, err)
		return false
	}
	return true
}

func (f *File) decodeScalar(n *yaml.Node, v reflect.Value, what string) bool {
	tags, want := "!!str", "a string"
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		tags, want = "!!int", "an integer"
	case reflect.Float64:
		tags, want = "!!int !!float", "a number"
	case reflect.Bool:
		tags, want = "!!bool", "true or false"
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains(strings.Fields(tags), n.ShortTag()) {
		return f.wrongType(n, what, want, "")
	}
	if v.Kind() == reflect.String {
		if strings.ContainsRune(n.Value, 0) {
			f.errorAt(n.Line, n.Column, "%s contains a NUL byte; remove it", what)
			return false
		}
		v.SetString(n.Value)
		return true
	}
	if err := n.Decode(v.Addr().Interface()); err != nil {
		f.errorAt(n.Line, n.Column, "%s must be %s, not %q", what, want, n.Value)
		return false
	}
	return true
}

// Shorthand is a struct that a file may also write as one value. Short returns a pointer to the field that then gets it.
type Shorthand interface{ Short() any }

// Example is a struct that shows how a file writes it: {attempts: 3}.
type Example interface{ Example() string }

// exampleOf returns how to write a struct, "" where it has no example.
func exampleOf(v reflect.Value) string {
	if e, ok := v.Addr().Interface().(Example); ok {
		return "use a form such as " + e.Example()
	}
	return ""
}

// wrongType reports that the node has the wrong type, with the likely fix.
func (f *File) wrongType(n *yaml.Node, what, want, example string) bool {
	text := fmt.Sprintf("%s must be %s, not %s", what, want, kindOf(n))
	switch scalar := n.Kind == yaml.ScalarNode; {
	case n.ShortTag() == "!!null":
		text = what + " has no value; set one or remove the key"
	case scalar && want == "a string":
		text += fmt.Sprintf("; quote it: %q", n.Value)
	case scalar && want == "a list" && isWord(n.Value):
		text += fmt.Sprintf("; write [%s]", n.Value)
	case example != "":
		text += "; " + example
	}
	f.errorAt(n.Line, n.Column, "%s", text)
	return false
}

// isWord reports whether s is a single word that needs no quotes in a list.
func isWord(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// kindOf returns the type of a node, for messages.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	switch n.ShortTag() {
	case "!!str":
		return "a string"
	case "!!int":
		return "an integer"
	case "!!float":
		return "a decimal number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	}
	return n.ShortTag()
}

// structKeys are the keys of a struct.
type structKeys struct {
	word     string           // what messages call the struct: step, gate
	all      []string         // in their order
	required []string         // keys without omitempty
	fields   map[string][]int // key → index of the field
}

func (f *File) keysOf(t reflect.Type) *structKeys {
	if keys := f.keys[t]; keys != nil {
		return keys
	}
	word := strings.TrimSuffix(strings.TrimSuffix(t.Name(), "Action"), "File")
	keys := &structKeys{word: strings.ToLower(word), fields: map[string][]int{}}
	if named, ok := reflect.Zero(t).Interface().(interface{ Noun() string }); ok {
		keys.word = named.Noun()
	}
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue // an embedded struct, whose fields are visible too, or a field that no file has
		}
		keys.all = append(keys.all, key)
		keys.fields[key] = f.Index
		if options != "omitempty" {
			keys.required = append(keys.required, key)
		}
	}
	f.keys[t] = keys
	return keys
}
