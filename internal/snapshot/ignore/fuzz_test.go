package ignore

import (
	"strings"
	"testing"
	"time"
)

// FuzzRules feeds any bytes as rules and any names: nothing may panic, and Explain and Ignored must agree.
func FuzzRules(f *testing.F) {
	for _, trap := range traps {
		f.Add([]byte(trap.rules), "foo", "a")
	}
	f.Add([]byte(strings.Repeat("*a", 20)+"b"), strings.Repeat("a", 200), strings.Repeat("a", 200))
	f.Fuzz(func(t *testing.T, rules []byte, folder, name string) {
		for _, fold := range []bool{false, true} {
			root := &Rules{top: "/top", fold: fold}
			for _, r := range []*Rules{root.with(rules, nil), root.with(rules, nil).In(folder, rules, rules)} {
				for _, isDir := range []bool{false, true} {
					if _, out := r.Explain(name, isDir); out != r.Ignored(name, isDir) {
						t.Errorf("Explain says %t of %q", out, name)
					}
				}
			}
		}
	})
}

// FuzzWild compares with a matcher that tries everything.
func FuzzWild(f *testing.F) {
	for _, trap := range traps {
		f.Add(trap.rules, strings.ReplaceAll(trap.paths, " ", "/"))
	}
	f.Add("**/a*/**/b*c", "x/ay/z/bxc")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 12 || len(path) > 16 {
			return
		}
		for _, fold := range []bool{false, true} {
			if got, want := wild(pattern, path, fold), try(pattern, 0, path, fold); got != want {
				t.Errorf("wild(%q, %q, %t) = %t, trying everything says %t", pattern, path, fold, got, want)
			}
		}
	})
}

// try is wild by brute force: every star takes every length that it may.
func try(pattern string, p int, path string, fold bool) bool {
	stars := countStars(pattern[p:])
	switch {
	case p == len(pattern):
		return path == ""
	case stars == 0:
		if path == "" {
			return false
		}
		size, ok := matchOne(pattern[p:], path[0], fold)
		return ok && try(pattern, p+size, path[1:], fold)
	}
	crosses := crossesFolders(pattern, p, stars)
	if crosses && p+stars < len(pattern) && pattern[p+stars] == '/' && try(pattern, p+stars+1, path, fold) {
		return true
	}
	for n := 0; ; n++ {
		if try(pattern, p+stars, path[n:], fold) {
			return true
		}
		if n == len(path) || path[n] == '/' && !crosses {
			return false
		}
	}
}

func TestNoPatternIsSlow(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a", 250)
	deep := strings.Repeat("a/", 2000)
	begin := time.Now()
	for pattern, path := range map[string]string{
		strings.Repeat("a*", 100) + "b":        many,
		strings.Repeat("*[a]", 100) + "b":      many,
		strings.Repeat("**/a*/", 50) + "b":     deep + "a",
		strings.Repeat("**/*a*", 50) + "b":     deep + "a",
		strings.Repeat("**/", 1000) + "b":      deep + "a",
		strings.Repeat("[[:alpha:]]*", 60):     many + "1/",
		"**/" + strings.Repeat("*a", 50) + "b": deep + many,
	} {
		if wild(pattern, path, false) {
			t.Errorf("%.20s… matches", pattern)
		}
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("seven patterns took %v", took)
	}
}
