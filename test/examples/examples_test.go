// Package examples runs each plan of the folder examples/ as a user would, kills it at random moments, resumes it and compares the
// result with that of a run that nobody killed.
package examples

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/test/cases"
	"pawl/test/stories/storytest"
)

var (
	seed   = flag.Uint64("seed", 0, "seed of the random moments; 0: by the clock")
	rounds = flag.Int("rounds", 0, "how often each example is killed and resumed; 0: once, or 50 times if tests try every case")
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// example is a plan in examples/, which is copied and run there.
type example struct {
	args   []string // of pawl run
	person string   // what a person does when the run stops; CODE is pawl's exit code
	result string   // a script that prints the result
}

var examples = map[string]example{
	"database": {result: `cat out/report.tsv; python3 -c 'import sqlite3
for row in sqlite3.connect("out/backup.db").execute("SELECT * FROM sales ORDER BY id"): print(row)'`},
	"flaky-api": {
		args:   []string{"--param", "pages=4"},
		result: `cat out/report.txt out/complaint.txt out/pages/*.json; sort -u notices.log`,
	},
	"pipeline": {args: []string{"--param", "year=2024"}, result: `cat out/sums.tsv out/report.md; ls out`},
	"invoices": {
		person: `[ "$CODE" != 4 ] || pawl skip convert --item 0047 --item 0113 --item 0171 -m "malformed, sent back"`,
		result: `cat out/totals.csv; ls out/pages; cat out/pages/*`,
	},
	"release": {
		args: []string{"--param", "version=2.4.0"},
		person: `
			pawl review notes --by editor --score 90
			pawl approve fit --yes
			pawl answer where staging
			asked=$(pawl gates | sed -n "s/^ *pawl answer \([0-9a-f]*\) 'it took effect'.*/\1/p")
			if [ -n "$asked" ] && [ -s announced.log ]; then
				pawl answer "$asked" 'it took effect' # it was killed after it had announced
			elif [ -n "$asked" ]; then
				pawl approve "$asked" --yes
			elif [ "$CODE" = 4 ]; then
				pawl retry announce # its check says that it did not take effect
			fi
			true`,
		result: `cat out/notes.md out/notes-2.4.0.md; cut -d ' ' -f 1 announced.log`,
	},
	"venv": {result: `cat report.md out/*; .venv/bin/python -c 'import wordcount; print(wordcount.count("a b a"))'`},
}

// TestEveryExampleIsRun fails for an example that neither this package nor the documents' tests run.
func TestEveryExampleIsRun(t *testing.T) {
	root, err := storytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := map[string]bool{"handbook": true, "agent": true}                // they run from the repository's folder
	plans, _ := filepath.Glob(filepath.Join(root, "examples", "*", "plan.yaml")) // the pattern is right
	for _, plan := range plans {
		name := filepath.Base(filepath.Dir(plan))
		if _, known := examples[name]; !known && !elsewhere[name] {
			t.Errorf("examples/%s is not run by a test", name)
		}
	}
	if len(plans) < len(examples) {
		t.Errorf("%d plans for %d examples", len(plans), len(examples))
	}
}

// TestKilledExamples kills the engine, or all processes, at random moments, and resumes.
func TestKilledExamples(t *testing.T) {
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	times := *rounds
	switch {
	case times == 0 && cases.All():
		times = 50
	case times == 0:
		times = 1
	}
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quiet := newWorld(t, name, e)
			quiet.carryOut(nil)
			want, lines := quiet.result(), quiet.journalLines()
			if want == "" {
				t.Fatal("no result")
			}
			for round := range times {
				t.Run(strconv.Itoa(round), func(t *testing.T) {
					t.Logf("-seed %d", from)
					random := rand.New(rand.NewPCG(from, uint64(round)))
					w := newWorld(t, name, e)
					w.carryOut(func(now int) (line int, everything bool) {
						return now + random.IntN(max(lines-now, 1)), random.IntN(2) == 0
					})
					t.Logf("killed %d times", w.kills)
					if got := w.result(); got != want {
						t.Errorf("the result is\n%s\nand without kills\n%s", got, want)
					}
				})
			}
		})
	}
}

// world is a copy of an example, in a project and with a state folder of its own.
type world struct {
	*testing.T
	example
	dir   string
	kills int
}

func newWorld(t *testing.T, name string, e example) *world {
	t.Helper()
	root, err := storytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, example: e, dir: filepath.Join(dir, "project")}
	w.copyExample(filepath.Join(root, "examples", name))
	t.Cleanup(w.killAll)
	return w
}

// copyExample copies an example without what somebody's run of it left.
func (w *world) copyExample(from string) {
	w.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		w.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		to := filepath.Join(w.dir, name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644)); err != nil {
			w.Fatal(err)
		}
	}
}

// maxKills is how often a run is killed before it may end.
const maxKills = 3

// carryOut runs the plan to its end, resumes it after each kill, and acts for the person when the run stops.
func (w *world) carryOut(moment func(now int) (line int, everything bool)) {
	w.Helper()
	start := append([]string{"run", "plan.yaml"}, w.args...)
	args := start
	last := ""
	for range 40 {
		code, out := w.pawl(args, moment)
		last = fmt.Sprintf("exit code %d\n%s", code, out)
		switch code {
		case 0:
			return
		case killed:
			args = []string{"resume", "--yes"}
		case 3, 4:
			w.sh(w.person, "CODE="+strconv.Itoa(code))
			args = []string{"resume", "--yes"}
		case 7: // it was killed before the run existed, or after its end
			if strings.Contains(out, "already complete") {
				return
			}
			args = start
		default:
			w.Fatalf("pawl %s: exit code %d\n%s", strings.Join(args, " "), code, out)
		}
	}
	w.Fatalf("the run does not end: %s", last)
}

// killed is the exit code of an engine that was killed.
const killed = -1

// pawl runs a command, kills it when the journal has as many lines as moment says, and returns its exit code and output. now is the
// number of lines at the start.
func (w *world) pawl(args []string, moment func(now int) (line int, everything bool)) (int, string) {
	w.Helper()
	cmd := w.command("pawl", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if moment == nil || w.kills == maxKills {
		return exitCode(w.T, <-ended), out.String()
	}
	line, everything := moment(w.journalLines())
	for {
		select {
		case err := <-ended:
			return exitCode(w.T, err), out.String()
		case <-time.After(time.Millisecond):
		}
		if w.journalLines() < line {
			continue
		}
		w.kills++
		cmd.Process.Kill() // an error: it has ended
		err := <-ended
		if everything {
			w.killAll()
		}
		return exitCode(w.T, err), out.String()
	}
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// killAll kills all processes of the project. A process may start another meanwhile.
func (w *world) killAll() {
	w.Helper()
	gone := storytest.Until(func() bool {
		left := storytest.RunningIn(w.dir)
		for _, pid := range left {
			n, _ := strconv.Atoi(pid) // it is a number
			syscall.Kill(n, syscall.SIGKILL)
		}
		return len(left) == 0
	})
	if !gone {
		w.Error("processes do not end")
	}
}

// journalLines returns how many lines the journals of the project have.
func (w *world) journalLines() (lines int) {
	journals, _ := filepath.Glob(filepath.Join(w.dir, ".pawl/runs/*/journal*.jsonl")) // the pattern is right
	for _, path := range journals {
		data, _ := os.ReadFile(path) // moved meanwhile: it counts next time
		lines += bytes.Count(data, []byte("\n"))
	}
	return lines
}

// result returns what the example's script prints.
func (w *world) result() string {
	w.Helper()
	return w.sh("set -e\n" + w.example.result)
}

func (w *world) sh(script string, env ...string) string {
	w.Helper()
	cmd := w.command("sh", "-c", script)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func (w *world) command(name string, args ...string) *exec.Cmd {
	program := storytest.Pawl(w.T)
	if name != "pawl" {
		program = name
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(storytest.Pawl(w.T))+":"+os.Getenv("PATH"), "HOME="+filepath.Dir(w.dir), "PAWL_STATE="+filepath.Dir(w.dir)+"/state",
		"PWD="+w.dir, "TMPDIR="+w.TempDir())
	return cmd
}
