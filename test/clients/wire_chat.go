package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
)

// chatWire is OpenAI's chat completions, as OpenCode and many others speak it.
type chatWire struct{}

func (chatWire) tools(body []byte) ([]string, error) {
	var asked struct {
		Tools []struct{ Function struct{ Name string } }
	}
	err := json.Unmarshal(body, &asked)
	var names []string
	for _, t := range asked.Tools {
		names = append(names, t.Function.Name)
	}
	return names, err
}

func (chatWire) answer(out http.ResponseWriter, _ *http.Request, said turn) {
	events, id := newStream(out), "chatcmpl-"+rand.Text()
	send := func(delta object, reason any) {
		events.data(object{
			"id": id, "object": "chat.completion.chunk", "model": "mock",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}},
		})
	}
	reason := "stop"
	send(object{"role": "assistant", "content": said.text}, nil)
	for i, c := range said.calls {
		reason = "tool_calls"
		send(object{"tool_calls": []object{{
			"index": i, "id": "call_" + rand.Text(), "type": "function",
			"function": object{"name": c.tool, "arguments": c.arguments()},
		}}}, nil)
	}
	send(object{}, reason)
	events.data(object{
		"id": id, "object": "chat.completion.chunk", "model": "mock", "choices": []object{},
		"usage": object{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
	})
	fmt.Fprint(out, "data: [DONE]\n\n")
}
