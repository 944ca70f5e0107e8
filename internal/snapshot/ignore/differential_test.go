package ignore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	trees = flag.Int("trees", 300, "how many random trees to compare with git")
	seed  = flag.Uint64("seed", 0, "where their dice begin; 0 for the clock")
)

// One repository holds many trees, each a folder with rules of its own, because starting git costs more than all else.
const treesPerRepository = 50

func TestRandomTreesAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("%d trees from -seed %d", *trees, first)
	for i := range uint64((*trees + treesPerRepository - 1) / treesPerRepository) {
		t.Run(strconv.FormatUint(first+i, 10), func(t *testing.T) {
			t.Parallel()
			compareWithGit(t, newGarden(t, first+i))
		})
	}
}

func compareWithGit(t *testing.T, w worktree) {
	t.Helper()
	if diff := cmp.Diff(w.gitKept(), w.kept("")); diff != "" {
		t.Errorf("git keeps (-), pawl keeps (+):\n%s", diff)
	}
	reasons := map[string]string{}
	w.walk("", w.load(""), func(path string, _ bool, why Reason, out bool) {
		reasons[path] = ""
		if out {
			reasons[path] = fmt.Sprintf("%s:%d:%s", why.File, why.Line, why.Pattern)
		}
	})
	if diff := cmp.Diff(w.gitReasons(reasons), reasons); diff != "" {
		t.Errorf("git says (-), pawl says (+):\n%s", diff)
	}
}

// gitReasons asks git why each of the paths is ignored.
func (w worktree) gitReasons(paths map[string]string) map[string]string {
	w.t.Helper()
	var input strings.Builder
	for path := range paths {
		input.WriteString(path + "\x00")
	}
	answer := strings.Split(w.gitWith(input.String(), "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"), "\x00")
	reasons := map[string]string{}
	for record := range slices.Chunk(answer[:len(answer)-1], 4) {
		file, line, pattern, path := record[0], record[1], record[2], record[3]
		if file == "" || strings.HasPrefix(pattern, "!") {
			reasons[path] = ""
			continue
		}
		reasons[path] = fmt.Sprintf("%s:%s:%s", below(w.top, file), line, pattern)
	}
	return reasons
}

// newGarden makes a repository of random trees with random rules of every kind.
func newGarden(t *testing.T, seed uint64) worktree {
	t.Helper()
	w := newWorktree(t)
	g := gardener{Rand: rand.New(rand.NewPCG(seed, 0))}
	var all []string
	for i := range treesPerRepository {
		tree := g.tree(fmt.Sprintf("t%d", i))
		for _, name := range tree {
			w.write(name, "")
		}
		for _, folder := range folders(tree) {
			if g.chance(40) || strings.Count(folder, "/") == 0 {
				w.write(folder+"/.gitignore", g.rules(relative(tree, folder)))
			}
		}
		all = append(all, tree...)
	}
	for _, file := range []string{".gitignore", ".git/info/exclude", filepath.Join(w.home, ".config/git/ignore")} {
		if g.chance(50) {
			w.write(file, g.weakRules(all))
		}
	}
	w.git("config", "core.ignoreCase", strconv.FormatBool(g.chance(25)))
	return w
}

// relative are the paths below folder, as seen from it.
func relative(tree []string, folder string) []string {
	var found []string
	for _, name := range tree {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok && rest != "" {
			found = append(found, rest)
		}
	}
	return found
}

// folders are all that lead to the files of tree.
func folders(tree []string) []string {
	found := map[string]bool{}
	for _, name := range tree {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			found[dir] = true
		}
	}
	var list []string
	for dir := range found {
		list = append(list, dir)
	}
	slices.Sort(list)
	return list
}

// A gardener makes up trees and patterns that are likely to meet.
type gardener struct{ *rand.Rand }

func (g gardener) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g gardener, all []T) T { return all[g.IntN(len(all))] }

var names = []string{
	"a", "b", "foo", "bar", "foobar", "fooxbar", "A", "Foo", "BAR", "build", "x.o", "y.O", "main.c", "a.b.c", "a b", " ",
	"foo ", "foo  ", "#x", "!x", "!", "a*", "*", "**", "?", "a[b]", "[", "]", `\`, `a\b`, `a\`, "é", "\xff", "a\xfe",
	"a\nb", "\r", "a\r", "\t", "-", "^", "..a", ".x", "{a}", "1", "_", "ab", "abc", "aab", "aXb", ":", "[:alpha:]", "\x01",
}

// tree is a list of paths of files, such that no file is also a folder.
func (g gardener) tree(root string) []string {
	dirs, taken := []string{root}, map[string]bool{}
	var files []string
	for range 6 + g.IntN(30) {
		at := path.Join(pick(g, dirs), "x")
		at = at[:len(at)-1] + pick(g, names)
		if taken[at] {
			continue
		}
		taken[at] = true
		if g.chance(35) {
			dirs = append(dirs, at)
			files = append(files, at+"/"+pick(g, []string{"zz", "yy.o", "Foo"}))
			taken[files[len(files)-1]] = true
		} else {
			files = append(files, at)
		}
	}
	return files
}

// rules is a file of patterns for a folder with these paths in it.
func (g gardener) rules(paths []string) string {
	var file strings.Builder
	if g.chance(10) {
		file.WriteString("\ufeff")
	}
	for range 1 + g.IntN(9) {
		file.WriteString(g.pattern(paths))
		file.WriteString(pick(g, []string{"\n", "\n", "\n", "\n", "\r\n", "  \n", "\\ \n", "\t\n", "\n\n", "\x00x\n", " \r\n", "\r\r\n"}))
	}
	if g.chance(30) {
		file.WriteString(g.pattern(paths))
	}
	return file.String()
}

// weakRules seldom hide a whole tree.
func (g gardener) weakRules(paths []string) string {
	var file strings.Builder
	for range 4 {
		if p := pick(g, paths); strings.Count(p, "/") > 1 {
			file.WriteString(g.blur(p) + "\n")
			file.WriteString(g.blur(path.Base(p)) + "\n!t*\n")
		}
	}
	return file.String()
}

// pattern is a path or a piece of one, made unclear, or plain nonsense.
func (g gardener) pattern(paths []string) string {
	if g.chance(15) || len(paths) == 0 {
		return g.nonsense()
	}
	parts := strings.Split(pick(g, paths), "/")
	from := g.IntN(len(parts))
	parts = parts[from : from+1+g.IntN(len(parts)-from)]
	if g.chance(40) {
		parts = parts[:1]
	}
	for i := range parts {
		parts[i] = g.blur(parts[i])
	}
	p := strings.Join(parts, "/")
	for _, add := range []struct {
		percent       int
		before, after string
	}{
		{20, "/", ""}, {15, "", "/"}, {8, "**/", ""}, {8, "", "/**"}, {8, "", "/*"}, {4, "", "**"}, {4, "*", ""},
		{3, "", "/**/"}, {2, "/", ""}, {2, "", "/"}, {2, "", `\`}, {2, "#", ""}, {2, " ", ""}, {25, "!", ""}, {2, "!", ""},
	} {
		if g.chance(add.percent) {
			p = add.before + p + add.after
		}
	}
	return p
}

var tokens = []string{
	"*", "*", "**", "?", "/", "/**/", "**/", "/**", "[", "]", "!", "^", "-", `\`, " ", "a", "b", "foo", "bar", ".o", "[a-z]",
	"[!a]", "[^b]", "[]]", "[]-a]", "[[:alpha:]]", "[[:upper:]]", "[[:space:]x]", "[[:nix:]]", "[:", ":]", "[[:digit:]-z]",
	"[a-", "[--0]", `[\]]`, `[\\-^]`, `[A-\\]`, "[/]", "A", "[A-Z]", `\*`, `\/`, "[!", "***", "#", "\xff", "[\x80-\xff]",
}

func (g gardener) nonsense() string {
	var p strings.Builder
	for range g.IntN(7) {
		p.WriteString(pick(g, tokens))
	}
	return strings.ReplaceAll(p.String(), "\n", "")
}

// blur makes a pattern of a name that it may or may not match.
func (g gardener) blur(name string) string {
	cut := g.IntN(len(name) + 1)
	switch g.IntN(16) {
	case 0:
		return "*"
	case 1:
		return "**"
	case 2:
		return name[:cut] + "*"
	case 3:
		return "*" + name[cut:]
	case 4:
		return name[:cut] + pick(g, tokens) + name[cut:]
	case 5:
		return name[:cut] + "**" + name[cut:]
	case 6, 7:
		return g.blurByte(name, cut)
	case 8:
		return strings.ToUpper(name)
	case 9:
		return `\` + name
	case 10:
		return name[:cut] + "*" + g.blurByte(name[cut:], 0)
	default:
		return name
	}
}

// blurByte makes one byte of a name unclear.
func (g gardener) blurByte(name string, at int) string {
	if at >= len(name) {
		return name
	}
	c := name[at : at+1]
	return name[:at] + pick(g, []string{
		"?", "[" + c + "]", "[!" + c + "]", "[^x" + c + "]", `\` + c, "[a-z]", "[A-Z]", "[[:alnum:]]", "[[:punct:]" + c + "]",
		"[" + c + "-" + c + "]", "[" + c, `[\` + c + "]", "[]" + c + "]", "[x-" + c + "]", "[" + strings.ToUpper(c) + "]",
	}) + name[at+1:]
}
