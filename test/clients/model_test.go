package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// wires are how each agent asks, with a tool and without, and what must stand in an answer with a call of it.
var wires = []struct {
	name, path, aside, asked, offers string
	answer                           []string
}{
	{
		"gemini", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", `{"contents":[]}`,
		`{"contents":[{"parts":[{"text":"hello"}]}],"tools":[{"functionDeclarations":[{"name":"shell"}]}]}`, "shell",
		[]string{"data: {", `"functionCall":{"args":{"command":"ls"},"name":"shell"}`, `"finishReason":"STOP"`},
	},
	{
		"gemini at once", "/v1beta/models/gemini-2.5-pro:generateContent", `{"contents":[]}`,
		`{"tools":[{"functionDeclarations":[{"name":"shell"}]}]}`, "shell",
		[]string{`{"candidates":[`, `"functionCall":{"args":{"command":"ls"},"name":"shell"}`},
	},
	{
		"responses", "/v1/responses", `{"input":[]}`,
		`{"input":[],"tools":[{"type":"function","name":"shell"},{"type":"web_search"}]}`, "shell",
		[]string{"event: response.output_item.done", `"arguments":"{\"command\":\"ls\"}"`, "event: response.completed"},
	},
	{
		"chat", "/v1/chat/completions", `{"messages":[]}`,
		`{"messages":[],"tools":[{"type":"function","function":{"name":"shell"}}]}`, "shell",
		[]string{`"tool_calls":[{"function":{"arguments":"{\"command\":\"ls\"}","name":"shell"}`, `"finish_reason":"tool_calls"`, "data: [DONE]"},
	},
	{
		"messages", "/v1/messages?beta=true", `{"messages":[]}`,
		`{"messages":[],"tools":[{"name":"shell"}]}`, "shell",
		[]string{"event: content_block_start", `"partial_json":"{\"command\":\"ls\"}"`, `"stop_reason":"tool_use"`, "event: message_stop"},
	},
}

func TestModelAnswersOnEveryWire(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			m := newTestModel(t)
			m.play("", turn{calls: []call{{tool: w.offers, args: object{"command": "ls"}}}}, turn{text: "The end."})
			if said := ask(t, m, w.path, w.aside); !strings.Contains(said, "Done.") {
				t.Errorf("an aside was answered with %s", said)
			}
			said := ask(t, m, w.path, w.asked)
			for _, want := range w.answer {
				if !strings.Contains(said, want) {
					t.Errorf("%s is not in the answer:\n%s", want, said)
				}
			}
			if said := ask(t, m, w.path, w.asked); !strings.Contains(said, "The end.") {
				t.Errorf("the last turn: %s", said)
			}
			if err := m.fault(); err != nil {
				t.Error(err)
			}
			if asked := m.conversation(); len(asked) != 2 || string(asked[0].body) != w.asked {
				t.Errorf("kept %d requests, the first %s", len(asked), asked[0].body)
			}
		})
	}
}

func TestModelFindsFault(t *testing.T) {
	t.Parallel()
	w := wires[len(wires)-1]
	m := newTestModel(t)
	m.play("", turn{calls: []call{{tool: "fly"}}}, turn{text: "never asked for"})
	if err := m.fault(); err == nil || !strings.Contains(err.Error(), "2 turns") {
		t.Errorf("a script that nobody asked for: %v", err)
	}
	ask(t, m, w.path, w.asked)
	if err := m.fault(); err == nil || !strings.Contains(err.Error(), "no tool fly, but shell") {
		t.Errorf("a tool that was not offered: %v", err)
	}
}

func TestATextOfTheConversationIsFound(t *testing.T) {
	t.Parallel()
	r := request{body: []byte(`{"messages":[{"content":[{"text":"one"},{"text":"two"}]}],"n":1}`)}
	if got := strings.Join(r.texts(), " "); got != "one two" {
		t.Errorf("texts %q", got)
	}
}

func newTestModel(t *testing.T) *model {
	t.Helper()
	m, err := newModel(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func ask(t *testing.T, m *model, path, body string) string {
	t.Helper()
	answer, err := http.Post(m.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
