// Package markers reads markers: lines such as [STAGE:begin:id=S01_load_data] in a step's output, in Gyoshu's grammar.
package markers

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"pawl"
)

// markerTypes are the types that Gyoshu knows. Markers of other types are read too, and are not valid.
var markerTypes = wordSet(`
	OBJECTIVE HYPOTHESIS EXPERIMENT OBSERVATION ANALYSIS CONCLUSION DATA SHAPE DTYPE RANGE MISSING MEMORY CALC METRIC
	STAT CORR PLOT ARTIFACT TABLE FIGURE FINDING INSIGHT PATTERN STEP STAGE CHECKPOINT CHECK INFO WARNING ERROR DEBUG
	REHYDRATED CITATION LIMITATION NEXT_STEP DECISION SO_WHAT INDEPENDENT_CHECK CHALLENGE_RESPONSE VERIFICATION_CODE`)

// categories are the categories of Gyoshu's markers, as its bridge names them.
var categories = []struct{ name, types string }{
	{"research_process", "OBJECTIVE HYPOTHESIS EXPERIMENT OBSERVATION ANALYSIS CONCLUSION"},
	{"data_operations", "DATA SHAPE DTYPE RANGE MISSING MEMORY"},
	{"calculations", "CALC METRIC STAT CORR"},
	{"artifacts", "PLOT ARTIFACT TABLE FIGURE"},
	{"insights", "FINDING INSIGHT PATTERN"},
	{"workflow", "STEP STAGE CHECKPOINT CHECK INFO WARNING ERROR REHYDRATED DEBUG"},
	{"scientific", "CITATION LIMITATION NEXT_STEP DECISION SO_WHAT INDEPENDENT_CHECK CHALLENGE_RESPONSE VERIFICATION_CODE"},
}

// Category returns the category of a type of markers in Gyoshu's taxonomy; "unknown" if it has none.
func Category(markerType string) string {
	for _, c := range categories {
		if slices.Contains(strings.Fields(c.types), markerType) {
			return c.name
		}
	}
	return "unknown"
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// ParseAll returns the markers in text, line by line.
func ParseAll(text string) []pawl.Marker {
	var markers []pawl.Marker
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if m, ok := Parse(line, number); ok {
			markers = append(markers, m)
		}
	}
	return markers
}

// Parse returns the marker that line is, if it is one: white space, [TYPE] or [TYPE:attributes], then text to the
// end of the line. Carriage returns at the end are not part of the line; white space is what JavaScript takes for it.
func Parse(line string, number int) (pawl.Marker, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(line, isSpace), "[")
	if !ok {
		return pawl.Marker{}, false
	}
	head, content, ok := strings.Cut(rest, "]")
	if !ok {
		return pawl.Marker{}, false
	}
	name, attributes, colon := strings.Cut(head, ":")
	if !isMarkerType(name) || colon && attributes == "" {
		return pawl.Marker{}, false
	}
	content = strings.TrimLeftFunc(strings.TrimRight(content, "\r"), isSpace)
	if strings.ContainsAny(content, "\r\u2028\u2029") { // JavaScript ends a line at these
		return pawl.Marker{}, false
	}
	m := pawl.Marker{Type: underscored(name), Content: strings.TrimRightFunc(content, isSpace), Line: number}
	m.Valid = markerTypes[m.Type]
	m.Subtype, m.Attributes = markerAttributes(m.Type, attributes, colon)
	return m, true
}

// markerAttributes reads what stands between "TYPE:" and "]". There is no escape, so a value holds no ':' and no ']'.
func markerAttributes(markerType, text string, present bool) (subtype *string, attributes map[string]string) {
	attributes = map[string]string{}
	if !present {
		return nil, attributes
	}
	if markerType == "CITATION" { // arXiv:2301.12345 is one name
		return &text, attributes
	}
	for part := range strings.SplitSeq(text, ":") {
		key, value, pair := strings.Cut(part, "=")
		if !pair && subtype == nil {
			name := underscored(part)
			subtype = &name
			continue
		}
		attributes[key] = value
	}
	return subtype, attributes
}

// isMarkerType reports whether s is a capital followed by capitals, digits, '_' and '-'.
func isMarkerType(s string) bool {
	for i := range len(s) {
		c := s[i]
		inner := i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-')
		if !inner && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}

func underscored(s string) string { return strings.ReplaceAll(s, "-", "_") }

// isSpace reports whether JavaScript's \s takes r: Unicode's space separators, the byte order mark, and the controls
// except U+0085.
func isSpace(r rune) bool {
	if r == '\uFEFF' || r == '\u2028' || r == '\u2029' {
		return true
	}
	return r >= '\t' && r <= '\r' || unicode.Is(unicode.Zs, r)
}

// Text returns what a marker tells a person: its content or, without one, its words, such as "stage progress S02_fit_model: half
// of it (50%)".
func Text(m pawl.Marker) string {
	message := Message(m)
	if m.Content != "" || m.Subtype == nil {
		return message
	}
	words := []string{strings.ToLower(m.Type), *m.Subtype, m.Attributes["id"]}
	text := strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
	if message != "" {
		text += ": " + message
	}
	return text
}

// Message returns the content of a marker or, without one, its message with the percentage, or its status.
func Message(m pawl.Marker) string {
	message := cmp.Or(m.Content, m.Attributes["msg"])
	if pct := strings.TrimSuffix(m.Attributes["pct"], "%"); pct != "" && m.Content == "" {
		message = strings.TrimSpace(message + " (" + pct + "%)")
	}
	return cmp.Or(message, m.Attributes["status"])
}
