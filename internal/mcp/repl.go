package mcp

import (
	"context"
	"encoding/json"

	"pawl/internal/interop/repl"
)

// pythonREPL is Gyoshu's tool of the same name, for prompts that call it. The text of the answer is Gyoshu's JSON.
func (s *Server) pythonREPL(ctx context.Context, _ call, in repl.Call) (answer[repl.Result], error) {
	p, err := s.projectOrInit()
	if err != nil {
		return answer[repl.Result]{}, err
	}
	result, err := repl.REPL{Project: p, Clean: s.redact.Text}.Do(ctx, in)
	if err != nil {
		return answer[repl.Result]{}, err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	return answer[repl.Result]{text: string(text), data: result}, err
}
