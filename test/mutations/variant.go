package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// A mutated program has all mutations, and one of them is on. So it is compiled once and not for each mutation.

// switchName is the variable in each mutated package that holds the number of the mutation that is on.
const switchName = "pawlMutation"

// switchVariant sets the variable from a file, since tests and stories start programs with an environment of their own. One file of
// each mutated package has it.
func switchVariant(source, on string) (variant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.PackageClauseOnly)
	if err != nil {
		return variant{}, err
	}
	return variant{
		at:     fset.Position(file.Name.End()).Offset,
		insert: "; import pawlMutationOS \"os\"",
		tail:   fmt.Sprintf("\nvar %s = func() string { data, _ := pawlMutationOS.ReadFile(%q); return string(data) }()\n", switchName, on),
	}, nil
}

// variant is what a mutation adds to a source file.
type variant struct {
	at     int    // offset of the dispatch
	insert string // calls the mutated function, if the mutation is on
	tail   string // the mutated function, or the assignment of the mutated value
}

// errAlone says that a mutation cannot be switched on, so that it needs a program of its own.
var errAlone = errors.New("the mutation is in no function and in no variable")

// variantOf compares a source file with its mutated form, and returns the variant for the declaration that differs between two
// offsets.
func variantOf(source, mutated string, from, to int, number string) (variant, error) {
	fset := token.NewFileSet()
	before, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return variant{}, err
	}
	after, err := parser.ParseFile(fset, "", mutated, parser.SkipObjectResolution)
	if err != nil {
		return variant{}, fmt.Errorf("the mutated file cannot be parsed: %w", err)
	}
	v, err := variant{}, errAlone
	text := func(n ast.Node) string { return mutated[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset] }
	holds := func(n ast.Node) bool {
		return fset.Position(n.Pos()).Offset < to && from < fset.Position(n.End()).Offset
	}
	for i, decl := range before.Decls {
		if !holds(decl) || len(after.Decls) != len(before.Decls) {
			continue
		}
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			v, err = functionVariant(decl, after.Decls[i], text, number)
			v.at = fset.Position(decl.Body.Lbrace).Offset + 1
		case *ast.GenDecl:
			for j, spec := range decl.Specs {
				if holds(spec) && decl.Tok == token.VAR {
					v, err = variableVariant(after.Decls[i].(*ast.GenDecl).Specs[j], text, number)
				}
			}
		}
	}
	return v, err
}

// functionVariant adds the mutated function under another name.
func functionVariant(decl *ast.FuncDecl, mutated ast.Decl, text func(ast.Node) string, number string) (variant, error) {
	args, ok := arguments(decl.Type.Params)
	name, receiver := decl.Name.Name+"__"+number, ""
	if decl.Recv != nil {
		names := decl.Recv.List[0].Names
		ok = ok && len(names) == 1 && names[0].Name != "_"
		if ok {
			receiver = names[0].Name + "."
		}
	}
	if !ok || decl.Type.TypeParams != nil {
		return variant{}, errAlone
	}
	call := receiver + name + "(" + args + ")"
	if decl.Type.Results == nil {
		call += "; return"
	} else {
		call = "return " + call
	}
	changed := text(mutated)
	at := strings.Index(changed, decl.Name.Name+"(")
	return variant{
		insert: fmt.Sprintf(" if %s == %q { %s };", switchName, number, call),
		tail:   "\n" + changed[:at] + name + changed[at+len(decl.Name.Name):] + "\n",
	}, nil
}

// arguments returns the names of parameters, as the arguments of a call; ok is false if one has no name.
func arguments(params *ast.FieldList) (args string, ok bool) {
	var all []string
	for _, field := range params.List {
		if len(field.Names) == 0 {
			return "", false
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				return "", false
			}
			arg := name.Name
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				arg += "..."
			}
			all = append(all, arg)
		}
	}
	return strings.Join(all, ", "), true
}

// variableVariant assigns the mutated value at the program's start.
func variableVariant(spec ast.Spec, text func(ast.Node) string, number string) (variant, error) {
	value, ok := spec.(*ast.ValueSpec)
	if !ok || len(value.Names) != 1 || len(value.Values) != 1 {
		return variant{}, errAlone
	}
	return variant{tail: fmt.Sprintf("\nfunc init() {\n\tif %s == %q {\n\t\t%s = %s\n\t}\n}\n", switchName, number, value.Names[0].Name, text(value.Values[0]))}, nil
}
