package strictyaml

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxDepth is the depth to which values of a [Tree] may be nested.
const maxDepth = 100

// Node is a value of a YAML file of any shape, with its position.
type Node struct {
	Line, Column int
	Kind         Kind
	Text         string  // of a scalar, as it is written, without quotes
	List         []*Node // elements of a list
	Fields       []Field // of a mapping, in the order of the file; fields of a merged mapping follow
}

// Field is a key of a mapping with its value.
type Field struct {
	Name         string
	Line, Column int
	Value        *Node
}

// Kind is the kind of a [Node].
type Kind string

// The kinds of nodes.
const (
	NoValue Kind = "no value"
	String  Kind = "text"
	Number  Kind = "number"
	Bool    Kind = "boolean"
	List    Kind = "list"
	Mapping Kind = "mapping"
)

// Tree reads a file of any shape. Errors are those that [Read] reports for every file, and values that are nested too deeply.
// An empty file has no node. The content of an alias is part of the tree wherever the alias is, with its own position.
func Tree(noun, name string, data []byte) (*Node, error) {
	f := &File{noun: noun, told: map[Fault]bool{}, at: map[any]place{}}
	var tree *Node
	if root := f.parse(data); root != nil {
		tree = f.tree(root, 0)
	}
	if err := f.Err(name); err != nil {
		return nil, err
	}
	return tree, nil
}

func (f *File) tree(n *yaml.Node, depth int) *Node {
	if n.Kind == yaml.AliasNode {
		f.aliases++
		defer func() { f.aliases-- }()
		n = n.Alias
	}
	node := &Node{Line: n.Line, Column: n.Column, Kind: NoValue}
	if f.aliases > 0 {
		if f.expanded++; f.expanded == maxExpanded {
			f.errorAt(n.Line, n.Column, "the aliases in this %s expand to more than %d values; write the values out", f.noun, maxExpanded)
		}
		if f.expanded >= maxExpanded {
			return node
		}
	}
	if depth == maxDepth {
		f.errorAt(n.Line, n.Column, "values are nested more than %d levels deep", maxDepth)
		return node
	}
	switch n.Kind {
	case yaml.SequenceNode:
		node.Kind = List
		for _, element := range n.Content {
			node.List = append(node.List, f.tree(element, depth+1))
		}
	case yaml.MappingNode:
		node.Kind = Mapping
		f.fields(n, node, depth)
	default:
		node.Kind, node.Text = scalarKind(n), n.Value
		if strings.ContainsRune(n.Value, 0) {
			f.errorAt(n.Line, n.Column, "a value contains a NUL byte; remove it")
		}
	}
	return node
}

func scalarKind(n *yaml.Node) Kind {
	switch n.ShortTag() {
	case "!!null":
		return NoValue
	case "!!int", "!!float":
		return Number
	case "!!bool":
		return Bool
	}
	return String
}

// fields adds the fields of a mapping to its node. Merged fields do not replace its own.
func (f *File) fields(n *yaml.Node, node *Node, depth int) {
	seen := make(map[string]int, len(n.Content)/2)
	var merged []*Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, repeated := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			f.errorAt(key.Line, key.Column, "a key must be a string")
		case key.ShortTag() == "!!merge":
			merged = append(merged, f.tree(n.Content[i+1], depth+1))
		case strings.ContainsRune(key.Value, 0):
			f.errorAt(key.Line, key.Column, "a key contains a NUL byte; remove it")
		case repeated:
			f.errorAt(key.Line, key.Column, "duplicate key %q (first used on line %d)", key.Value, line)
		default:
			seen[key.Value] = key.Line
			node.Fields = append(node.Fields, Field{Name: key.Value, Line: key.Line, Column: key.Column, Value: f.tree(n.Content[i+1], depth+1)})
		}
	}
	for _, from := range merged {
		f.merge(from, node, seen)
	}
}

// merge adds the fields of a mapping, or of each mapping in a list, that node does not have.
func (f *File) merge(from, node *Node, seen map[string]int) {
	switch from.Kind {
	case List:
		for _, element := range from.List {
			f.merge(element, node, seen)
		}
	case Mapping:
		for _, field := range from.Fields {
			if _, has := seen[field.Name]; !has {
				seen[field.Name] = field.Line
				node.Fields = append(node.Fields, field)
			}
		}
	default:
		f.errorAt(from.Line, from.Column, "<< needs a mapping, not %s", from.Kind)
	}
}

// Get returns the value of a key in a mapping, nil if there is none.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for _, field := range n.Fields {
		if field.Name == name {
			return field.Value
		}
	}
	return nil
}

// Scalar reports whether the node is a text, a number or a boolean.
func (n *Node) Scalar() bool {
	return n != nil && (n.Kind == String || n.Kind == Number || n.Kind == Bool)
}
