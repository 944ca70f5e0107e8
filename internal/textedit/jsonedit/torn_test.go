package jsonedit_test

import (
	"testing"

	"pawl/internal/textedit/jsonedit"
)

func TestTorn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``: ``, `oops`: ``, `"a`: ``, `{`: `{}`, `{"a`: `{}`, `{"a":1`: `{}`, `{"a":1,`: `{"a":1}`, `[1,{"b":"},`: `[1]`, `[{"b":1},{"c`: `[{"b":1}]`,
		`{"a":{"b":[1,"\",",2],"c":tru`: `{"a":{"b":[1,"\",",2]}}`, `{"a":1} more`: `{"a":1}`, `{"a":1, oops "b":[2]}`: `{"a":1}`, `{"a":[1}`: `{}`,
	} {
		if whole, rest := jsonedit.Torn([]byte(text)); string(whole) != want || len(text) < len(rest) || text[len(text)-len(rest):] != string(rest) {
			t.Errorf("of %s is whole %s, and the rest is %s", text, whole, rest)
		}
	}
}

// The complete part of any prefix of a text is valid JSON and has only values of the text.
func FuzzTorn(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\"}"}],"c":null}`))
	f.Add([]byte("\xef\xbb\xbf[[],[{}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, rest := jsonedit.Torn(text)
		if _, err := jsonedit.Read(whole); err != nil && len(rest) < len(text) {
			t.Errorf("of %q is whole %q: %v", text, whole, err)
		}
	})
}
