package notebook

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/lazyregexp"
)

// language is a programming language whose literals pawl writes.
type language int

const (
	python language = iota + 1
	r
	javascript // also TypeScript
)

// languageOf returns the language of a name in language_info or a kernelspec.
func languageOf(name string) (language, bool) {
	switch strings.ToLower(name) {
	case "python", "python3", "ipython":
		return python, true
	case "r", "ir":
		return r, true
	case "javascript", "typescript", "js", "ts", "jslab", "tslab", "deno":
		return javascript, true
	}
	return 0, false
}

// Assignments returns code that assigns parameters in a language. Values become literals, and no part of them is code.
func Assignments(name string, params Params) (string, error) {
	lang, known := languageOf(name)
	switch {
	case name == "":
		return "", fmt.Errorf("the notebook does not name its language, so pawl cannot write parameters; name the kernel")
	case !known:
		return "", fmt.Errorf("parameters for a notebook in %q: pawl writes parameters in Python, R, JavaScript and TypeScript", name)
	}
	var b strings.Builder
	b.WriteString(map[language]string{python: "# Parameters\n", r: "# Parameters\n", javascript: "// Parameters\n"}[lang])
	for _, p := range params {
		if err := lang.check(p); err != nil {
			return "", err
		}
		value := literal{lang}.of(p.Value)
		switch lang {
		case python, r:
			fmt.Fprintf(&b, "%s = %s\n", p.Name, value)
		case javascript:
			fmt.Fprintf(&b, "var %s = %s;\n", p.Name, value)
		}
	}
	return b.String(), nil
}

// check reports whether a language has a variable with the parameter's name, and literals of its value.
func (l language) check(p Param) error {
	pattern, words := pythonName, pythonKeywords
	switch l {
	case r:
		pattern, words = rName, rWords
	case javascript:
		pattern, words = javascriptName, javascriptWords
	}
	if !pattern.MatchString(p.Name) || slices.Contains(strings.Fields(words), p.Name) {
		return fmt.Errorf("parameter %q: the name is not an identifier of the notebook's language; rename the parameter", p.Name)
	}
	if err := l.checkValue(p.Value, 0); err != nil {
		return fmt.Errorf("parameter %q: %w", p.Name, err)
	}
	return nil
}

var (
	pythonName     = lazyregexp.New(`^[\p{L}_][\p{L}\p{Nd}_]*$`)
	rName          = lazyregexp.New(`^(\p{L}|\.[\p{L}_])[\p{L}\p{Nd}_.]*$`)
	javascriptName = lazyregexp.New(`^[\p{L}_$][\p{L}\p{Nd}_$]*$`)
)

const (
	pythonKeywords = "False None True and as assert async await break class continue def del elif else except finally for from global if import in " +
		"is lambda nonlocal not or pass raise return try while with yield __debug__"
	rWords = "if else repeat while function for next break TRUE FALSE NULL Inf NaN NA NA_integer_ NA_real_ NA_character_ NA_complex_ in"
	// with words that only strict mode reserves, and names that cannot be assigned
	javascriptWords = "await break case catch class const continue debugger default delete do else enum export extends false finally for function if " +
		"implements import in instanceof interface let new null package private protected public return static super switch this throw true try " +
		"typeof var void while with yield eval arguments undefined NaN Infinity"
)

// maxNesting is the depth to which lists and maps of a value may be nested. Python's parser accepts about 90 levels.
const maxNesting = 50

// maxExact is the largest magnitude up to which a float64 has all integers.
const maxExact = 1 << 53

func (l language) checkValue(value any, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("lists and mappings are nested more than %d levels deep", maxNesting)
	}
	switch v := value.(type) {
	case string:
		return l.checkText(v)
	case *big.Int:
		if l == r && v.CmpAbs(big.NewInt(maxExact)) > 0 {
			return fmt.Errorf("no integer of R is as large as %s; pass it as a string", v)
		}
	case []any:
		for _, element := range v {
			if err := l.checkValue(element, depth+1); err != nil {
				return err
			}
		}
	case Map:
		for _, m := range v {
			if err := l.checkKey(m.Name); err != nil {
				return err
			}
			if err := l.checkValue(m.Value, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l language) checkKey(key string) error {
	if l == r && key == "" {
		return fmt.Errorf("lists of R have no empty names")
	}
	return l.checkText(key)
}

func (l language) checkText(text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("a string is not UTF-8")
	case l == r && strings.ContainsRune(text, 0):
		return fmt.Errorf("strings of R contain no NUL")
	}
	return nil
}

// literal writes literals of a language.
type literal struct{ language }

func (l literal) of(value any) string {
	switch v := value.(type) {
	case nil:
		return l.pick("None", "NULL", "null")
	case bool:
		if v {
			return l.pick("True", "TRUE", "true")
		}
		return l.pick("False", "FALSE", "false")
	case *big.Int:
		return l.integer(v)
	case float64:
		return l.float(v)
	case string:
		return l.text(v)
	case []any:
		elements := make([]string, len(v))
		for i, element := range v {
			elements[i] = l.of(element)
		}
		return l.pick("[", "list(", "[") + strings.Join(elements, ", ") + l.pick("]", ")", "]")
	case Map:
		elements := make([]string, len(v))
		for i, m := range v {
			elements[i] = l.key(m.Name) + l.pick(": ", " = ", ": ") + l.of(m.Value)
		}
		return l.pick("{", "list(", "{") + strings.Join(elements, ", ") + l.pick("}", ")", "}")
	}
	panic(fmt.Sprintf("notebook: a parameter of type %T", value))
}

// pick returns the text of the language.
func (l literal) pick(forPython, forR, forJavaScript string) string {
	switch l.language {
	case r:
		return forR
	case javascript:
		return forJavaScript
	}
	return forPython
}

func (l literal) integer(v *big.Int) string {
	const maxDigits = 4000 // Python refuses decimal literals of more than 4300 digits, but not hexadecimal ones
	switch text := v.String(); {
	case l.language == r && v.IsInt64() && v.Int64() == int64(int32(v.Int64())) && v.Int64() != math.MinInt32: // that one is R's NA
		return text + "L"
	case l.language == javascript && v.CmpAbs(big.NewInt(maxExact)) >= 0:
		return text + "n"
	case len(text) > maxDigits:
		return strings.Replace("0x"+v.Text(16), "0x-", "-0x", 1)
	default:
		return text
	}
}

func (l literal) float(v float64) string {
	switch {
	case math.IsNaN(v):
		return l.pick("float('nan')", "NaN", "NaN")
	case math.IsInf(v, 1):
		return l.pick("float('inf')", "Inf", "Infinity")
	case math.IsInf(v, -1):
		return l.pick("float('-inf')", "-Inf", "-Infinity")
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// key returns a key of a map. In JavaScript "__proto__" would set the prototype.
func (l literal) key(name string) string {
	if l.language == javascript && name == "__proto__" {
		return `["__proto__"]`
	}
	return l.text(name)
}

// text returns a string literal in double quotes. All characters that do not print are escaped.
func (l literal) text(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		case l.language == javascript:
			fmt.Fprintf(&b, `\u{%x}`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
