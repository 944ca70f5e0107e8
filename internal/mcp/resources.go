package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addResources adds what clients may read without a tool: the brief, and the status as data.
func (s *Server) addResources() {
	s.sdk.AddResource(&sdk.Resource{
		URI: "pawl://brief", Name: "brief", Title: "What a fresh agent must know", Description: text("resource-brief"), MIMEType: "text/markdown",
	}, s.read(func(ctx context.Context, req *sdk.ReadResourceRequest) (string, error) {
		told, err := s.briefOf(ctx, req.ClientInfo(), briefIn{})
		return told.Text, err
	}))
	s.sdk.AddResource(&sdk.Resource{
		URI: "pawl://state", Name: "state", Title: "Where the run stands", Description: text("resource-state"), MIMEType: "application/json",
	}, s.read(func(ctx context.Context, _ *sdk.ReadResourceRequest) (string, error) {
		now, err := s.statusNow(ctx, "")
		if err != nil {
			return "", err
		}
		data, err := json.MarshalIndent(now, "", "  ")
		return string(data), err
	}))
}

// read is how a resource is read whose text comes from a function.
func (s *Server) read(content func(context.Context, *sdk.ReadResourceRequest) (string, error)) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		text, err := content(ctx, req)
		if err != nil {
			return nil, s.refusal(req.Params.URI, err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: text}}}, nil
	}
}
