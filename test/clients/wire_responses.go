package main

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
)

// responsesWire is OpenAI's Responses API, as Codex speaks it.
type responsesWire struct{}

func (responsesWire) tools(body []byte) ([]string, error) {
	var asked struct {
		Tools []struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
	}
	err := json.Unmarshal(body, &asked)
	var names []string
	for _, t := range asked.Tools {
		if t.Type == "function" || t.Type == "custom" {
			names = append(names, t.Name)
		}
		for _, inside := range t.Tools {
			names = append(names, inside.Name)
		}
	}
	return names, err
}

func (responsesWire) answer(out http.ResponseWriter, _ *http.Request, said turn) {
	events, id := newStream(out), "resp_"+rand.Text()
	send := func(kind string, payload object) {
		payload["type"] = kind
		events.event(kind, payload)
	}
	send("response.created", object{"response": object{"id": id}})
	for _, item := range responsesItems(said) {
		send("response.output_item.done", object{"item": item})
	}
	send("response.completed", object{"response": object{
		"id": id, "usage": object{"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
	}})
}

func responsesItems(said turn) []object {
	var items []object
	if said.text != "" {
		items = append(items, object{
			"type": "message", "role": "assistant", "id": "msg_" + rand.Text(),
			"content": []object{{"type": "output_text", "text": said.text}},
		})
	}
	for _, c := range said.calls {
		item := object{"type": "function_call", "call_id": "call_" + rand.Text(), "name": c.tool, "arguments": c.arguments()}
		if c.namespace != "" {
			item["namespace"] = c.namespace
		}
		if c.text != "" {
			item = object{"type": "custom_tool_call", "call_id": "call_" + rand.Text(), "name": c.tool, "input": c.text}
		}
		items = append(items, item)
	}
	return items
}
