package notebook_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/notebook"
)

var sameInt = cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })

func whole(n int64) *big.Int { return big.NewInt(n) }

// TestParseParam: values are what papermill makes of them.
func TestParseParam(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]any{
		"a=True": true, "a=true": true, "a=False": false, "a=false": false, "a=None": nil, "a=": "", "a=x=y": "x=y", "a= x": " x", "a=null": "null",
		"a=1": whole(1), "a=-1": whole(-1), "a=+1": whole(1), "a=1_000": whole(1000), "a=007": whole(7), "a= 5 ": whole(5), "a=1__0": "1__0", "a=0x10": "0x10",
		"a=1.5": 1.5, "a=1.": 1.0, "a=.5": 0.5, "a=1e3": 1000.0, "a=-1_0.5": -10.5, "a=inf": math.Inf(1), "a=-Infinity": math.Inf(-1), "a=1e999": math.Inf(1), "a=.": ".",
		"a=1.2.3": "1.2.3", "a=nano": "nano",
	} {
		got, err := notebook.ParseParam(arg)
		if diff := cmp.Diff(notebook.Param{Name: "a", Value: want}, got, sameInt); diff != "" || err != nil {
			t.Errorf("%s: %v %s", arg, err, diff)
		}
	}
	if p, err := notebook.ParseParam("a=NaN"); err != nil || !math.IsNaN(p.Value.(float64)) {
		t.Errorf("NaN: %v, %v", p, err)
	}
	if p, err := notebook.ParseText("a=1"); err != nil || p.Value != "1" {
		t.Errorf("text: %v, %v", p, err)
	}
	for arg, want := range map[string]string{"a": "not of the form NAME=VALUE", "=1": "not of the form NAME=VALUE", "a=\xff": "not UTF-8"} {
		if _, err := notebook.ParseParam(arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", arg, err)
		}
	}
}

// TestParseParams: YAML and JSON give typed values. Dates are strings, as in papermill.
func TestParseParams(t *testing.T) {
	t.Parallel()
	got := mustParams(t, "b: true\ni: 12345678901234567890123\nh: 0x10\nf: 1.5\nn: ~\ninf: -.inf\ns: text\nq: '1'\nd: 2024-01-02\nl: [1, {k: v}]\nempty: {}\n")
	want := notebook.Params{
		{Name: "b", Value: true}, {Name: "i", Value: func() any { n, _ := new(big.Int).SetString("12345678901234567890123", 10); return n }()}, {Name: "h", Value: whole(16)},
		{Name: "f", Value: 1.5}, {Name: "n"}, {Name: "inf", Value: math.Inf(-1)}, {Name: "s", Value: "text"}, {Name: "q", Value: "1"}, {Name: "d", Value: "2024-01-02"},
		{Name: "l", Value: []any{whole(1), notebook.Map{{Name: "k", Value: "v"}}}}, {Name: "empty", Value: notebook.Map{}},
	}
	if diff := cmp.Diff(want, got, sameInt); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(notebook.Params{{Name: "a", Value: whole(1)}}, mustParams(t, `{"a": 1}`), sameInt); diff != "" {
		t.Error(diff)
	}
	if got := mustParams(t, "# nothing\n"); got != nil {
		t.Errorf("got %v", got)
	}
	for text, want := range map[string]string{"[1]": "p.yaml:1:1: parameters must be a mapping of names to values, not a list", "a: 1\na: 2": "p.yaml:2:1: duplicate key"} {
		if _, err := notebook.ParseParams("p.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got, err := notebook.FromJSON([]byte(`{"a": [1, 2.0, "x", null, true], "a": 1e400}`)); err != nil || cmp.Diff(notebook.Map{{Name: "a", Value: math.Inf(1)}}, got) != "" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestExact: parameters are the same after JSON.
func TestExact(t *testing.T) {
	t.Parallel()
	params := mustParams(t, "a: 9007199254740993\nb: 1.0\nc: .nan\nd: [-.inf, {x: -0.0, y: 1e300}]\ne: '1.0'\nf: null\n")
	text, err := json.Marshal(params.Exact())
	if err != nil {
		t.Fatal(err)
	}
	got, err := notebook.FromJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := notebook.Assignments("python", params)
	if code, err := notebook.Assignments("python", notebook.Params(got.(notebook.Map))); err != nil || code != want {
		t.Errorf("%s: %s, %v\nwant %s", text, code, err, want)
	}
	if text, err = json.Marshal(params.Plain()); err != nil || string(text) != `{"a":9007199254740993,"b":1.0,"c":"NaN","d":["-Inf",{"x":-0.0,"y":1e+300}],"e":"1.0","f":null}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestSetParams(t *testing.T) {
	t.Parallel()
	p := mustParams(t, "a: 1\nb: 2")
	p.SetAll(mustParams(t, "c: 3\na: x"))
	if diff := cmp.Diff(mustParams(t, "a: x\nb: 2\nc: 3"), p, sameInt); diff != "" {
		t.Error(diff)
	}
}

// TestAssignments: the literals of each language.
func TestAssignments(t *testing.T) {
	t.Parallel()
	p := mustParams(t, "b: true\ni: 5\nbig: 9007199254740993\nf: 2.0\nn: null\ninf: .inf\nnan: .nan\ns: \"a\\\"\\\\\\n\\x01é\\u202e😀\\U000E0001\"\nl: [1, x]\nm: {__proto__: 1, 'k y': []}\n")
	for language, want := range map[string]string{
		"python": "# Parameters\nb = True\ni = 5\nbig = 9007199254740993\nf = 2.0\nn = None\ninf = float('inf')\nnan = float('nan')\n" +
			`s = "a\"\\\n\u0001é\u202e😀\U000e0001"` + "\nl = [1, \"x\"]\nm = {\"__proto__\": 1, \"k y\": []}\n",
		"TypeScript": "// Parameters\nvar b = true;\nvar i = 5;\nvar big = 9007199254740993n;\nvar f = 2.0;\nvar n = null;\nvar inf = Infinity;\nvar nan = NaN;\n" +
			`var s = "a\"\\\n\u0001é\u202e😀\u{e0001}";` + "\nvar l = [1, \"x\"];\nvar m = {[\"__proto__\"]: 1, \"k y\": []};\n",
	} {
		got, err := notebook.Assignments(language, p)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", language, err, diff)
		}
	}
	got, err := notebook.Assignments("R", mustParams(t, "b: true\ni: 5\nbig: 3000000000\nna: -2147483648\nf: 2.0\nn: null\ninf: -.inf\nnan: .nan\ns: \"a\\\"\\x01\"\nl: [1, x]\nm: {'k y': []}\nA.b: 1\n"))
	want := "# Parameters\nb = TRUE\ni = 5L\nbig = 3000000000\nna = -2147483648\nf = 2.0\nn = NULL\ninf = -Inf\nnan = NaN\ns = \"a\\\"\\u0001\"\nl = list(1L, \"x\")\nm = list(\"k y\" = list())\nA.b = 1L\n"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("R: %v %s", err, diff)
	}
}

// TestBadAssignments: what is no identifier or has no literal is an error, and never code.
func TestBadAssignments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, params, want string }{
		{"python", `"a = 1; import os; x": 1`, "not an identifier"}, {"python", "class: 1", "not an identifier"}, {"python", "None: 1", "not an identifier"}, {"python", "a.b: 1", "not an identifier"},
		{"python", `"": 1`, "not an identifier"}, {"python", "1a: 1", "not an identifier"}, {"python", `"a\nb": 1`, "not an identifier"}, {"python", "$a: 1", "not an identifier"},
		{"R", "_a: 1", "not an identifier"}, {"R", ".2a: 1", "not an identifier"}, {"R", "TRUE: 1", "not an identifier"}, {"R", "a: 9007199254740993", "no integer of R is as large as"},
		{"R", `a: {"": 1}`, "lists of R have no empty names"}, {"javascript", "let: 1", "not an identifier"}, {"javascript", "a.b: 1", "not an identifier"}, {"julia", "a: 1", `in "julia": pawl writes parameters in`},
		{"python", "a: " + strings.Repeat("[", 60) + strings.Repeat("]", 60), "nested more than 50 levels"},
	} {
		got, err := notebook.Assignments(c.language, mustParams(t, c.params))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %q, %v", c.language, c.params, got, err)
		}
	}
	if _, err := notebook.Assignments("python", notebook.Params{{Name: "a", Value: "\xed\xa0\x80"}}); err == nil {
		t.Error("half a surrogate pair is a string of Python")
	}
}

// evaluator is a program that evaluates assignments: it reads code as a JSON string on a line, and prints the values of v as JSON.
type evaluator struct {
	in  io.Writer
	out *bufio.Scanner
}

const evalPython = `
import json, sys
def show(v):
    if v is None or isinstance(v, (bool, str)): return v
    if isinstance(v, int): return {"int": hex(v)}
    if isinstance(v, float): return {"float": v.hex()}
    if isinstance(v, list): return {"list": [show(x) for x in v]}
    return {"map": [[k, show(x)] for k, x in v.items()]}
for line in sys.stdin:
    names = {}
    exec(json.loads(line), names)
    print(json.dumps(show(names["v"])), flush=True)
`

const evalNode = `
const show = v => typeof v === "bigint" ? {int: v.toString(16)} : typeof v === "number" ? {float: Object.is(v, -0) ? "-0" : String(v)} :
  Array.isArray(v) ? {list: v.map(show)} : v && typeof v === "object" ? {map: Object.keys(v).map(k => [k, show(v[k])])} : v;
require("readline").createInterface({input: process.stdin}).on("line", line =>
  console.log(JSON.stringify(show(new Function(JSON.parse(line) + "\nreturn v")())).replace(/[\u007f-\uffff]/g, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))));
`

func evaluate(t testing.TB, program ...string) *evaluator {
	t.Helper()
	cmd := exec.Command(program[0], program[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var failed strings.Builder
	cmd.Stderr = &failed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, failed.String())
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	return &evaluator{in, lines}
}

// of returns what the program says that v is.
func (e *evaluator) of(t testing.TB, language string, value any) any {
	t.Helper()
	code, err := notebook.Assignments(language, notebook.Params{{Name: "v", Value: value}})
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(e.in, "%s\n", line); err != nil {
		t.Fatal(err)
	}
	if !e.out.Scan() {
		t.Fatalf("the program ended at %s", code)
	}
	var shown any
	if err := json.Unmarshal(e.out.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	return shown
}

// inPython returns what evalPython prints for a value.
func inPython(value any) any {
	switch v := value.(type) {
	case *big.Int:
		return map[string]any{"int": strings.Replace("0x"+v.Text(16), "0x-", "-0x", 1)}
	case float64:
		return map[string]any{"float": hexFloat(v)}
	case []any:
		list := []any{}
		for _, element := range v {
			list = append(list, inPython(element))
		}
		return map[string]any{"list": list}
	case notebook.Map:
		list := []any{}
		for _, m := range v {
			list = append(list, []any{m.Name, inPython(m.Value)})
		}
		return map[string]any{"map": list}
	}
	return value
}

// hexFloat writes a float as Python's float.hex() does.
func hexFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return map[bool]string{true: "inf", false: "-inf"}[v > 0]
	}
	sign := map[bool]string{true: "-", false: ""}[math.Signbit(v)]
	bits := math.Float64bits(v)
	exponent, mantissa := int(bits>>52&0x7ff), bits&(1<<52-1)
	switch {
	case exponent == 0 && mantissa == 0:
		return sign + "0x0.0p+0"
	case exponent == 0:
		return fmt.Sprintf("%s0x0.%013xp-1022", sign, mantissa)
	}
	return fmt.Sprintf("%s0x1.%013xp%+d", sign, mantissa, exponent-1023)
}

func values(depth int) *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\"", "\\", "'''", "{x}", "%s", "\n\r\t\x00\x7f", "\u2028\u2029\ufeff", "__proto__", "\\N{DASH}", "\\u0041"}))
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), text.AsAny(), rapid.Float64().AsAny(),
		rapid.SampledFrom([]any{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 5e-324, math.MaxFloat64, 1e16, 1e21}),
		rapid.Custom(func(t *rapid.T) any { return big.NewInt(rapid.Int64().Draw(t, "n")) }),
		rapid.Custom(func(t *rapid.T) any {
			n := new(big.Int).Lsh(big.NewInt(rapid.Int64().Draw(t, "n")), rapid.UintRange(0, 20_000).Draw(t, "bits"))
			return n
		}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := values(depth - 1)
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(inner, 0, 4).AsAny(),
		rapid.Custom(func(t *rapid.T) any {
			m := notebook.Params{}
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				m.Set(text.Draw(t, "key"), inner.Draw(t, "value"))
			}
			return notebook.Map(m)
		}))...)
}

// TestPythonLiterals: Python evaluates a literal to the value that it stands for.
func TestPythonLiterals(t *testing.T) {
	t.Parallel()
	python := evaluate(t, "python3", "-c", evalPython)
	rapid.Check(t, func(rt *rapid.T) {
		value := values(3).Draw(rt, "value")
		if diff := cmp.Diff(inPython(value), python.of(t, "python", value)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// FuzzPythonLiteral: no string ends its literal.
func FuzzPythonLiteral(f *testing.F) {
	f.Add("a", 1.5)
	f.Add("\"\n\\", math.Inf(1))
	python := evaluate(f, "python3", "-c", evalPython)
	f.Fuzz(func(t *testing.T, text string, n float64) {
		value := []any{strings.ToValidUTF8(text, "?"), n}
		if diff := cmp.Diff(inPython(value), python.of(t, "python", value)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestJavaScriptLiterals: Node evaluates a literal to the value that it stands for.
func TestJavaScriptLiterals(t *testing.T) {
	t.Parallel()
	node := evaluate(t, "node", "-e", evalNode)
	for value, want := range map[any]any{
		"a\"\\\n\u2028\u0000😀\ufeff": "a\"\\\n\u2028\u0000😀\ufeff", true: true, nil: nil, 1.5: map[string]any{"float": "1.5"},
		math.Inf(-1): map[string]any{"float": "-Infinity"}, math.Copysign(0, -1): map[string]any{"float": "-0"},
	} {
		if diff := cmp.Diff(want, node.of(t, "javascript", value)); diff != "" {
			t.Error(diff)
		}
	}
	got := node.of(t, "javascript", []any{whole(1 << 53), whole(5), notebook.Map{{Name: "__proto__", Value: "x"}}})
	want := map[string]any{"list": []any{map[string]any{"int": "20000000000000"}, map[string]any{"float": "5"}, map[string]any{"map": []any{[]any{"__proto__", "x"}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		if diff := cmp.Diff(any(text), node.of(t, "javascript", text)); diff != "" {
			rt.Fatal(diff)
		}
	})
}
