package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addPrompts adds what a person may type: resume, which has the agent go on from where things stand.
func (s *Server) addPrompts() {
	prompt := &sdk.Prompt{Name: "resume", Title: "Carry on", Description: text("prompt-resume")}
	s.sdk.AddPrompt(prompt, func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		told, err := s.briefOf(ctx, req.ClientInfo(), briefIn{})
		if err != nil {
			return nil, s.refusal("prompt resume", err)
		}
		said := text("resume") + "\n\n" + told.Text
		return &sdk.GetPromptResult{
			Description: prompt.Description,
			Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: said}}},
		}, nil
	})
}
