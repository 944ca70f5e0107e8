package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addResources adds the resources: the brief, and the status as data.
func (s *Server) addResources() {
	s.sdk.AddResource(&sdk.Resource{
		URI: "pawl://brief", Name: "brief", Title: "Verified handover summary", Description: text("resource-brief"), MIMEType: "text/markdown",
	}, s.read("brief", func(ctx context.Context, req *sdk.ReadResourceRequest) (string, error) {
		b, err := s.briefOf(ctx, req.ClientInfo(), briefIn{})
		return b.Text, err
	}))
	s.sdk.AddResource(&sdk.Resource{
		URI: "pawl://state", Name: "state", Title: "Status of the run", Description: text("resource-state"), MIMEType: "application/json",
	}, s.read("status", func(ctx context.Context, _ *sdk.ReadResourceRequest) (string, error) {
		now, err := s.statusNow(ctx, "")
		if err != nil {
			return "", err
		}
		data, err := json.MarshalIndent(now, "", "  ")
		return string(data), err
	}))
}

// read returns a handler for a resource whose text a function returns, as a tool does.
func (s *Server) read(tool string, content func(context.Context, *sdk.ReadResourceRequest) (string, error)) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		text, err := "", s.permit(tool, req.ClientInfo())
		if err == nil {
			text, err = content(ctx, req)
		}
		if err != nil {
			return nil, s.rpcError(req.Params.URI, err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: text}}}, nil
	}
}
