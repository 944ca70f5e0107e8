package redact_test

import (
	"strings"
	"testing"

	"pawl/internal/redact"
	"pawl/internal/redact/redacttest"
)

func TestSure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"gh·p_aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYz5":           "github",
		"say sk·-ant-api03-aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW":  "anthropic",
		"lin_·api_aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYz5aB3d":   "linear-api-key",
		"gh·p_0123456789abcdefghijklmnopqrstuvwxyz":           "",
		"AKI·AIOSFODNN7EXAMPLE":                               "",
		"sk_·test_aB3dE5fG7hI9jK1lM2nO4p":                     "",
		"password=hunter2x DB_PASSWORD=swordfish9":            "",
		"postgres://app:s3cr3tpw@db/app":                      "",
		"DATADOG_API_KEY=d41d8cd98f00b204e9800998ecf8427e":    "",
		"look for -----BEGIN PRIVATE KEY----- in all files":   "",
		"Authorization: Bearer aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU": "",
	} {
		if got := redact.Sure(strings.ReplaceAll(text, "·", "")); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range redacttest.Harmless() {
		if got := redact.Sure(text); got != "" {
			t.Errorf("%q is a secret (%s)", text, got)
		}
	}
	found := 0
	for _, text := range redacttest.Secrets(1) {
		if redact.Sure(text.Text) != "" {
			found++
		}
	}
	if found < 60 {
		t.Errorf("only %d texts contain a token that is surely one", found)
	}
}

// A Writer gives the same as Text, however what is written is cut.
func TestWriter(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	var all strings.Builder
	for _, text := range redacttest.Secrets(2) {
		all.WriteString(strings.ReplaceAll(text.Text, "\n", " ") + "\nplain text\r")
	}
	all.WriteString("-----BEGIN RSA PRI" + "VATE KEY-----\n" + strings.Repeat("aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW\n", 8) + "-----END RSA PRI" + "VATE KEY-----\nand an end")
	want := r.Text(all.String())
	for _, size := range []int{1, 7, 100, 1 << 20} {
		var out strings.Builder
		w := r.Writer(&out)
		for rest := all.String(); rest != ""; {
			n := min(size, len(rest))
			if written, err := w.Write([]byte(rest[:n])); err != nil || written != n {
				t.Fatal(written, err)
			}
			rest = rest[n:]
		}
		if strings.HasSuffix(out.String(), "and an end") {
			t.Errorf("in pieces of %d: the unfinished line was passed on", size)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("in pieces of %d:\n%s\nwant\n%s", size, out.String(), want)
		}
	}
}

// A line without an end is passed on in pieces, so that memory is bounded.
func TestWriterHoldsLittle(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := redact.New(nil).Writer(&out)
	for range 100 {
		if _, err := w.Write([]byte(strings.Repeat("x", 10<<10))); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() < 900<<10 {
		t.Errorf("%d bytes were passed on", out.Len())
	}
}
