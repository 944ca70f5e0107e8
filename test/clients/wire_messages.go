package main

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
)

// messagesWire is Anthropic's Messages API, as Claude Code speaks it.
type messagesWire struct{}

func (messagesWire) tools(body []byte) ([]string, error) {
	var asked struct {
		Tools []struct{ Name string }
	}
	err := json.Unmarshal(body, &asked)
	var names []string
	for _, t := range asked.Tools {
		names = append(names, t.Name)
	}
	return names, err
}

func (messagesWire) answer(out http.ResponseWriter, _ *http.Request, said turn) {
	events := newStream(out)
	send := func(kind string, payload object) {
		payload["type"] = kind
		events.event(kind, payload)
	}
	send("message_start", object{"message": object{
		"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "model": "mock", "content": []object{},
		"usage": object{"input_tokens": 100, "output_tokens": 1},
	}})
	blocks, reason := messagesBlocks(said)
	for i, b := range blocks {
		send("content_block_start", object{"index": i, "content_block": b.start})
		send("content_block_delta", object{"index": i, "delta": b.delta})
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", object{"delta": object{"stop_reason": reason}, "usage": object{"output_tokens": 10}})
	send("message_stop", object{})
}

// block is one part of a message, as it is streamed.
type block struct{ start, delta object }

// messagesBlocks are the parts of a message, and why it ends.
func messagesBlocks(said turn) ([]block, string) {
	var blocks []block
	if said.text != "" {
		blocks = append(blocks, block{object{"type": "text", "text": ""}, object{"type": "text_delta", "text": said.text}})
	}
	reason := "end_turn"
	for _, c := range said.calls {
		reason = "tool_use"
		blocks = append(blocks, block{
			object{"type": "tool_use", "id": "toolu_" + rand.Text(), "name": c.tool, "input": object{}},
			object{"type": "input_json_delta", "partial_json": c.arguments()},
		})
	}
	return blocks, reason
}
