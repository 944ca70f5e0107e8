package mcp

import (
	"context"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/schema"
)

// addTools adds all tools. Their descriptions are in the folder texts.
func (s *Server) addTools() error {
	return errors.Join(
		add(s, "status", "Get the status of the run", reads, s.status),
		add(s, "brief", "Get a verified handover summary", reads, s.brief),
		add(s, "history", "List events, newest first", reads, s.history),
		add(s, "progress", "Report progress", appends, s.progress),
		add(s, "checkpoint", "Save a checkpoint of all files", appends, s.checkpoint),
		add(s, "learn", "Add a note for all future work", upserts, s.learn),
		add(s, "decide", "Record a decision and its reason", appends, s.decide),
		add(s, "block", "Record a blocker", appends, s.block),
		add(s, "ask", "Ask a person", upserts, s.ask),
		add(s, "python_repl", "Execute Python in a kernel that keeps its variables", removes, s.pythonREPL),
		add(s, "checkpoint_manager", "Manage checkpoints of a Gyoshu research", removes, s.checkpointManager),
	)
}

// effect is what a tool does to the project.
type effect int

const (
	reads   effect = iota // it changes nothing
	appends               // it adds to the journal
	upserts               // it adds to the journal, and a repetition adds nothing
	removes               // it can remove something
)

func (e effect) annotations(title string) *sdk.ToolAnnotations {
	no, destructive := false, e == removes
	return &sdk.ToolAnnotations{
		Title: title, ReadOnlyHint: e == reads, IdempotentHint: e != appends, DestructiveHint: &destructive, OpenWorldHint: &no,
	}
}

// call is a tool call and its author.
type call struct {
	*sdk.CallToolRequest
	by pawl.Author
}

// answer is the result of a tool, as text and as data. If it has questions, the client must answer these and call again.
type answer[Out any] struct {
	text      string
	data      Out
	questions sdk.InputRequestMap
}

// add adds a tool. The types define its input and output schemas. An error is returned to the model, which can correct its
// call.
func add[In, Out any](s *Server, name, title string, e effect, do func(context.Context, call, In) (answer[Out], error)) error {
	input, err := schema.Of[In]()
	if err != nil {
		return err
	}
	output, err := schema.OfResult[Out]()
	if err != nil {
		return err
	}
	tool := &sdk.Tool{
		Name: name, Title: title, Description: text(name), InputSchema: input, OutputSchema: output, Annotations: e.annotations(title),
	}
	sdk.AddTool(s.sdk, tool, func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		var result answer[Out]
		err := s.permit(name, req.ClientInfo())
		if err == nil {
			result, err = do(ctx, call{CallToolRequest: req, by: s.author(ctx, req)}, in)
		}
		if err != nil {
			return nil, result.data, errors.New(s.rpcError(name, err).Message)
		}
		if result.questions != nil {
			return &sdk.CallToolResult{InputRequests: result.questions}, result.data, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: result.text}}}, result.data, nil
	})
	return nil
}
