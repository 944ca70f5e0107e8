package mcp

import (
	"context"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/schema"
)

// addTools adds all tools. A model reads of each what stands in texts.
func (s *Server) addTools() error {
	return errors.Join(
		add(s, "status", "Where the run stands", reads, s.status),
		add(s, "brief", "What a fresh agent must know", reads, s.brief),
		add(s, "history", "What happened, newest first", reads, s.history),
		add(s, "progress", "Say how far the work is", says, s.progress),
		add(s, "checkpoint", "Keep all files as they are now", says, s.checkpoint),
		add(s, "learn", "Remember something for all later work", repeats, s.learn),
		add(s, "decide", "Record a decision and why", says, s.decide),
		add(s, "block", "Say what stands in the way", says, s.block),
		add(s, "ask", "Ask a person", repeats, s.ask),
	)
}

// manner is what a tool does to the project.
type manner int

const (
	reads   manner = iota // it changes nothing
	says                  // it adds to the record
	repeats               // it adds to the record, and the same again adds nothing
)

func (m manner) annotations(title string) *sdk.ToolAnnotations {
	no := false
	return &sdk.ToolAnnotations{
		Title: title, ReadOnlyHint: m == reads, IdempotentHint: m != says, DestructiveHint: &no, OpenWorldHint: &no,
	}
}

// call is a call of a tool, and who makes it.
type call struct {
	*sdk.CallToolRequest
	by pawl.Author
}

// answer is what a tool answers: to be read, and as data. With questions, it answers once a person has answered these.
type answer[Out any] struct {
	text      string
	data      Out
	questions sdk.InputRequestMap
}

// add adds a tool. What it takes and gives is told by the types; a failure is told to the model, which may do better.
func add[In, Out any](s *Server, name, title string, m manner, do func(context.Context, call, In) (answer[Out], error)) error {
	takes, err := schema.Of[In]()
	if err != nil {
		return err
	}
	gives, err := schema.Of[Out]()
	if err != nil {
		return err
	}
	tool := &sdk.Tool{
		Name: name, Title: title, Description: text(name), InputSchema: takes, OutputSchema: gives, Annotations: m.annotations(title),
	}
	sdk.AddTool(s.sdk, tool, func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		said, err := do(ctx, call{CallToolRequest: req, by: s.author(ctx, req)}, in)
		if err != nil {
			return nil, said.data, errors.New(s.refusal(name, err).Message)
		}
		if said.questions != nil {
			return &sdk.CallToolResult{InputRequests: said.questions}, said.data, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: said.text}}}, said.data, nil
	})
	return nil
}
