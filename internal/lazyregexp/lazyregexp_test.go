package lazyregexp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pawl/internal/lazyregexp"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	p := lazyregexp.New(`(a+)b`)
	if !p.MatchString("xaab") || p.FindString("xaab") != "aab" || p.FindStringSubmatch("xaab")[1] != "aa" || p.ReplaceAllString("xaab", "$1") != "xaa" {
		t.Error("it does not match")
	}
	lazyregexp.New("(") // is never used
}

// TestAllPatterns: every pattern of this module makes sense, and none is compiled at the start of a program.
func TestAllPatterns(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if _, isVar := decl.(*ast.GenDecl); !isVar {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				switch text := patternOf(n); {
				case text == "":
				case text == "compiled":
					t.Errorf("%s: a pattern is compiled at each start of pawl: use package lazyregexp", path)
				default:
					found++
					if _, err := regexp.Compile(text); err != nil {
						t.Errorf("%s: %v", path, err)
					}
				}
				_, inFunc := n.(*ast.FuncLit)
				return !inFunc
			})
		}
		return nil
	})
	if err != nil || found < 10 {
		t.Errorf("%d patterns, %v", found, err)
	}
}

// patternOf returns the text that a call makes a pattern of, or "compiled" where it compiles one.
func patternOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return ""
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	from, ok := fun.X.(*ast.Ident)
	if !ok {
		return ""
	}
	if from.Name == "regexp" && fun.Sel.Name == "MustCompile" {
		return "compiled"
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok || from.Name != "lazyregexp" || fun.Sel.Name != "New" {
		return ""
	}
	value, err := strconv.Unquote(text.Value)
	if err != nil {
		return "("
	}
	return value
}
