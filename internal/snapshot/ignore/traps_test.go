package ignore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// traps are the cases of git's manual and those that matchers are known to get wrong. A + before a path says that it is
// content, a - that it is left out; a path that ends in a slash is a folder and gets one file.
var traps = []struct{ name, rules, paths string }{
	{"a name without a slash matches at any depth", "foo", "-foo -a/foo +foobar -b/foo/x"},
	{"a slash at the start anchors", "/foo", "-foo +a/foo"},
	{"a slash in the middle anchors", "doc/frotz", "-doc/frotz +a/doc/frotz"},
	{"a slash at the end means folders only", "foo/", "-foo/ +a/foo -b/foo/x"},
	{"a folder with a slash in the middle is anchored", "doc/frotz/", "-doc/frotz/ +a/doc/frotz/"},
	{"a star stops at slashes", "foo/*", "-foo/test.json -foo/bar/hello.c"},
	{"a star takes no folder", "foo/*.c", "-foo/a.c +foo/bar/a.c"},
	{"a star takes leading dots", "*.c", "-.c -.x.c"},
	{"stars before a slash", "**/foo", "-foo -a/foo -a/b/foo"},
	{"stars before a path", "**/foo/bar", "-foo/bar -a/foo/bar +foo/a/bar"},
	{"stars after a slash", "abc/**", "-abc/a -abc/b/c +x/abc"},
	{"stars at the end do not hide the folder itself", "abc/**\n!abc/b", "-abc/a +abc/b"},
	{"stars between slashes", "a/**/b", "-a/b -a/x/b -a/x/y/b +c/a/b"},
	{"stars at the end with a slash leave files alone", "a/**/", "+a/f -a/b/f"},
	{"stars beside other bytes are one star", "/a/x**y/b", "-a/xzy/b +a/x/y/b"},
	{"stars after the literal start of a path mean folders", "foo**/bar", "-foobar -foo/bar -foox/y/bar +x/foo/bar"},
	{"three stars are as good as two", "a/***/b", "-a/b -a/x/y/b"},
	{"what lies in an ignored folder cannot be brought back", "foo/\n!foo/keep", "-foo/keep"},
	{"what lies in an emptied folder can", "foo/*\n!foo/keep", "+foo/keep -foo/other"},
	{"all but one folder", "/*\n!/foo\n/foo/*\n!/foo/bar", "-x -a/b +foo/bar/x -foo/y"},
	{"the last match decides", "*.log\n!a.log\na*", "-a.log -b.log +c"},
	{"a deeper file is stronger", "*.log\n", "-a.log +keep/a.log -keep/b.log"},
	{"a class", "[ab].c", "-a.c -b.c +c.c"},
	{"an inverted class", "[!ab].c\n[^d].h", "+a.c -c.c +d.h -a.h"},
	{"a bracket first in a class is itself", "x[]a]\nx[!]a]y", "-x] -xa +xb +x]y -xby"},
	{"a range to a bracket is none", "[a-]x", "-ax --x +bx"},
	{"a class does not match a slash", "a[/]b\na[!x]c", "+a/b +a/c"},
	{"a class without an end matches nothing", "[ab\n*[\n", "+[ab +a +x["},
	{"an unknown class spoils the pattern", "[[:nix:]a]", "+a +n"},
	{"classes by name", "[[:digit:][:upper:]]x", "-1x -Ax +ax"},
	{"a hash starts a comment only at the start", "#a\n\\#b\nc#d", "+#a -#b -c#d"},
	{"an escaped exclamation mark is a name", "\\!a\n!b", "-!a +b"},
	{"two exclamation marks", "*\n!!a\n!.gitignore", "-a +!a -b"},
	{"a lone exclamation mark says nothing", "!\n/\n//\nx", "+! -x"},
	{"an escaped letter is itself", "\\a\\b", "-ab"},
	{"an escaped star is a star", "a\\*", "-a* +ab"},
	{"a backslash at the end matches nothing", "a\\\nb\\", "+a +a\\ +b"},
	{"a byte order mark is skipped", "\ufefffoo", "-foo"},
	{"a byte order mark elsewhere is not", "x\n\ufefffoo", "+foo -\ufefffoo"},
	{"lines may end as on Windows", "foo\r\nbar/\r\nb\r", "-foo -bar/ -b +foo\r"},
	{"only one carriage return belongs to the end of line", "a\r\r\n", "-a\r +a"},
	{"a NUL ends the line", "foo\x00bar\nx", "-foo +foobar -x"},
	{"tabs at the end stay", "foo\t", "+foo -foo\t"},
	{"bytes that are no UTF-8", "\xff*\n[\x80-\x8f]y", "-\xffa -\x85y +\x95y"},
	{"a question mark is one byte", "a?", "-ab +aé -a\xff"},
	{"a slash too many matches nothing", "//foo\nbar//", "+foo +bar/"},
	{"dots name nothing", ".\n./foo\n..", "+foo"},
	{"names with many stars", "*a*b*c", "-xaxbxc -abc +acb"},
	{"a range the wrong way round is its first byte", "[z-a]", "-z +a +b"},
	{"a star alone", "*\n!*/\n!*.go\n!.gitignore", "-a +a.go -d/a +d/e/a.go"},
}

func TestTrapsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	var expected []string
	for i, trap := range traps {
		top := fmt.Sprintf("t%02d/", i)
		w.write(top+".gitignore", trap.rules)
		if strings.Contains(trap.paths, "keep/") && strings.HasPrefix(trap.name, "a deeper") {
			w.write(top+"keep/.gitignore", "!a.log")
		}
		for _, path := range strings.Split(trap.paths, " ") {
			name := top + path[1:]
			if strings.HasSuffix(name, "/") {
				name += "file"
			}
			w.write(name, "")
			if path[0] == '+' {
				expected = append(expected, name)
			}
		}
	}
	slices.Sort(expected)
	if diff := cmp.Diff(expected, withoutRules(w.gitKept())); diff != "" {
		t.Errorf("the table says (-), git says (+):\n%s", diff)
	}
	if diff := cmp.Diff(expected, withoutRules(w.kept(""))); diff != "" {
		t.Errorf("the table says (-), pawl says (+):\n%s", diff)
	}
}

func withoutRules(files []string) []string {
	return slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "/.gitignore") })
}

// Spaces stand apart because the table is split at them.
func TestSpacesAtTheEndOfALine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"foo": "foo", "foo  ": "foo", `foo\ `: `foo\ `, `foo\   `: `foo\ `, `foo\\ `: `foo\\`, `foo \ `: `foo \ `,
		"   ": "", `foo \`: `foo \`, " foo": " foo", `\ `: `\ `, `a  b `: `a  b`, "": "",
	} {
		if got := trimSpaces(line); got != want {
			t.Errorf("trimSpaces(%q) = %q, want %q", line, got, want)
		}
	}
}

// Every byte that a name can have is held against every class, with and without folding.
func TestClassesHoldTheBytesThatGitPutsInThem(t *testing.T) {
	t.Parallel()
	for _, fold := range []string{"false", "true"} {
		w := newWorktree(t)
		w.git("config", "core.ignoreCase", fold)
		for _, class := range []string{
			"[:alnum:]", "[:alpha:]", "[:blank:]", "[:cntrl:]", "[:digit:]", "[:graph:]", "[:lower:]", "[:print:]",
			"[:punct:]", "[:space:]", "[:upper:]", "[:xdigit:]", "a-z", "A-Z", "A-z", "\x80-\xff", "a", "A", "!a", "!A-Z", `\A`,
		} {
			folder := strings.NewReplacer("[", "", "]", "", ":", "", `\`, "escaped ").Replace(class)
			w.write(folder+"/.gitignore", "x["+class+"]\n")
			for c := 1; c < 256; c++ {
				if c != '/' {
					w.write(folder+"/x"+string([]byte{byte(c)}), "")
				}
			}
		}
		if diff := cmp.Diff(w.gitKept(), w.kept("")); diff != "" {
			t.Errorf("core.ignoreCase %s: git keeps (-), pawl keeps (+):\n%s", fold, diff)
		}
	}
}
