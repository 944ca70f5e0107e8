package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxArguments is the maximum size of a call's arguments in bytes, so that they fit a line of the journal. Calls of Gyoshu's tools are not
// journaled.
const maxArguments = 12 << 10

// isGyoshus reports whether a tool is one of Gyoshu's.
func isGyoshus(tool string) bool { return tool == "python_repl" || tool == "checkpoint_manager" }

// guard wraps every method: it rejects oversized arguments and redacts input and output. A panic fails only the call that
// caused it.
func (s *Server) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if fault := recover(); fault != nil {
				res, err = nil, s.rpcError(method, fmt.Errorf("panic: %v\n%s", fault, debug.Stack()))
			}
		}()
		if get, ok := req.GetParams().(*sdk.GetPromptParams); ok && get.Name == oldPromptName {
			get.Name = promptName
		}
		if call, ok := req.GetParams().(*sdk.CallToolParamsRaw); ok && len(call.Arguments) > 0 {
			if n := len(call.Arguments); n > maxArguments && !isGyoshus(call.Name) {
				return tooLarge(n), nil
			}
			if call.Name != "python_repl" { // code runs as it is
				call.Arguments = s.redact.JSON(call.Arguments)
			}
		}
		if res, err = next(ctx, method, req); err != nil {
			return nil, err
		}
		s.redactResult(res)
		return res, nil
	}
}

// tooLarge is a result that the model reads, so that it can correct its call.
func tooLarge(n int) *sdk.CallToolResult {
	var res sdk.CallToolResult
	res.SetError(fmt.Errorf("the arguments have %d bytes; the maximum is %d: shorten them, or write long text to a file and pass its path", n, maxArguments))
	return &res
}

// redactResult removes the secrets from a result.
func (s *Server) redactResult(res sdk.Result) {
	switch res := res.(type) {
	case *sdk.CallToolResult:
		for _, c := range res.Content {
			s.redactContent(c)
		}
		if data, ok := res.StructuredContent.(json.RawMessage); ok {
			res.StructuredContent = json.RawMessage(s.redact.JSON(data))
		}
	case *sdk.ReadResourceResult:
		for _, c := range res.Contents {
			c.Text = string(s.redact.JSON([]byte(c.Text)))
		}
	case *sdk.GetPromptResult:
		for _, m := range res.Messages {
			s.redactContent(m.Content)
		}
	}
}

func (s *Server) redactContent(c sdk.Content) {
	if c, ok := c.(*sdk.TextContent); ok {
		c.Text = s.redact.Text(c.Text)
	}
}

// discover answers a client that asks for the supported protocol revisions. The SDK would treat the request as the start of a
// session and then reject clients that only probe and continue with the older handshake.
func (s *Server) discover(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method != "server/discover" {
			return next(ctx, method, req)
		}
		res := &sdk.DiscoverResult{
			SupportedVersions: sdk.SupportedProtocolVersions(), Capabilities: capabilities(), Instructions: text("instructions"),
		}
		uncached(ctx, req, &res.Cacheable)
		return res, nil
	}
}

// uncached forbids caching: the state of a run changes at any time and is private to its user.
func uncached(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }
