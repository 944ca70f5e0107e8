//go:build linux

package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pawl/internal/agents/agentstest"
	"pawl/test/cases"
	"pawl/test/stories/storytest"
)

// secretVariables are known by their names alone: their values look like words. They stand in the agent's environment, which
// some agents do not hand on to their hooks.
var secretVariables = []string{"SERVICE_TOKEN=marmalade-at-midnight", "DEPLOY_API_KEY=quarterdeck_lantern", "VAULT_PASSWORD=Zugspitze vom Tal aus"}

var markedSecret = regexp.MustCompile(`(?s)«(.*?)»`)

// secretTexts returns texts, each with a secret that is found nowhere else.
func secretTexts(t *testing.T) (texts, secrets []string) {
	t.Helper()
	corpus, err := os.ReadFile("../../internal/redact/testdata/secrets.txt")
	if err != nil {
		t.Fatal(err)
	}
	add := func(text string) {
		for _, m := range markedSecret.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(m[1]) {
				if line = strings.TrimSpace(line); len(line) >= 12 && !strings.HasPrefix(line, "-----") {
					secrets = append(secrets, line)
				}
			}
		}
		texts = append(texts, strings.NewReplacer("«", "", "»", "").Replace(text))
	}
	for line := range strings.Lines(string(corpus)) {
		kind, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ok && !strings.HasPrefix(kind, "#") {
			add(strings.NewReplacer("⏎", "\n", "␛", "\x1b", "·", "").Replace(text))
		}
	}
	for _, text := range []string{
		"curl -H 'Authorization: Bearer «Kq8vX2mZr5TtB7wYp3Ld»' https://example.com", "mysqldump --password=«Nx7-harbour-light» garden",
		"git push https://ann:«Vt4.orchard.gate»@example.com/garden.git", "password: «Qp9!meadow!stile»",
	} {
		add(text)
	}
	for _, v := range secretVariables {
		_, value, _ := strings.Cut(v, "=")
		add("deploy with «" + value + "» and hope")
	}
	if len(secrets) < 40 {
		t.Fatalf("only %d secrets", len(secrets))
	}
	return texts, secrets
}

// told returns what an agent sends that says a text wherever it can say anything.
func told(t *testing.T, name, text string) (payloads []agentstest.Shape) {
	t.Helper()
	a, err := agentstest.New(name, "s-"+name, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	shapes, err := agentstest.Shapes(name)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(text, "\n")
	path := "src/" + first + ".txt"
	inputs := []map[string]any{
		{"command": text}, {"command": "echo '" + text + "' > out.txt"}, {"file_path": path, "content": text, "filePath": path, "path": path, "file_text": text},
		{"file_path": path, "old_string": text, "new_string": "x"}, {"description": text, "prompt": text, "url": text, "query": text, "pattern": text},
		{"todos": []any{map[string]any{"content": text, "status": "pending", "activeForm": text}}, "plan": []any{map[string]any{"step": text, "status": "pending"}}},
	}
	tools := []string{"Bash", "run_shell_command", "Write", "Edit", "mcp:" + text, "TodoWrite"}
	for _, s := range shapes {
		for i, input := range inputs {
			payload, err := a.Payload(s.Name, "", map[string]any{
				"prompt": text, "tool_input": input, "tool_name": tools[i], "tool_response": map[string]any{"stdout": text, "error": text},
				"tool_result": text, "error": text, "error_details": text, "last_assistant_message": text, "prompt_response": text, "reason": text,
				"message": text, "task_subject": text, "task_description": text, "custom_instructions": text, "trigger": text, "agent_type": text,
				"tool_use_id": string(rune('a' + i)), "transcript_path": "/home/" + path, "model": text, "session_title": text,
				"todos": []any{map[string]any{"id": text, "content": text, "status": "pending"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			payloads = append(payloads, agentstest.Shape{Name: s.Name, Payload: payload})
			if !bytes.Contains(s.Payload, []byte("tool_input")) {
				break // one will do
			}
		}
	}
	return payloads
}

// TestSecrets: whatever secrets an agent's hooks are told, in prompts, commands, names of files and of tools, answers, errors, task
// lists and last words, none is in .pawl afterwards, nor told to the next agent; nor is a .env file.
func TestSecrets(t *testing.T) {
	t.Parallel()
	texts, secrets := secretTexts(t)
	y := newYardOf(t, true)
	y.write("PASSWORD=swordfishes-in-april\n", ".env")
	y.write("[credential]\nswordfishes-in-april\n", ".netrc")
	secrets = append(secrets, "swordfishes-in-april")
	var answers strings.Builder
	answers.WriteString(y.left("sleep 60; : --password=Nx7-harbour-light"))
	var mu sync.Mutex // guards answers
	var all sync.WaitGroup
	for _, name := range agentNames {
		all.Go(func() {
			for i, some := range slices.Collect(slices.Chunk(texts, 20)) {
				if !slices.Contains(cases.Some(agentNames, i, 2), name) {
					continue
				}
				for _, s := range told(t, name, strings.Join(some, "\n")) {
					event, _, _ := strings.Cut(s.Name, " ")
					answer := y.hook(name, event, s.Payload, y.byAgent(name))
					mu.Lock()
					answers.WriteString(answer.Context)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	y.pawl("checkpoint")
	y.pawl("restore", "latest", "--to", filepath.Join(y.dir, "back"))
	said := y.log() + answers.String() + y.pawl("status") + y.pawl("brief") + y.pawl("log", "--json")
	if !storytest.Until(func() bool { storytest.EndKeepers(y.dir); return len(storytest.RunningIn(y.dir)) == 0 }) {
		t.Fatal("still running: ", storytest.RunningIn(y.dir))
	}
	for name, text := range everyText(t, y.path(".pawl"), filepath.Join(y.dir, "back")) {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				at := strings.Index(text, secret)
				t.Errorf("%s holds %q: %q", name, secret, text[max(0, at-300):min(len(text), at+100)])
			}
		}
	}
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			t.Errorf("%q is told", secret)
		}
	}
	if left := y.pawl("show", "latest", "--left-out"); !strings.Contains(left, ".env") || !strings.Contains(left, ".netrc") {
		t.Errorf("left out:\n%s", left)
	}
	if _, err := os.Stat(filepath.Join(y.dir, "back", "src", "main.go")); err != nil {
		t.Error(err)
	}
	if strings.Count(said, "[redacted:") < 100 {
		t.Error("hardly anything was redacted")
	}
}

// left kills a session during a command, and returns the next session's brief while the command still runs.
func (y *yard) left(command string) string {
	y.Helper()
	script := filepath.Join(y.dir, "script")
	if err := os.WriteFile(script, []byte("start startup\nrun echo $$ > ../pid.tmp; mv ../pid.tmp ../pid; "+command+"\n"), 0o600); err != nil {
		y.Fatal(err)
	}
	dying := y.command()
	dying.Path, dying.Args = filepath.Join(filepath.Dir(storytest.Pawl(y.T)), storytest.FakeAgent), []string{storytest.FakeAgent, "claude", "dying", script}
	dying.Env = append(dying.Env, "PATH="+filepath.Dir(storytest.Pawl(y.T))+":"+os.Getenv("PATH"))
	if err := dying.Start(); err != nil {
		y.Fatal(err)
	}
	var pid int
	if !storytest.Until(func() bool {
		data, err := os.ReadFile(filepath.Join(y.dir, "pid"))
		_, scanErr := fmt.Sscan(string(data), &pid)
		return err == nil && scanErr == nil
	}) {
		y.Fatal("it does not run")
	}
	if err := dying.Process.Kill(); err != nil {
		y.Fatal(err)
	}
	dying.Wait() // it was killed
	told := y.hook("claude", "SessionStart", y.payloads("claude", "last")[0].Payload, nil).Context
	if !strings.Contains(told, "still running: process") {
		y.Errorf("told:\n%s", told)
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		y.Error(err)
	}
	return told
}

// byAgent has a hook be called as an agent does: by a process whose environment has the secret variables, which hands them on
// or, as Gemini CLI, does not.
func (y *yard) byAgent(name string) func(*exec.Cmd) {
	if name != "gemini" {
		return func(c *exec.Cmd) { c.Env = append(c.Env, secretVariables...) }
	}
	return func(c *exec.Cmd) {
		agent := filepath.Join(filepath.Dir(storytest.Pawl(y.T)), storytest.FakeAgent)
		c.Args = append([]string{agent, storytest.CallWithout, "SERVICE_TOKEN,DEPLOY_API_KEY,VAULT_PASSWORD", storytest.Pawl(y.T)}, c.Args[1:]...)
		c.Path, c.Env = agent, append(c.Env, secretVariables...)
	}
}

// everyText returns all texts in some folders: each file as it is, and of lines of JSON also their strings as they are meant.
func everyText(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts[path] = path + "\n" + string(data)
			for line := range strings.Lines(string(data)) {
				var v any
				if json.Unmarshal([]byte(line), &v) == nil {
					texts[path] += "\n" + meant(v)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

func meant(v any) (text string) {
	switch v := v.(type) {
	case string:
		return v + "\n"
	case []any:
		for _, each := range v {
			text += meant(each)
		}
	case map[string]any:
		for key, each := range v {
			text += key + "\n" + meant(each)
		}
	}
	return text
}
