package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWording fails if a text of pawl uses a wording that testdata/wording.txt lists. It looks at the help of every command,
// the string literals of all Go files that are no tests, and all documents and embedded texts. Places where a wording stays
// are listed with the reason in testdata/wording-exceptions.txt.
func TestWording(t *testing.T) {
	t.Parallel()
	list := wordings(t)
	excepted := wordingExceptions(t, list)
	for _, source := range []struct {
		name  string
		texts func(*testing.T) []text
	}{{"help", helpTexts}, {"strings", literalTexts}, {"documents", documentTexts}, {"comments", commentTexts}} {
		t.Run(source.name, func(t *testing.T) {
			for _, text := range source.texts(t) {
				clean := plain(text.content)
				for _, w := range list {
					if (source.name == "comments" && w.section != "comments") || !w.in(clean) {
						continue
					}
					if e := exceptionFor(excepted, w.wording, text.place); e != nil {
						e.used = true
						continue
					}
					t.Errorf("%s: %q; write %q", text.place, w.wording, w.better)
				}
			}
		})
	}
	for _, e := range excepted {
		if !e.used {
			t.Errorf("wording-exceptions.txt: %q is not in %s any more: remove the exception", e.wording, e.place)
		}
	}
}

// TestPlainFindsWordings checks what makes two texts equal for TestWording.
func TestPlainFindsWordings(t *testing.T) {
	t.Parallel()
	for wording, content := range map[string]string{
		"Make, do not add":           "**Make,\ndo not add.** Then",
		"is told by pawl run":        "depends is told by `pawl  run`",
		"4 steps, guided":            "run a-1: 17 steps, guided",
		"gone: … kept: … freed":      "gone: %d; kept: %d; freed %s",
		"must be keys with values":   `"retry" must be keys with values, not a number`,
		"what a run's attempts have": "what a run’s attempts have",
	} {
		if !wordingPattern(wording).MatchString(plain(content)) {
			t.Errorf("%q is not found in %q", wording, content)
		}
	}
	if wordingPattern("let go of").MatchString("outlet go off") {
		t.Error("a wording is found within words")
	}
}

// TestLiteralsAreJoined checks that TestWording sees a text that the code puts together from several literals.
func TestLiteralsAreJoined(t *testing.T) {
	t.Parallel()
	expr, err := parser.ParseExpr(`say("a plan "+name("it is")+" was "+"taken up "+` + "`anew`" + `, fmt.Sprint("b"))`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	ast.Inspect(expr, func(n ast.Node) bool {
		return collectLiterals(n, func(_ token.Pos, content string) { got = append(got, content) })
	})
	want := []string{"it is", "a plan … was taken up anew", "b"}
	if !slices.Equal(got, want) {
		t.Errorf("the literals are %q, want %q", got, want)
	}
}

// wording is one line of wording.txt.
type wording struct {
	section, wording, better string
	first                    string // what is before the first "…", plain
	pattern                  *regexp.Regexp
}

func wordings(t *testing.T) []wording {
	t.Helper()
	var list []wording
	section := ""
	for i, line := range lines(t, "testdata/wording.txt") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		old, better, ok := strings.Cut(line, " => ")
		if !ok || len(strings.Fields(old)) < 3 {
			t.Fatalf("wording.txt:%d: want \"three or more words => replacement\"", i+1)
		}
		first, _, _ := strings.Cut(plain(old), "…")
		list = append(list, wording{section, old, better, first, wordingPattern(old)})
	}
	if len(list) < 150 {
		t.Fatalf("wording.txt has only %d wordings", len(list))
	}
	return list
}

// in reports whether a plain text uses the wording.
func (w wording) in(clean string) bool {
	return strings.Contains(clean, w.first) && w.pattern.MatchString(clean)
}

// wordingPattern matches a wording in a plain text, at the boundaries of words.
func wordingPattern(wording string) *regexp.Regexp {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(plain(wording)), "…", ".{0,60}?")
	return regexp.MustCompile(`(?:^|\W)` + pattern + `(?:\W|$)`)
}

var (
	markup = regexp.MustCompile("[`*\"'‘’“”]")
	number = regexp.MustCompile(`\d{2,}|[02-9]`) // 1 has a plural of its own
)

// plain removes what makes no difference between two wordings: case, markup, quotes, line breaks and numbers.
func plain(content string) string {
	content = markup.ReplaceAllString(strings.ToLower(content), "")
	return strings.Join(strings.Fields(number.ReplaceAllString(content, "0")), " ")
}

// exception is one line of wording-exceptions.txt.
type exception struct {
	wording, place string
	used           bool
}

func wordingExceptions(t *testing.T, list []wording) []*exception {
	t.Helper()
	var found []*exception
	for i, line := range lines(t, "testdata/wording-exceptions.txt") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, " | ")
		if len(fields) != 3 || fields[2] == "" {
			t.Fatalf("wording-exceptions.txt:%d: want \"wording | place | reason\"", i+1)
		}
		if !slices.ContainsFunc(list, func(w wording) bool { return w.wording == fields[0] }) {
			t.Errorf("wording-exceptions.txt:%d: wording.txt has no %q", i+1, fields[0])
		}
		found = append(found, &exception{wording: fields[0], place: fields[1]})
	}
	return found
}

func exceptionFor(list []*exception, wording, place string) *exception {
	for _, e := range list {
		if e.wording == wording && strings.HasPrefix(place, e.place) {
			return e
		}
	}
	return nil
}

// text is a text and where it is: "internal/cli/run.go:12" or "pawl run --help".
type text struct{ place, content string }

// helpTexts returns the help of every command.
func helpTexts(t *testing.T) []text {
	r := newReader(t)
	var found []text
	for _, command := range append(r.commands(t, "pawl", "pawl help all"), "pawl", "pawl plan", "pawl hook") {
		found = append(found, text{command + " --help", strings.Join(r.run(t, command+" --help"), "\n")})
	}
	if len(found) < 30 {
		t.Fatalf("only %d commands have help", len(found))
	}
	return found
}

// literalTexts returns the string literals of all Go files that are no tests. Literals that + joins are one text.
func literalTexts(t *testing.T) []text {
	var found []text
	eachGoFile(t, func(name string, files *token.FileSet, file *ast.File) {
		add := func(at token.Pos, content string) {
			found = append(found, text{fmt.Sprintf("%s:%d", name, files.Position(at).Line), content})
		}
		ast.Inspect(file, func(n ast.Node) bool { return collectLiterals(n, add) })
	})
	return found
}

// collectLiterals adds the string literals of a node and reports whether its children are still to be visited.
func collectLiterals(n ast.Node, add func(token.Pos, string)) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.BasicLit:
		if content, ok := literal(n); ok {
			add(n.Pos(), content)
		}
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			return true
		}
		var joined strings.Builder
		for _, part := range operands(n) {
			if content, ok := literal(part); ok {
				joined.WriteString(content)
				continue
			}
			joined.WriteString("…")
			ast.Inspect(part, func(n ast.Node) bool { return collectLiterals(n, add) })
		}
		add(n.Pos(), joined.String())
		return false
	}
	return true
}

// operands returns the parts of a sum, from left to right.
func operands(e ast.Expr) []ast.Expr {
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		return append(operands(sum.X), operands(sum.Y)...)
	}
	return []ast.Expr{e}
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	content, err := strconv.Unquote(lit.Value)
	return content, err == nil
}

// commentTexts returns the comments of all Go files that are no tests.
func commentTexts(t *testing.T) []text {
	var found []text
	eachGoFile(t, func(name string, files *token.FileSet, file *ast.File) {
		for _, group := range file.Comments {
			found = append(found, text{fmt.Sprintf("%s:%d", name, files.Position(group.Pos()).Line), group.Text()})
		}
	})
	return found
}

// documentTexts returns the paragraphs of all documents, of the texts that the program embeds, and of the examples and scripts.
func documentTexts(t *testing.T) []text {
	var found []text
	eachFile(t, func(name string) {
		if !isDocument(name) {
			return
		}
		start, paragraph := 1, ""
		for i, line := range append(lines(t, filepath.Join(root, name)), "") {
			if strings.TrimSpace(line) != "" {
				paragraph += line + "\n"
				continue
			}
			if paragraph != "" {
				found = append(found, text{fmt.Sprintf("%s:%d", name, start), paragraph})
			}
			start, paragraph = i+2, ""
		}
	})
	return found
}

// isDocument reports whether people or agents read a file: plans and scripts have comments for them too.
func isDocument(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return strings.HasSuffix(name, ".md") || strings.HasPrefix(name, "internal/attach/files/") ||
		(top == "examples" || top == "scripts" || name == "Makefile") && !strings.HasSuffix(name, ".go")
}

// eachGoFile calls do with each Go file of the repository that is no test.
func eachGoFile(t *testing.T, do func(name string, files *token.FileSet, file *ast.File)) {
	files := token.NewFileSet()
	eachFile(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return
		}
		file, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		do(name, files, file)
	})
}

// eachFile calls do with the path below the root of each file that belongs to the program or its documents.
func eachFile(t *testing.T, do func(name string)) {
	t.Helper()
	skipped := []string{".git", ".pawl", "bin", "testdata", "out", "node_modules"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && !os.IsNotExist(err):
			return err
		case d != nil && d.IsDir() && slices.Contains(skipped, d.Name()):
			return filepath.SkipDir
		case d != nil && d.Type().IsRegular():
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			do(filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
