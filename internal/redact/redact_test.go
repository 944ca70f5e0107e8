package redact_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"pawl/internal/redact"
)

// corpus returns the lines of a file of examples, without comments.
func corpus(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.NewReplacer("⏎", "\n", "␛", "\x1b", "·", "").Replace(line))
		}
	}
	return lines
}

var marked = regexp.MustCompile(`(?s)«(.*?)»`)

// example is a text with secrets and what must become of it.
type example struct{ text, want, secret string }

func examples(t testing.TB) []example {
	t.Helper()
	var all []example
	for _, line := range corpus(t, "testdata/secrets.txt") {
		kind, text, ok := strings.Cut(line, "\t")
		if !ok || !marked.MatchString(text) {
			t.Fatalf("%q: no kind, or no secret", line)
		}
		all = append(all, example{
			text:   strings.NewReplacer("«", "", "»", "").Replace(text),
			want:   marked.ReplaceAllString(text, "[redacted:"+kind+"]"),
			secret: marked.FindStringSubmatch(text)[1],
		})
	}
	return all
}

func TestSecretsGo(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	for _, e := range examples(t) {
		if got := r.Text(e.text); got != e.want {
			t.Errorf("%q:\ngot  %q\nwant %q", e.text, got, e.want)
		}
		if again := r.Text(e.want); again != e.want {
			t.Errorf("a second time, %q became %q", e.want, again)
		}
	}
}

// The same texts, one after the other and as JSON, as agents write them.
func TestSecretsGoEverywhere(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	var texts, wants []string
	for _, e := range examples(t) {
		if strings.Contains(e.text, "cut") {
			continue // what is cut off ends where its text ends
		}
		texts, wants = append(texts, e.text), append(wants, e.want)
	}
	if got, want := r.Text(strings.Join(texts, "\n")), strings.Join(wants, "\n"); got != want {
		t.Errorf("together:\ngot  %s\nwant %s", got, want)
	}
	data, err := json.Marshal(map[string]any{"lines": texts})
	if err != nil {
		t.Fatal(err)
	}
	var back map[string][]string
	if err := json.Unmarshal(r.JSON(data), &back); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(back["lines"], "\n"), strings.Join(wants, "\n"); got != want {
		t.Errorf("as JSON:\ngot  %s\nwant %s", got, want)
	}
}

func TestLookAlikesStay(t *testing.T) {
	t.Parallel()
	r := redact.New([]string{"PASSWORD=password", "TOKEN=short", "AUTH_SOCK=/run/user/1000/agent", "KEY_ID=key value1234", "API_KEY=1234567"})
	for _, text := range corpus(t, "testdata/lookalikes.txt") {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		data, err := json.Marshal([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.JSON(data); string(got) != string(data) {
			t.Errorf("%s became %s", data, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := redact.New([]string{
		"DEPLOY_TOKEN=opensesame", "DEPLOY_TOKEN_OLD=opensesame-1999", "MY_SECRET=two\nlines-1", "PGPASSWORD=hunter2",
		"SESSION_KEY=0123456789abcdef-long", "HOME=/home/me-and-you", "EDITOR=visual-editor", "TOKEN_FILE=some-file-here", "NOVALUE", "",
	})
	for text, want := range map[string]string{
		"say opensesame.":                       "say [redacted:DEPLOY_TOKEN].",
		"opensesame-1999":                       "[redacted:DEPLOY_TOKEN_OLD]",
		"opensesames, reopensesame":             "opensesames, reopensesame",
		"two\nlines-1":                          "[redacted:MY_SECRET]",
		"-phunter2 ":                            "-phunter2 ", // part of a word
		"-p hunter2":                            "-p [redacted:PGPASSWORD]",
		"x0123456789abcdef-longx":               "x[redacted:SESSION_KEY]x",
		"/home/me-and-you visual-editor":        "/home/me-and-you visual-editor",
		"some-file-here":                        "some-file-here",
		"opensesame opensesame-1999 opensesame": "[redacted:DEPLOY_TOKEN] [redacted:DEPLOY_TOKEN_OLD] [redacted:DEPLOY_TOKEN]",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	r := redact.New([]string{"A_TOKEN=open sesame"})
	for text, want := range map[string]string{
		`{"password":"swordfish","n":[1.50,true,null]}`:                `{"password":"[redacted:password]","n":[1.50,true,null]}`,
		`{ "password" : "a\"b c", "Password": "" }`:                    `{ "password" : "a\"b c", "Password": "" }`, // a text with spaces is for people
		`{"env":{"API_KEY":"abcd12345678"},"x":"<\u003c>"}`:            `{"env":{"API_KEY":"[redacted:key]"},"x":"<\u003c>"}`,
		`{"headers":{"Authorization":"Bearer 0123456789ab"}}`:          `{"headers":{"Authorization":"Bearer [redacted:authorization]"}}`,
		`["password","swordfish"]`:                                     `["password","swordfish"]`,
		`{"token":{"a":"abcd12345678"}}`:                               `{"token":{"a":"abcd12345678"}}`,
		`{"password=hunter2":1}`:                                       `{"password=[redacted:password]":1}`,
		`"open sesame"`:                                                `"[redacted:A_TOKEN]"`,
		`{"command":"curl -H \"Authorization: Bearer 0123456789ab\""}`: `{"command":"curl -H \"Authorization: Bearer [redacted:authorization]\""}`,
		`{"broken": "password=hunter2`:                                 `{"broken": "password=[redacted:password]`,
		`{}`:                                                           `{}`, ``: ``, `12`: `12`,
	} {
		if got := string(r.JSON([]byte(text))); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// A text that is made to take long takes no longer: what takes time in the square of its size needs many minutes here.
func TestTimeIsLinear(t *testing.T) {
	t.Parallel()
	r := redact.New([]string{"A_TOKEN=" + strings.Repeat("a", 100) + "b1"})
	for _, piece := range []string{
		"eyJ", "eyJ.", "sk-", "token=", "token='", `token="\`, "a://", "a://a:", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "--token ",
		"aaaaaaaa", "Bearer ", "Authorization: ", "=", ": ", "a=1 ", "AKIA", "xoxb-1", "\x1b[", `\"`, "\x1b[1eyJ",
		"curl -u ", "login -p ", "mysql -p", "echo a|", "htpasswd ", "/user:a ", "pass:", " is ", "password ", "<a>", "('a',", "Cookie: a=1;", ":5432:",
		"kind: Secret\n", "kind: Secret\ndata:\n a: b\n", "https://aaaaaaaaaaaaaaaaaaaaaaaaa1:", "datadog ", "datadog=", "glpat-", "test_", "1/", "MTaaaa", ":AA", "|", "Q~",
		"-us", "xoxb-1", "ops_eyJ", "\\n", "%3D",
	} {
		const size = 64 << 10
		text := strings.Repeat(piece, size/len(piece))
		start := time.Now()
		r.Text(text)
		if took := time.Since(start); took > time.Minute { // a fraction of a second on an idle machine
			t.Errorf("%d KiB of %q took %s", size>>10, piece, took)
		}
	}
}

// Wherever a secret stands, it goes; and JSON stays JSON.
func FuzzSecretGoes(f *testing.F) {
	all := examples(f)
	f.Add(0, "", "")
	f.Add(3, `{"a": "`, `"}`)
	f.Add(7, "password=", "\x1b[0m")
	r := redact.New(nil)
	f.Fuzz(func(t *testing.T, n int, before, after string) {
		e := all[max(n, -n, 0)%len(all)]
		text := before + "\n" + e.text + "\n" + after
		if strings.Contains(before+after, e.secret) || strings.Contains(e.text, "\\") {
			return
		}
		if got := r.Text(text); strings.Contains(got, e.secret) {
			t.Errorf("%q became %q", text, got)
		}
		data, err := json.Marshal(map[string]string{before: text})
		if err != nil {
			t.Fatal(err)
		}
		clean := r.JSON(data)
		if !json.Valid(clean) || strings.Contains(string(clean), e.secret) {
			t.Errorf("%s became %s", data, clean)
		}
	})
}

func BenchmarkText(b *testing.B) {
	var text strings.Builder
	for text.Len() < 10<<20 {
		for _, line := range corpus(b, "testdata/lookalikes.txt") {
			text.WriteString(line + "\n" + strings.Repeat("the quick brown fox jumps over the lazy dog. ", 10) + "\n")
		}
	}
	r := redact.New([]string{"A_TOKEN=opensesame-1999", "B_KEY=0123456789abcdef0123"})
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		r.Text(text.String())
	}
}
