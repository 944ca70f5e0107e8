package pawl_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The largest sizes, tests apart. Whatever outgrows one wants to be split.
const (
	maxPackageLines     = 6500
	maxPackageFiles     = 45
	maxEngineLines      = 4500
	maxFunctionLines    = 60
	maxP95FunctionLines = 30 // 95 of 100 functions are at most this long
	maxMethods          = 5  // of an interface
)

func TestSizes(t *testing.T) {
	t.Parallel()
	var functions []int
	for _, p := range packages(t) {
		lines := 0
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(data, []byte("\n"))
			functions = append(functions, sizesIn(t, path, data, layerOf[p.ImportPath] != "tests")...)
		}
		if lines > maxPackageLines || len(p.GoFiles) > maxPackageFiles {
			t.Errorf("%s has %d lines in %d files; at most %d and %d", p.ImportPath, lines, len(p.GoFiles), maxPackageLines, maxPackageFiles)
		}
		if p.ImportPath == "pawl/internal/engine" && lines > maxEngineLines {
			t.Errorf("%s has %d lines; at most %d", p.ImportPath, lines, maxEngineLines)
		}
	}
	slices.Sort(functions)
	if p95 := functions[len(functions)*95/100]; p95 > maxP95FunctionLines {
		t.Errorf("the 95th percentile of function lengths is %d lines; at most %d", p95, maxP95FunctionLines)
	}
}

// sizesIn returns the lengths of a file's functions, in lines. It reports functions that are too long and, of product code,
// interfaces that are too large.
func sizesIn(t *testing.T, path string, data []byte, product bool) (functions []int) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, data, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			size := files.Position(n.End()).Line - files.Position(n.Pos()).Line + 1
			if functions = append(functions, size); size > maxFunctionLines {
				t.Errorf("%s: %s has %d lines; at most %d", files.Position(n.Pos()), n.Name.Name, size, maxFunctionLines)
			}
		case *ast.InterfaceType:
			if product && n.Methods.NumFields() > maxMethods {
				t.Errorf("%s: an interface of %d methods; at most %d", files.Position(n.Pos()), n.Methods.NumFields(), maxMethods)
			}
		}
		return true
	})
	return functions
}
