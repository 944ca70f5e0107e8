// Package docs follows the documents as a reader would.
package docs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pawl/internal/executor/events"
	"pawl/test/stories/storytest"
)

// root is the repository.
const root = "../.."

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// TestDocs does what a reader of the documents would do: it writes the files that they show and types their commands.
//
// A block headed "```yaml plan.yaml" is that file; every block that is a plan is checked, unless its heading says wrong. One
// headed "```yaml FILE included" is checked as a file that plans include.
// In a "```console" block each line behind "$ " is typed, and what follows is what must be seen: "…" stands for any
// text, alone on a line for any lines; times, sizes of time and hashes may differ; "exit N" at the end is the exit code.
// With -update, what is printed now goes into the document where it differs.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, path := range append(documents(t), filepath.Join(root, "README.md")) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			r := newReader(t)
			if name := filepath.Base(path); name == "README.md" || name == "durable.md" { // their commands build from the sources
				copyRepository(t, r.dir)
			}
			for _, b := range blocks(t, path) {
				r.read(t, b)
			}
			r.rewrite(t, path)
		})
	}
}

// documents are those in docs and below.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.md", "*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, "docs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	return found
}

// block is a fenced part of a document.
type block struct {
	place    string // file:line
	first    int    // index of its first line in the document
	language string
	file     string // the name of the file that it is, empty where it is none
	wrong    bool
	included bool
	lines    []string
}

func blocks(t *testing.T, path string) []block {
	t.Helper()
	var found []block
	var open *block
	for i, line := range lines(t, path) {
		switch head, fence := strings.CutPrefix(line, "```"); {
		case fence && open == nil:
			words := append(strings.Fields(head), "", "", "")
			open = &block{place: fmt.Sprintf("%s:%d", filepath.Base(path), i+1), first: i + 1, language: words[0], file: words[1], wrong: words[2] == "wrong", included: words[2] == "included"}
		case fence:
			found, open = append(found, *open), nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	return found
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data), "\n")
}

// reader is somebody who follows a document in folders of their own.
type reader struct {
	start, dir, home string
	env              []string
	news             []news
}

// news is what a command printed that the document, between two of its lines, says otherwise.
type news struct {
	from, to int
	lines    []string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{start: t.TempDir(), home: t.TempDir()}
	t.Cleanup(func() {
		if !storytest.Until(func() bool { storytest.EndKeepers(r.start); return len(storytest.RunningIn(r.start)) == 0 }) {
			t.Error("still running: ", storytest.RunningIn(r.start))
		}
	})
	r.dir = r.start
	r.env = append(os.Environ(), "HOME="+r.home, "USER=you", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=",
		"PATH="+filepath.Dir(storytest.Pawl(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // not in the new home
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.env = append(r.env, name+"="+strings.TrimSpace(string(value)))
	}
	return r
}

// isMissingFile reports whether a line is a warning about a file that an example does not have.
func isMissingFile(line string) bool {
	return strings.Contains(line, "warning: ") && strings.Contains(line, `no earlier step has it in "outputs"`)
}

// isTimeOfSteps reports whether a line of a brief gives only the time that the steps took. A brief has it if that is a
// second or more, so a slow machine prints it and a fast one does not.
func isTimeOfSteps(line string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "- so far: ")
	return ok && strings.HasSuffix(rest, " of step time") && !strings.Contains(rest, ", ")
}

func (r *reader) read(t *testing.T, b block) {
	text := strings.Join(b.lines, "\n") + "\n"
	if b.file != "" {
		path := filepath.Join(r.dir, b.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case b.language == "yaml" && strings.Contains(text, "steps:") && !b.wrong:
		path := filepath.Join(t.TempDir(), "plan.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check := "pawl plan check "
		if b.included {
			check += "--included "
		}
		out := slices.DeleteFunc(r.run(t, check+path), isMissingFile)
		if len(out) == 0 || !strings.Contains(out[0], "is valid") {
			t.Errorf("%s: %s", b.place, strings.Join(out, "\n"))
		}
	case b.language == "jsonl": // lines of an events file
		for _, line := range b.lines {
			if _, err := events.ParseLine([]byte(line)); err != nil {
				t.Errorf("%s: %s: %v", b.place, line, err)
			}
		}
	case b.language == "console":
		r.follow(t, b)
	}
}

// follow types a block's commands.
func (r *reader) follow(t *testing.T, b block) {
	for i := 0; i < len(b.lines); {
		command, ok := strings.CutPrefix(b.lines[i], "$ ")
		if !ok {
			t.Fatalf("%s: %q stands before the first command", b.place, b.lines[i])
		}
		end := i + 1
		for end < len(b.lines) && !strings.HasPrefix(b.lines[end], "$ ") {
			end++
		}
		said := b.lines[i+1 : end]
		from, to := b.first+i+1, b.first+end
		i = end
		if dir, ok := strings.CutPrefix(command, "cd "); ok {
			r.dir = filepath.Join(r.dir, dir)
			continue
		}
		printed := r.run(t, command)
		switch {
		case matches(said, printed):
		case storytest.Update():
			r.news = append(r.news, news{from, to, printed})
		default:
			t.Fatalf("%s: $ %s\nprinted\n%s\n\nwant\n%s", b.place, command, strings.Join(printed, "\n"), strings.Join(said, "\n"))
		}
	}
}

// rewrite puts the news into the document.
func (r *reader) rewrite(t *testing.T, path string) {
	if len(r.news) == 0 {
		return
	}
	text := lines(t, path)
	for _, n := range slices.Backward(r.news) {
		text = slices.Replace(text, n.from, n.to, n.lines...)
	}
	if err := os.WriteFile(path, []byte(strings.Join(text, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run has a shell carry out a command and returns the lines that a terminal would show, and "exit N" where N is not 0.
func (r *reader) run(t *testing.T, command string) []string {
	t.Helper()
	c := exec.Command("sh", "-c", command)
	c.Dir, c.Env = r.dir, r.env
	out, err := c.CombinedOutput()
	text := strings.ReplaceAll(string(out), r.start, "/home/you/work") // as the documents write the folder
	printed := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if text == "" {
		printed = nil
	}
	printed = slices.DeleteFunc(printed, isTimeOfSteps)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		printed = append(printed, fmt.Sprintf("exit %d", exit.ExitCode()))
	} else if err != nil {
		t.Fatal(err)
	}
	return printed
}

// varying is what differs from one time to the next.
var varying = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\d{8}-\d{6}-[0-9a-f]{4}`), "RUN"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?Z?|\b\d{2}:\d{2}:\d{2}\b`), "TIME"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|m|s))+\b`), "DURATION"},
	{regexp.MustCompile(`\b\d+\.\d+(e-\d+)?\b`), "NUMBER"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8,64}\b`), "HASH"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

func neutral(line string) string {
	for _, v := range varying {
		line = v.pattern.ReplaceAllString(line, v.by)
	}
	return strings.TrimSpace(line)
}

// matches reports whether the printed lines are the wanted ones.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == "…" {
		return slices.ContainsFunc(suffixes(got), func(rest []string) bool { return matches(want[1:], rest) })
	}
	if len(got) == 0 {
		return false
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(neutral(want[0])), "…", ".*") + "$"
	return regexp.MustCompile(pattern).MatchString(neutral(got[0])) && matches(want[1:], got[1:])
}

func suffixes(list []string) [][]string {
	all := make([][]string, 0, len(list)+1)
	for i := range len(list) + 1 {
		all = append(all, list[i:])
	}
	return all
}

// copyRepository makes what a fresh clone would have, uncommitted changes included.
func copyRepository(t *testing.T, dir string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A flag in a line of help, and in a row of a table in cli.md. The third is a flag whose value has the name of a Go type.
var (
	helpFlag = regexp.MustCompile(`^ +(?:-\w, )?--([a-z-]+)(?:\[=\S+\])?(?: \S+)? +(.*?)(?: \(default .*\))?$`)
	docFlag  = regexp.MustCompile("^\\| `(?:-\\w, )?--([a-z-]+)[^`]*` \\| (.*) \\|$")

	typePlaceholder = regexp.MustCompile(`--[a-z-]+ [a-z]+  `)
)

// TestHelpAndDocsAgree compares docs/cli.md with the help of each command: its summary, its usage, and each flag with its
// meaning.
func TestHelpAndDocsAgree(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	documented := sections(t, filepath.Join(root, "docs", "cli.md"))
	for _, command := range r.commands(t, "pawl", "pawl help all") {
		section, ok := documented[command]
		if !ok {
			t.Errorf("docs/cli.md has no section %q", "### "+command)
			continue
		}
		delete(documented, command)
		help := strings.Join(r.run(t, command+" --help"), "\n")
		short, rest, _ := strings.Cut(help, "\n")
		_, usage, _ := strings.Cut(rest, "Usage:\n")
		usage, _, _ = strings.Cut(usage, "\n\n")
		wanted := []string{short + "."}
		for line := range strings.SplitSeq(strings.ReplaceAll(usage, " [flags]", ""), "\n") {
			wanted = append(wanted, "`"+strings.TrimSpace(line)+"`")
		}
		for _, want := range wanted {
			if !strings.Contains(section, want) {
				t.Errorf("docs/cli.md: %s: nothing of %q", command, want)
			}
		}
		own, _, _ := strings.Cut(help, "Global Flags:")
		if unnamed := typePlaceholder.FindString(own); unnamed != "" {
			t.Errorf("%s --help: %q names a type instead of the value", command, strings.TrimSpace(unnamed))
		}
		if want, got := flags(own, helpFlag), flags(section, docFlag); !slices.Equal(want, got) {
			t.Errorf("docs/cli.md: %s: flags\n%q\nbut the program has\n%q", command, got, want)
		}
	}
	for command := range documented {
		t.Errorf("docs/cli.md speaks of %q, and there is no such command", command)
	}
}

// commands returns the commands below parent that the help text printed by list names, with the subcommands of plan, serve, kernel, notebook and
// remote.
func (r *reader) commands(t *testing.T, parent, list string) []string {
	t.Helper()
	help := strings.Join(r.run(t, list), "\n")
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) +\S`).FindAllStringSubmatch(help, -1) {
		switch name := parent + " " + m[1]; m[1] {
		case "plan", "token", "kernel", "notebook", "remote":
			found = append(found, r.commands(t, name, name+" --help")...)
		case "serve": // it does something itself, too
			found = append(append(found, name), r.commands(t, name, name+" --help")...)
		case "help", "completion", "pawl": // cobra's own, and the line of usage
		default:
			found = append(found, name)
		}
	}
	return found
}

// sections returns a document's parts by their headings of the third level.
func sections(t *testing.T, path string) map[string]string {
	t.Helper()
	found, heading := map[string]string{}, ""
	for _, line := range lines(t, path) {
		if strings.HasPrefix(line, "## ") {
			heading = ""
		} else if title, ok := strings.CutPrefix(line, "### "); ok {
			heading = title
		}
		if heading != "" {
			found[heading] += line + "\n"
		}
	}
	return found
}

// flags returns "name: meaning" of each flag in a text but help, sorted.
func flags(text string, pattern *regexp.Regexp) []string {
	var found []string
	for line := range strings.SplitSeq(text, "\n") {
		if m := pattern.FindStringSubmatch(line); m != nil && m[1] != "help" {
			found = append(found, m[1]+": "+m[2])
		}
	}
	slices.Sort(found)
	return found
}

// TestLinksLeadSomewhere checks the documents' links to files of the repository.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^):#]+)[^):]*\)`)
	above, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(above, documents(t)...) {
		for i, line := range lines(t, path) {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
					t.Errorf("%s:%d: %v", path, i+1, err)
				}
			}
		}
	}
}

// TestDependenciesAreExplained compares docs/dependencies.md with go.mod.
func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	var required, explained []string
	for _, module := range []string{"go.mod", "temporal/go.mod"} {
		for _, line := range lines(t, filepath.Join(root, module)) {
			f := strings.Fields(line)
			if strings.HasPrefix(line, "\t") && !strings.HasSuffix(line, "// indirect") && f[0] != "pawl" && !slices.Contains(required, f[0]) {
				required = append(required, f[0])
			}
		}
	}
	slices.Sort(required)
	for _, line := range lines(t, filepath.Join(root, "docs", "dependencies.md")) {
		if row, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(row, "`")
			explained = append(explained, name)
		}
	}
	slices.Sort(explained)
	if !slices.Equal(required, explained) {
		t.Errorf("docs/dependencies.md explains\n%q\nbut the modules require\n%q", explained, required)
	}
}
