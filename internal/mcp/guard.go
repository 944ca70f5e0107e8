package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxArguments is how long the arguments of a call may be, in bytes: what is said fits a line of the journal.
const maxArguments = 12 << 10

// guard stands before every method: too much is refused, and secrets are taken out of what comes in and what goes out. A
// fault of ours fails the one call that found it.
func (s *Server) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if fault := recover(); fault != nil {
				res, err = nil, s.refusal(method, fmt.Errorf("panic: %v\n%s", fault, debug.Stack()))
			}
		}()
		if call, ok := req.GetParams().(*sdk.CallToolParamsRaw); ok && len(call.Arguments) > 0 {
			if n := len(call.Arguments); n > maxArguments {
				return tooMuch(n), nil
			}
			call.Arguments = s.redact.JSON(call.Arguments)
		}
		if res, err = next(ctx, method, req); err != nil {
			return nil, err
		}
		s.bare(res)
		return res, nil
	}
}

// tooMuch is an answer that the model itself reads, so that it can do better.
func tooMuch(n int) *sdk.CallToolResult {
	var res sdk.CallToolResult
	res.SetError(fmt.Errorf("the arguments are %d bytes long; at most %d are taken: say it shorter, or put what is long into a file and name that", n, maxArguments))
	return &res
}

// bare takes the secrets out of a result.
func (s *Server) bare(res sdk.Result) {
	switch res := res.(type) {
	case *sdk.CallToolResult:
		for _, c := range res.Content {
			s.bareContent(c)
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
			s.bareContent(m.Content)
		}
	}
}

func (s *Server) bareContent(c sdk.Content) {
	if c, ok := c.(*sdk.TextContent); ok {
		c.Text = s.redact.Text(c.Text)
	}
}

// discover answers a client that asks which revisions are spoken. The SDK would take the question for the beginning of a
// session, and then refuse the clients that only probe, and go on with the older handshake.
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

// uncached says that nothing is to be kept: what is true of a run may change at any moment, and is its user's alone.
func uncached(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }
