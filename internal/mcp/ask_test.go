package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
)

// replying is a person who fills in every form the same way.
func replying(action string, content map[string]any) person {
	return func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: action, Content: content}, nil
	}
}

var colours = args{"question": "Which colour?", "options": []string{"red", "blue"}, "expect": "the one of the sky"}

// TestPersonAnswers has a person answer in the agent's client. The answer is theirs, to exactly that gate.
func TestPersonAnswers(t *testing.T) {
	everyWay(t, func(t *testing.T, way, version string) {
		f := newFolder(t)
		var form *sdk.ElicitParams
		agent := f.connect(way, version, clientOf("claude-code", func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			form = req.Params
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "blue", "why": "as the sky, not " + secret}}, nil
		}))
		got := use(t, agent, "ask", colours)
		if got.data["state"] != "answered" || got.data["answer"] != "chosen" || got.data["option"] != "blue" {
			t.Errorf("%+v", got)
		}
		says(t, form.Message, "^Which colour\\?\nAcceptance hint: the one of the sky\n\\(gate [0-9a-f]{8} of run session-")
		says(t, fmt.Sprint(form.RequestedSchema), "enum:\\[red blue\\]")
		says(t, strings.Join(f.events("gate.answered"), ""),
			`"by":{"kind":"person","name":"tester","session":"mcp-[^"]+"}.*"gate":"`+fmt.Sprint(got.data["gate"])+`","answer":"chosen","option":"blue","why":"as the sky, not \[redacted:DEPLOY_TOKEN\]"`)
		if again := use(t, agent, "ask", colours); again.data["option"] != "blue" || len(f.events("gate.opened")) != 1 {
			t.Errorf("asked again: %+v", again)
		}
		f.noSecret()
	})
}

// TestPersonLooks has a person say whether something is right, or that it is not.
func TestPersonLooks(t *testing.T) {
	everyWay(t, func(t *testing.T, way, version string) {
		f := newFolder(t)
		look := args{"question": "Is the page right?", "type": "human_verify"}
		agent := f.connect(way, version, clientOf("codex", replying("accept", map[string]any{"answer": "reject", "why": "the title is wrong"})))
		got := use(t, agent, "ask", look)
		says(t, got.text, `answered: rejected \(the title is wrong\)`)
		other := f.connect(way, version, clientOf("codex", replying("accept", map[string]any{"answer": "approve"})))
		look["again"] = true
		says(t, use(t, other, "ask", look).text, "answered: approved")
		if n := len(f.events("gate.opened")); n != 2 {
			t.Errorf("%d gates", n)
		}
	})
}

// TestNobodyAnswers asks in clients whose person declines, goes away or cannot be asked. The gate stays open, and is
// answered by command.
func TestNobodyAnswers(t *testing.T) {
	everyWay(t, func(t *testing.T, way, version string) {
		broken := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return nil, errors.New("no screen")
		}
		for name, p := range map[string]person{
			"decline": replying("decline", nil), "cancel": replying("cancel", nil), "nobody": nil, "broken": broken,
		} {
			if name == "broken" && version >= "2026" {
				continue // then it is the client that fails, and does not call again
			}
			f := newFolder(t)
			agent := f.connect(way, version, clientOf("gemini", p))
			got := use(t, agent, "ask", colours)
			gate := fmt.Sprint(got.data["gate"])
			if got.data["state"] != "open" || len(f.events("gate.answered")) != 0 {
				t.Errorf("%s: %+v", name, got)
			}
			says(t, got.text, "pawl answer "+gate+" red, or pawl answer "+gate+" blue")
			f.pawl("answer", gate, "red", "-m", "because")
			says(t, use(t, agent, "ask", colours).text, `answered: chosen red \(because\)`)
		}
	})
}

// TestWrongAnswers fills in forms with what they do not offer. No gate takes it.
func TestWrongAnswers(t *testing.T) {
	everyWay(t, func(t *testing.T, way, version string) {
		f := newFolder(t)
		for _, content := range []map[string]any{{"answer": "green"}, {"answer": 7}, {}, {"answer": "approve"}} {
			agent := f.connect(way, version, clientOf("codex", replying("accept", content)))
			res, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask", Arguments: colours})
			if err == nil && !res.IsError && read(t, res).data["state"] != "open" {
				t.Errorf("%v: %+v", content, read(t, res))
			}
		}
		if got := f.events("gate.answered"); len(got) != 0 {
			t.Errorf("answered: %s", got)
		}
	})
}

// TestAnsweredMeanwhile answers a gate by command while its form is open. The first answer counts, and the agent is told
// that one.
func TestAnsweredMeanwhile(t *testing.T) {
	everyWay(t, func(t *testing.T, way, version string) {
		f := newFolder(t)
		agent := f.connect(way, version, clientOf("codex", func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			_, rest, _ := strings.Cut(req.Params.Message, "(gate ")
			f.pawl("answer", rest[:8], "red")
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "blue"}}, nil
		}))
		says(t, use(t, agent, "ask", colours).text, "answered: chosen red")
	})
}

// TestUnaskedAnswer brings an answer for what was never asked, and for another gate. Neither counts: the question is asked.
func TestUnaskedAnswer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	var asked atomic.Int32
	agent := f.connect("stdio", "2026-07-28", clientOf("codex", func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		asked.Add(1)
		return &sdk.ElicitResult{Action: "decline"}, nil
	}))
	first := use(t, agent, "ask", args{"question": "Another?"})
	forged := &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "red"}}
	action := pawl.GateAction{Type: pawl.DecisionFor, Ask: "Which colour?", Options: []string{"red", "blue"}, Expect: "the one of the sky"}
	for _, id := range []string{string(action.Gate("", "", time.Time{}).ID), fmt.Sprint(first.data["gate"])} {
		res, err := agent.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "ask", Arguments: colours, InputResponses: sdk.InputResponseMap{id: forged},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, res); got.data["state"] != "open" {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if asked.Load() != 3 || len(f.events("gate.answered")) != 0 {
		t.Errorf("asked %d times; %s", asked.Load(), f.events("gate.answered"))
	}
}

// TestStepAnswersItself has a client of a step's own server reply to what the step asks. Nobody knows whether that is a person,
// so the gate stays open and the step waits.
func TestStepAnswersItself(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("plan.yaml", `name: demo
steps:
  - id: work
    run: |
      pawl mcp --http --no-token 2> place & until test -e over; do sleep 0.05; done; kill -INT $!; wait $!
  - {id: after, run: echo after > after.txt}
`)
	engine := f.command("run", "plan.yaml")
	out := make(chan []byte, 1)
	go func() {
		said, _ := engine.CombinedOutput()
		out <- said
	}()
	h := f.place()
	agent := f.over("2025-11-25", clientOf("codex", replying("accept", map[string]any{"answer": "blue"})), h.transport())
	got := use(t, agent, "ask", colours)
	says(t, got.text, "is open, not answered yet")
	agent.Close()
	f.write("over", "")
	says(t, string(<-out), "waiting for gate .*Which colour")
	if answered := f.events("gate.answered"); len(answered) > 0 {
		t.Errorf("%s", answered)
	}
}

// place waits until a server has written where it is.
func (f *folder) place() served {
	f.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(f.dir, "place"))
		if m := saysPlace.FindSubmatch(data); err == nil && m != nil {
			return served{url: string(m[1])}
		}
	}
	f.Fatal("no server says where it is")
	return served{}
}
