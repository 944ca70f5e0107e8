package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const rules = `title = "rules"

[[rules]]
id = "acme-token"
description = "A token."
regex = '''\b(acme_[a-z0-9]{32})(?:[\x60'"\s;]|\\[nr]|$)'''
entropy = 3.5
keywords = ["ACME_"]
[[rules.allowlists]]
regexes = ['''acme_x+''']

[[rules]]
id = "acme-key"
regex = '''(?i)[\w.-]{0,50}?(?:acme)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}((a|b)[0-9]{8,})(?:[\x60'"\s;]|\\[nr]|$)'''
secretGroup = 2
keywords = [
    "acme",
    "acne",
]

[[rules]]
id = "generic-api-key"
regex = '''key'''
keywords = ["key"]

[[rules]]
id = "some-file"
regex = '''secret'''
path = '''\.tf$'''
keywords = ["secret"]
`

func TestSource(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.toml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := source(text, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"of gitleaks v1.2.3; DO NOT EDIT",
		"{kind: \"acme-token\", pattern: `\\b(acme_[a-z0-9]{32})<$>`, reach: 39, keywords: []string{\"acme_\"}, entropy: 3.5},",
		"{kind: \"acme-key\", pattern: `(?i)(?:acme)<=>((a|b)[0-9]{8,})<$>`, reach: 551, keywords: []string{\"acme\", \"acne\"}, group: 2},",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if n := strings.Count(string(got), "kind:"); n != 2 {
		t.Errorf("%d rules in:\n%s", n, got)
	}
}

func TestBadFilesFail(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "no rules", "x\n[[rules]]\nid = \"a\"\nregex = '''('''\nkeywords = [\"abc\"]", "x\n[[rules]]\nid = \"a\"\nregex = '''a'''\nkeywords = [\"ab\"]",
		"x\n[[rules]]\nid = \"a\"\nregex = '''a'''", "x\n[[rules]]\nid = ", "x\n[[rules]]\nid = \"a\"\nregex = '''a'''\nentropy = x\nkeywords = [\"abc\"]",
	} {
		if got, err := source([]byte(text), "v1"); err == nil {
			t.Errorf("%q gave %s", text, got)
		}
	}
	if _, err := source([]byte(rules), ""); err == nil {
		t.Error("no version is needed")
	}
}
