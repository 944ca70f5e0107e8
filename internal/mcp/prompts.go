package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addPrompts adds the prompt resume, with which a user makes the agent continue the work.
func (s *Server) addPrompts() {
	prompt := &sdk.Prompt{Name: "resume", Title: "Resume the work", Description: text("prompt-resume")}
	s.sdk.AddPrompt(prompt, func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		b, err := s.briefOf(ctx, req.ClientInfo(), briefIn{})
		if err != nil {
			return nil, s.rpcError("prompt resume", err)
		}
		prompted := text("resume") + "\n\n" + b.Text
		return &sdk.GetPromptResult{
			Description: prompt.Description,
			Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: prompted}}},
		}, nil
	})
}
