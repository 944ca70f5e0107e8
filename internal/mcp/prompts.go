package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/discover"
)

// promptName is the name of the prompt. Some clients make it a command, and some of these have one called resume: so it was called once,
// and still can be by clients that remember it.
const (
	promptName    = "pawl_resume"
	oldPromptName = "resume"
)

// addPrompts adds the prompt with which a user makes the agent continue the work.
func (s *Server) addPrompts() {
	prompt := &sdk.Prompt{Name: promptName, Title: "Resume the work", Description: text("prompt-resume")}
	s.sdk.AddPrompt(prompt, func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if err := s.permit("brief", req.ClientInfo()); err != nil {
			return nil, s.rpcError("prompt "+promptName, err)
		}
		b, err := s.briefOf(ctx, req.ClientInfo(), briefIn{})
		if err != nil {
			return nil, s.rpcError("prompt "+promptName, err)
		}
		p, err := s.project()
		if err != nil {
			return nil, s.rpcError("prompt "+promptName, err)
		}
		prompted := text("resume") + "\n\n" + discover.Notice(discover.Unimported(ctx, p)) + b.Text
		return &sdk.GetPromptResult{
			Description: prompt.Description,
			Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: prompted}}},
		}, nil
	})
}
