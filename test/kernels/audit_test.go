package kernels

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// outcome is what a story left, without what differs from one run to the next.
type outcome struct {
	outputs   [][]output // of each cell
	digest    string     // output of the step that uses the variables
	artifact  string
	variables []variable // as pawl lists them
}

// output is an output of a cell, as in the notebook.
type output struct {
	Type string              `json:"output_type"`
	Name string              `json:"name"`
	Text []string            `json:"text"`
	Data map[string][]string `json:"data"`
	Meta map[string]any      `json:"metadata"`
}

// variable is a variable that pawl lists.
type variable struct{ Name, Type, Shape, Hash string }

// record is a line of a session's log, as far as the audit needs it.
type record struct {
	Begin   *struct{ Cell, Code, Key string }
	Message *struct{ Cell, Kind, Stream, Text string }
	End     *struct {
		Cell, Status, Saved string
		Time                time.Time
	}
}

// log returns the log of the session; nothing if there is none yet.
func (s *story) log() []byte {
	logs, _ := filepath.Glob(filepath.Join(s.dir, ".pawl", "runs", "*", "kernels", "main", "messages.jsonl")) // the pattern is right
	if len(logs) == 0 {
		return nil
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		s.Fatal(err)
	}
	return data
}

// lines returns how many lines the log of the session has.
func (s *story) lines() int { return bytes.Count(s.log(), []byte{'\n'}) }

// records returns the lines of the log of the session.
func (s *story) records() (list []record) {
	for line := range bytes.Lines(s.log()) {
		var r record
		if json.Unmarshal(line, &r) == nil {
			list = append(list, r)
		}
	}
	return list
}

// audit checks a story that has ended: no finished cell was executed again, and each output is there. It returns the rest for compare.
func (s *story) audit() outcome {
	s.Helper()
	begins := s.begins()
	finished := s.finished(begins)
	s.checkItems(begins)
	o := outcome{outputs: s.outputs(finished), variables: s.variables}
	for _, times := range begins {
		s.found.executed += len(times)
		s.found.repeated += len(times) - 1
	}
	if deaths := s.kernelDeaths(); s.found.repeated > deaths {
		s.Errorf("%d cells were executed again, and the kernel was killed %d times", s.found.repeated, deaths)
	}
	last := finished[len(bodies)]
	if last == nil {
		s.Errorf("the last step did not execute its cell")
		return o
	}
	o.digest = last.streams["stdout"]
	artifact, err := os.ReadFile(filepath.Join(s.dir, "artifact.txt"))
	if err != nil {
		s.Error(err)
	}
	o.artifact = string(artifact)
	s.mustRun("verify")
	if left := s.left(); len(left) > 0 {
		s.Errorf("processes are left: %v", left)
	}
	return o
}

func (s *story) kernelDeaths() (n int) {
	for _, k := range s.strikes {
		if k.endsKernel() {
			n++
		}
	}
	return n
}

// begins returns when each cell began, by the ledger.
func (s *story) begins() map[int][]time.Time {
	begins := map[int][]time.Time{}
	data, err := os.ReadFile(filepath.Join(s.home, "ledger"))
	if err != nil {
		s.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var cell int
		var at int64
		if _, err := fmt.Sscanf(line, "begin %d %d\n", &cell, &at); err != nil {
			s.Fatalf("ledger: %q: %v", line, err)
		}
		begins[cell] = append(begins[cell], time.Unix(0, at))
	}
	return begins
}

// execution is the finished execution of a cell: the text of its streams.
type execution struct{ streams map[string]string }

// finished returns the finished executions by the session's log, and checks that none of these cells began after its end.
func (s *story) finished(begins map[int][]time.Time) map[int]*execution {
	numbers := map[string]int{digest: len(bodies)}
	for i := range bodies {
		numbers[sourceOf(s.driver, i)] = i
	}
	cells, texts, finished := map[string]int{}, map[string]*execution{}, map[int]*execution{}
	for _, r := range s.records() {
		switch {
		case r.Begin != nil:
			i, ok := numbers[r.Begin.Code]
			if !ok {
				s.Fatalf("the log has a cell that nobody wrote: %q", r.Begin.Code)
			}
			if finished[i] != nil {
				s.found.again++
				s.Errorf("cell %d runs again, and it is finished", i)
			}
			cells[r.Begin.Cell], texts[r.Begin.Cell] = i, &execution{map[string]string{}}
		case r.Message != nil && r.Message.Kind == "stream" && texts[r.Message.Cell] != nil:
			texts[r.Message.Cell].streams[r.Message.Stream] += r.Message.Text
		case r.End != nil && r.End.Status == "ok":
			i := cells[r.End.Cell]
			finished[i] = texts[r.End.Cell]
			if r.End.Saved == "" {
				s.Errorf("cell %d is finished, and its variables are not saved", i)
			}
			if late := slices.IndexFunc(begins[i], r.End.Time.Before); late >= 0 {
				s.Errorf("cell %d began at %s, and it was finished at %s", i, begins[i][late].UTC(), r.End.Time)
			}
		}
	}
	return finished
}

// checkItems checks that the journal has each cell as a finished item, and that none began after that.
func (s *story) checkItems(begins map[int][]time.Time) {
	data, err := os.ReadFile(s.journal())
	if err != nil {
		s.Fatal(err)
	}
	done := map[string]time.Time{}
	for line := range bytes.Lines(data) {
		var event struct {
			Time time.Time
			Type string
			Data struct{ Step, Item, Status string }
		}
		if err := json.Unmarshal(line, &event); err != nil {
			s.Fatalf("journal: %v", err)
		}
		if _, before := done[event.Data.Item]; event.Type == "item.named" && event.Data.Status == "done" && !before {
			done[event.Data.Item] = event.Time
		}
	}
	for i := range bodies {
		at, ok := done[cellID(i)]
		if !ok {
			s.Errorf("the journal does not say that cell %d is done", i)
		} else if late := slices.IndexFunc(begins[i], at.Before); late >= 0 {
			s.Errorf("cell %d began at %s, and pawl had reported at %s that it was done", i, begins[i][late].UTC(), at)
		}
	}
}

// latePrint is what a thread prints later than its cell ends. If the kernel is killed before, it is not printed.
var latePrint = regexp.MustCompile(`late \d\n`)

// outputs returns the outputs of the notebook's cells without late prints, and checks that all text which the kernel sent is there.
func (s *story) outputs(finished map[int]*execution) (list [][]output) {
	path := filepath.Join(s.dir, "book.ipynb")
	data, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	var n struct{ Cells []struct{ Outputs []output } }
	if err := json.Unmarshal(data, &n); err != nil {
		s.Fatal(err)
	}
	if len(n.Cells) != len(bodies) {
		s.Fatalf("the notebook has %d cells", len(n.Cells))
	}
	for i, c := range n.Cells {
		texts := map[string]string{}
		var rest []output
		for _, o := range c.Outputs {
			if o.Type != "stream" {
				rest = append(rest, o)
				continue
			}
			text := strings.Join(o.Text, "")
			texts[o.Name] += text
			if text = latePrint.ReplaceAllString(text, ""); text == "" {
				continue
			}
			if last := len(rest) - 1; last >= 0 && rest[last].Type == "stream" && rest[last].Name == o.Name {
				rest[last].Text[0] += text
			} else {
				rest = append(rest, output{Type: o.Type, Name: o.Name, Text: []string{text}})
			}
		}
		list = append(list, rest)
		if finished[i] == nil {
			s.Errorf("cell %d is not finished", i)
			continue
		}
		for name, text := range finished[i].streams {
			s.found.bytes += len(text)
			s.found.lost += max(0, len(text)-len(texts[name]))
		}
		if !reflect.DeepEqual(texts, finished[i].streams) {
			s.Errorf("cell %d: the notebook has %s, and the kernel sent %s", i, sizes(texts), sizes(finished[i].streams))
		}
	}
	if err := validate(path); err != nil {
		s.Error(err)
	}
	return list
}

// sizes returns the texts of streams, as far as an error can name them.
func sizes(texts map[string]string) string {
	var b strings.Builder
	for _, name := range []string{"stdout", "stderr"} {
		fmt.Fprintf(&b, "%d bytes of %s (…%q)", len(texts[name]), name, texts[name][max(0, len(texts[name])-80):])
	}
	return b.String()
}

// left returns the processes of the story that do not end.
func (s *story) left() (left []process) {
	deadline := time.Now().Add(time.Minute)
	for {
		left = left[:0]
		for _, p := range s.processes() {
			if p.part != "other" { // such as the process that prunes in the background
				left = append(left, p)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		<-time.After(20 * time.Millisecond)
	}
}

// compare compares what a story left with what the story left that nobody harmed.
func (s *story) compare(got, want outcome) {
	s.Helper()
	for i := range want.outputs {
		if !reflect.DeepEqual(got.outputs[i], want.outputs[i]) {
			s.Errorf("cell %d has the outputs %s, want %s", i, clip(got.outputs[i]), clip(want.outputs[i]))
		}
	}
	s.found.compared += 2 + len(got.variables)
	if got.digest != want.digest {
		s.found.different++
		s.Errorf("the variables have the digest %q, want %q", got.digest, want.digest)
	}
	if got.artifact != want.artifact {
		s.found.different++
		s.Errorf("the artifact has %d bytes, want the %d of a run that nobody harmed", len(got.artifact), len(want.artifact))
	}
	if got.variables != nil && !reflect.DeepEqual(got.variables, want.variables) {
		for _, v := range got.variables {
			if !slices.Contains(want.variables, v) {
				s.found.different++
			}
		}
		s.Errorf("pawl lists the variables\n%v\nwant\n%v", got.variables, want.variables)
	}
	if s.Failed() {
		s.Logf("%s\n%s\nkept in %s, with -artifacts -outputdir FOLDER", s.history(), s.said.Bytes(), s.dir)
	}
}

func clip(o []output) string {
	text := fmt.Sprintf("%+v", o)
	if len(text) > 600 {
		text = text[:300] + " … " + text[len(text)-300:]
	}
	return text
}

// validator is a process of nbformat that validates notebooks. Warnings are errors.
var validator struct {
	sync.Mutex
	in  io.Writer
	out *bufio.Scanner
}

const validation = `import sys, nbformat
for path in sys.stdin:
    try:
        nbformat.validate(nbformat.read(path.rstrip("\n"), as_version=4))
        print("valid", flush=True)
    except Exception as error:
        print(repr(error)[:1000], flush=True)`

// validate has nbformat validate a notebook.
func validate(path string) error {
	validator.Lock()
	defer validator.Unlock()
	if validator.in == nil {
		cmd := exec.Command(python(), "-W", "error", "-c", validation)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil { // it ends with this process, which has its input
			return err
		}
		validator.in, validator.out = in, bufio.NewScanner(out)
	}
	if _, err := fmt.Fprintln(validator.in, path); err != nil {
		return err
	}
	if !validator.out.Scan() {
		return fmt.Errorf("nbformat ended: %v", validator.out.Err())
	}
	if answer := validator.out.Text(); answer != "valid" {
		return fmt.Errorf("nbformat: %s: %s", path, answer)
	}
	return nil
}

// unharmed returns what a story leaves that nobody harms, and how many lines the log of its session has.
func unharmed(t *testing.T, driver string) (o outcome, lines int) {
	t.Helper()
	t.Run("unharmed", func(t *testing.T) {
		s := newStory(t, driver)
		s.tell(func() {})
		lines = s.lines()
		o = s.audit()
		if len(o.variables) == 0 || lines < len(bodies) || o.digest == "" {
			t.Errorf("%d variables, %d lines, digest %q", len(o.variables), lines, o.digest)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return o, lines
}
