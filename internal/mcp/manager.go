package mcp

import (
	"context"
	"encoding/json"

	"pawl/internal/interop"
	"pawl/internal/interop/format/gyoshu"
)

// checkpointManager is Gyoshu's tool of the same name, for prompts that call it. The text of the answer is Gyoshu's JSON.
func (s *Server) checkpointManager(ctx context.Context, c call, in gyoshu.Call) (answer[gyoshu.Result], error) {
	if in.Action == "prune" {
		if err := s.permit("prune", c.ClientInfo()); err != nil {
			return answer[gyoshu.Result]{}, err
		}
	}
	p, err := s.projectOrInit()
	if err != nil {
		return answer[gyoshu.Result]{}, err
	}
	result, err := interop.ManageCheckpoints(ctx, p, in)
	if err != nil {
		return answer[gyoshu.Result]{}, err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	return answer[gyoshu.Result]{text: string(text), data: result}, err
}
