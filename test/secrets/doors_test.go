//go:build linux

// Package secrets sends secrets through every door of the program, and looks for them wherever text leaves it.
package secrets

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pawl/internal/redact/redacttest"
	"pawl/test/cases"
	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// house is a project whose doors are tried. Each door gets texts of its own, so that a leak tells which one it is.
type house struct {
	*testing.T
	dir, root string
	doors     map[string][]redacttest.Text // what each door was told
	said      strings.Builder              // what the program printed
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{T: t, dir: dir, root: filepath.Join(dir, "work"), doors: map[string][]redacttest.Text{}}
	for _, sub := range []string{h.root, h.input(""), filepath.Join(dir, "home")} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { storytest.EndKeepers(dir) })
	h.pawl("", "init")
	return h
}

// perProcess returns how many texts a door gets, if each text needs a process: n, or 150 if tests try every case.
func perProcess(n int) int {
	if cases.All() {
		return 150
	}
	return n
}

// texts returns n different texts for a door.
func (h *house) texts(door string, n int) []redacttest.Text {
	all := redacttest.Secrets(uint64(len(h.doors)) + 100)
	var some []redacttest.Text
	for i := range n { // spread over all kinds, others for each door
		some = append(some, all[(i*len(all)/n+len(h.doors))%len(all)])
	}
	h.doors[door] = some
	return some
}

// input returns the path of a file outside of the project, whose files all are in snapshots.
func (h *house) input(name string) string { return filepath.Join(h.dir, "input", name) }

func (h *house) write(name string, data string) {
	h.Helper()
	if err := os.WriteFile(h.input(name), []byte(data), 0o600); err != nil {
		h.Fatal(err)
	}
}

// pawl runs the program with some input, and returns what it printed. That it fails is no fault here: what it says counts.
func (h *house) pawl(input string, args ...string) string {
	h.Helper()
	cmd := h.command(args...)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		h.Fatal(err)
	}
	if strings.Contains(stderr.String(), "unknown flag") || strings.Contains(stderr.String(), "unknown command") {
		h.Fatalf("pawl %q: %s", args, stderr.String())
	}
	return stdout.String()
}

func (h *house) command(args ...string) *exec.Cmd {
	cmd := exec.Command(storytest.Pawl(h.T), args...)
	cmd.Dir = h.root
	cmd.Env = []string{
		"PATH=" + filepath.Dir(storytest.Pawl(h.T)) + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(h.dir, "home"), "USER=ann",
		"PAWL_STATE=" + filepath.Join(h.dir, "state"),
	}
	return cmd
}

// encoded returns a value in JSON.
func (h *house) encoded(v any) string {
	h.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		h.Fatal(err)
	}
	return string(data)
}

// steps tells everything that steps can tell, while a mirror is kept.
func (h *house) steps() {
	const each = 20 // blockers, and notes, that one result may have
	var lines, marks strings.Builder
	line := func(door string, made func(text string) any) {
		for _, text := range h.texts("line "+door, 220) {
			lines.WriteString(h.encoded(map[string]any{door: made(text.Text)}) + "\n")
		}
	}
	line("progress", func(text string) any { return map[string]any{"text": text} })
	line("learn", func(text string) any { return map[string]any{"kind": "pattern", "text": text} })
	line("decide", func(text string) any { return map[string]any{"choice": text, "question": "q", "why": text} })
	line("block", func(text string) any { return map[string]any{"text": "t", "needs": text} })
	line("item", func(text string) any { return map[string]any{"item": "i", "title": text, "status": "done"} })
	h.write("lines.jsonl", lines.String())
	for _, text := range h.texts("marker", 220) {
		marks.WriteString("[FINDING] " + strings.ReplaceAll(text.Text, "\n", " ") + "\n") // a marker is one line
	}
	h.write("marks.txt", marks.String())
	notes, summaries, stops, checks := h.texts("result memory", 220), h.texts("result summary", 44), h.texts("result blocker", 220), h.texts("check output", 40)
	for i := range 44 {
		from := i % 11 * each
		var memory []any
		var blockers []string
		for j := range each {
			memory = append(memory, map[string]any{"kind": "gotcha", "text": notes[from+j].Text})
			blockers = append(blockers, stops[from+j].Text)
		}
		h.write(fmt.Sprintf("done-%d.json", i), h.encoded(map[string]any{"status": "done", "summary": summaries[i].Text, "memory": memory}))
		h.write(fmt.Sprintf("stopped-%d.json", i), h.encoded(map[string]any{"status": "failed", "summary": "s", "blockers": blockers}))
	}
	for i, text := range checks {
		h.write(fmt.Sprintf("check-%d.txt", i), text.Text+"\n")
	}
	gate := h.texts("result gate", 1)
	h.write("gate.json", h.encoded(map[string]any{"status": "waiting", "gate": map[string]any{"type": "human_action", "ask": gate[0].Text, "expect": gate[0].Text}}))
	h.texts("output", 220)
	h.write("out.txt", strings.Join(textsOf(h.doors["output"]), "\n\n"))
	h.write("plan.yaml", strings.ReplaceAll(`name: doors
parallel: 4
notify:
  - {name: file, on: [gate, failure], command: 'cat >> IN/notices.jsonl; env | grep PAWL_NOTICE >> IN/notices.jsonl'}
steps:
  - {id: lines, needs: [], run: cat IN/lines.jsonl >> "$PAWL_EVENTS"}
  - {id: marks, needs: [], run: cat IN/marks.txt}
  - {id: output, needs: [], run: cat IN/out.txt}
  - {id: gate, needs: [], run: cp IN/gate.json "$PAWL_RESULT"}
  - id: checks
    needs: []
    foreach: {lines: checks.txt}
    run: "true"
    accept: {tests: 'cat IN/check-$PAWL_ITEM.txt; exit 1'}
  - id: results
    needs: []
    foreach: {lines: items.txt}
    run: cp IN/done-$PAWL_ITEM.json "$PAWL_RESULT"
  - id: stopped
    needs: []
    foreach: {lines: elevens.txt}
    run: cp IN/stopped-$PAWL_ITEM.json "$PAWL_RESULT"; exit 1
`, "IN/", h.input("")+"/"))
	for name, n := range map[string]int{"items.txt": 44, "elevens.txt": 11, "checks.txt": 40} {
		if err := os.WriteFile(filepath.Join(h.root, name), []byte(numbers(n)), 0o600); err != nil {
			h.Fatal(err)
		}
	}
	h.pawl("", "run", "--mirror", "grid", h.input("plan.yaml"))
	for _, step := range []string{"output", "marks"} {
		h.said.WriteString(h.pawl("", "output", step))
	}
}

func textsOf(all []redacttest.Text) (texts []string) {
	for _, text := range all {
		texts = append(texts, text.Text)
	}
	return texts
}

func numbers(n int) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintln(&lines, i)
	}
	return lines.String()
}

// commands tells everything that people can tell.
func (h *house) commands() {
	each := perProcess(4)
	for door, args := range map[string][]string{
		"learn": {"learn"}, "decide": {"decide"}, "decide -m": {"decide", "yes", "-m"}, "decide --question": {"decide", "yes", "--question"},
		"block": {"block"}, "block --needs": {"block", "no ink", "--needs"}, "checkpoint -m": {"checkpoint", "-m"}, "ask": {"ask"},
		"ask --expect": {"ask", "Which?", "--expect"}, "pause -m": {"pause", "-m"}, "retry -m": {"retry", "checks", "-m"}, "skip -m": {"skip", "checks", "-m"}, "done -m": {"done", "checks", "-m"},
		"unblock -m": {"unblock", "1", "-m"}, "review -m": {"review", "lines", "--by", "ann", "--score", "50", "-m"},
	} {
		for i, text := range h.texts(door, each) {
			if door == "unblock -m" {
				args[1] = fmt.Sprint(i + 1)
			}
			if door == "ask --expect" {
				args[1] = fmt.Sprintf("Which, %d?", i)
			}
			h.said.WriteString(h.pawl("", append(slices.Clone(args), text.Text)...))
		}
	}
	for door, answer := range map[string][]string{"approve -m": {"approve", "", "--yes", "-m"}, "reject -m": {"reject", "", "-m"}, "answer -m": {"answer", "", "red", "-m"}} {
		for i, text := range h.texts(door, each) {
			ask := []string{"ask", fmt.Sprintf("%s %d?", door, i)}
			if answer[0] == "answer" {
				ask = append(ask, "--option", "red", "--option", "blue")
			}
			if answer[1] = gateID.FindString(h.pawl("", ask...)); answer[1] == "" {
				h.Fatalf("%q opens no gate", ask)
			}
			if got := h.pawl("", append(slices.Clone(answer), text.Text)...); !strings.Contains(got, answer[1]) {
				h.Errorf("%s %s says %q", answer[0], answer[1], got)
			}
		}
	}
}

var gateID = regexp.MustCompile(`\b[0-9a-f]{8}\b`)

// protocol tells everything over MCP.
func (h *house) protocol() {
	var calls strings.Builder
	calls.WriteString(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"codex","version":"1"}}}` + "\n")
	calls.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	id := 1
	call := func(tool string, arguments map[string]any) {
		id++
		calls.WriteString(h.encoded(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}}) + "\n")
	}
	for _, text := range h.texts("mcp learn", perProcess(40)) {
		call("learn", map[string]any{"text": text.Text, "kind": "gotcha"})
	}
	for _, text := range h.texts("mcp decide", perProcess(40)) {
		call("decide", map[string]any{"choice": "B", "why": text.Text})
	}
	for _, text := range h.texts("mcp block", perProcess(20)) {
		call("block", map[string]any{"text": text.Text})
	}
	for _, text := range h.texts("mcp ask", 20) {
		call("ask", map[string]any{"question": text.Text})
	}
	call("status", map[string]any{})
	call("brief", map[string]any{})
	h.said.WriteString(h.answered(calls.String(), id))
}

// answered sends calls to an MCP server, and returns its n answers. The server ends with its input.
func (h *house) answered(calls string, n int) string {
	h.Helper()
	cmd := h.command("mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	var sent sync.WaitGroup
	sent.Go(func() {
		if _, err := io.WriteString(in, calls); err != nil {
			h.Error(err)
		}
	})
	var all strings.Builder
	lines := bufio.NewReader(out)
	for range n {
		line, err := lines.ReadString('\n')
		if err != nil {
			h.Fatalf("read an answer: %v", err)
		}
		all.WriteString(line)
	}
	sent.Wait()
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		h.Error(err)
	}
	return all.String()
}

// hooks tells everything that agents tell.
func (h *house) hooks() {
	each := perProcess(12)
	hook := func(event string, of map[string]any) {
		of["hook_event_name"], of["session_id"], of["cwd"] = event, "s1", h.root
		h.said.WriteString(h.pawl(h.encoded(of), "hook", "claude"))
	}
	hook("SessionStart", map[string]any{"source": "startup"})
	for _, text := range h.texts("hook prompt", each) {
		hook("UserPromptSubmit", map[string]any{"prompt": text.Text})
	}
	for i, text := range h.texts("hook command", each) {
		hook("PreToolUse", map[string]any{"tool_name": "Bash", "tool_use_id": fmt.Sprint("t", i), "tool_input": map[string]any{"command": text.Text}})
	}
	for i, text := range h.texts("hook error", each) {
		hook("PostToolUseFailure", map[string]any{"tool_name": "Bash", "tool_use_id": fmt.Sprint("t", i), "tool_input": map[string]any{"command": "x"}, "error": text.Text})
	}
	for _, text := range h.texts("hook last words", each) {
		hook("Stop", map[string]any{"last_assistant_message": text.Text})
	}
	hook("SessionStart", map[string]any{"source": "startup", "session_id": "s2"})
}

// raw are the files, beside the output of checks, that are kept as they were written, readable by their owner only.
var raw = []string{"out.log", "err.log", "result.json", "events.jsonl", "exit.json"}

// left returns all that left the program: what it printed, and each file that it wrote but for raw ones.
func (h *house) left() map[string]string {
	h.Helper()
	files := map[string]string{}
	for _, args := range [][]string{
		{"status"}, {"status", "--json"}, {"brief"}, {"brief", "--json"}, {"brief", "--for", "claude"}, {"log", "--json"}, {"gates"}, {"memory"}, {"checkpoints"},
		{"log"}, {"runs"}, {"stats"}, {"why"}, {"explain", "checks"}, {"processes"}, {"status", "--json", "doors"}, {"brief", "--json", "doors"}, {"brief", "doors", "--budget", "1000000"},
	} {
		h.said.WriteString(h.pawl("", args...))
	}
	notices, err := os.ReadFile(h.input("notices.jsonl"))
	if err != nil || !bytes.Contains(notices, []byte(`"kind":"failure"`)) || !bytes.Contains(notices, []byte("PAWL_NOTICE_TEXT")) {
		h.Errorf("notices: %v: %s", err, notices)
	}
	files["its notices"] = string(notices)
	err = filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if path == h.input("") {
			return fs.SkipDir
		}
		inside := strings.HasPrefix(path, filepath.Join(h.root, ".")) && !d.IsDir() && filepath.Dir(path) != h.root || strings.HasPrefix(path, filepath.Join(h.dir, "state"))
		if err != nil || !inside && d.Name() != "MEMORY.md" || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if checked, _ := filepath.Match("check-*.log", d.Name()); !checked && !slices.Contains(raw, d.Name()) {
			files[path] = string(data)
			return err
		}
		if info, infoErr := d.Info(); strings.HasSuffix(path, ".log") && (infoErr != nil || info.Mode().Perm()&0o077 != 0) {
			h.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	files["its output"] = h.said.String()
	return files
}

// leak returns where a secret is, "" for nowhere.
func leak(text redacttest.Text, left map[string]string) string {
	for _, where := range slices.Sorted(maps.Keys(left)) {
		if text.Leaked(left[where]) != "" {
			return where
		}
	}
	return ""
}

// TestDoors counts, for each door, the secrets that left the program by any way.
func TestDoors(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.steps()
	h.commands()
	h.protocol()
	h.hooks()
	left := h.left()
	if n := strings.Count(left["its output"], "[redacted:"); n < 500 {
		t.Errorf("only %d secrets were redacted", n)
	}
	sum, leaked := 0, 0
	for door, texts := range h.doors {
		bad := 0
		for _, text := range texts {
			if where := leak(text, left); where != "" {
				t.Logf("%s: %q is in %s", door, text.Text, where)
				bad++
			}
		}
		t.Logf("%-18s %d of %d found", door, len(texts)-bad, len(texts))
		if bad*10 > len(texts) {
			t.Errorf("%s: %d of %d secrets leak", door, bad, len(texts))
		}
		sum, leaked = sum+len(texts), leaked+bad
	}
	t.Logf("%d of %d secrets found", sum-leaked, sum)
	if leaked*100 > 5*sum {
		t.Errorf("%d of %d secrets leak", leaked, sum)
	}
}
