package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/test/torture/observed"
)

func TestArguments(t *testing.T) {
	for text, want := range map[string][]string{
		`AT_FDCWD</a, b>, "x, \"y\" (z", O_RDWR|O_CREAT, 0600`: {`AT_FDCWD</a, b>`, `"x, \"y\" (z"`, "O_RDWR|O_CREAT", "0600"},
		`3</a>) = 0`: {`3</a>) = 0`},
	} {
		if got := arguments(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	got, err := unquote(`"a\n\0\0017\377\"\\"`)
	if want := "a\n\x00\x017\xff\"\\"; err != nil || string(got) != want {
		t.Errorf("unquote: %q, %v; want %q", got, err, want)
	}
	if _, err := unquote(`"cut"...`); err == nil {
		t.Error("a string that strace has cut is taken for whole")
	}
}

// A file is written, synced, written on, and renamed over another, whose folder is synced last.
const traceOfRename = `1 openat(AT_FDCWD</>, "/r/new", O_RDWR|O_CREAT, 0600) = 3</r/new>
1 write(3</r/new>, "one", 3 <unfinished ...>
2 fsync(3</r/new>) = 0
1 <... write resumed>) = 3
1 fdatasync(3</r/new>) = 0
1 write(3</r/new>, "two", 3) = 3
1 renameat(AT_FDCWD</>, "/r/new", AT_FDCWD</>, "/r/old") = 0
1 fsync(4</r>) = 0
1 unlinkat(AT_FDCWD</>, "/r/gone", 0) = -1 ENOENT (No such file or directory)
`

func TestPlatter(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "old"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := newPlatter(root, filepath.Join(root, "free"))
	if err != nil {
		t.Fatal(err)
	}
	trace := strings.ReplaceAll(strings.ReplaceAll(traceOfRename, "/r/", root+"/"), "</r>", "<"+root+">")
	if last, err := replay(p, trace, 0); err != nil || last != 9 {
		t.Fatalf("replay: %d lines, %v", last, err)
	}
	for _, tt := range []struct {
		line int
		how  fate
		want map[string]string
	}{
		{1, dropped, map[string]string{"old": "old"}},
		{4, kept, map[string]string{"old": "old", "new": "one"}},
		{5, dropped, map[string]string{"old": "old"}},
		{6, kept, map[string]string{"old": "old", "new": "onetwo"}},
		{7, kept, map[string]string{"old": "onetwo"}},
		{7, dropped, map[string]string{"old": "old"}},
		{8, dropped, map[string]string{"old": "one"}},
		{9, kept, map[string]string{"old": "onetwo"}},
	} {
		if diff := observed.Difference(p.after(tt.line, tt.how, nil).list(), tt.want); diff != "" {
			t.Errorf("behind line %d, %s: %s", tt.line, tt.how, diff)
		}
	}
}

func TestTear(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	synced := []byte(strings.Repeat("s", 700))
	changes := []*change{{data: []byte(strings.Repeat("n", 2000)), offset: 700}}
	seen := map[string]bool{}
	for range 200 {
		got := string(tear(slices.Clone(synced), changes, torn, dice))
		if !strings.HasPrefix(got, string(synced)) {
			t.Fatal("what was synced is gone")
		}
		seen[strings.Trim(got[700:], "n")] = true
		if rest := strings.Trim(got[700:], "n\x00"); rest != "" {
			t.Fatalf("neither written nor zero: %q", rest)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d ways to tear 2000 bytes", len(seen))
	}
}
