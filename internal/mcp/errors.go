package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"pawl"
)

// codes is the one place that maps kinds of errors to MCP's: JSON-RPC's own where one fits, else the exit code of the
// command line in the range that is free for servers.
var codes = map[pawl.Kind]int64{
	pawl.KindInternal: jsonrpc.CodeInternalError, pawl.KindUsage: jsonrpc.CodeInvalidParams, pawl.KindAtGate: -32003,
	pawl.KindRunFailed: -32004, pawl.KindDamaged: -32005, pawl.KindHeld: -32006, pawl.KindNothing: -32007,
	pawl.KindInterrupted: -32013,
}

// refusal is how a client is told of an error: what is the matter and what helps. Of what went wrong inside it learns only
// that something did; whoever runs the server reads the rest in its log.
func (s *Server) refusal(doing string, err error) *jsonrpc.Error {
	kind := pawl.KindOf(err)
	message := err.Error()
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kind, message = pawl.KindInterrupted, "cancelled; whether it was recorded, `status` and `history` tell"
	case kind == pawl.KindInternal:
		s.log.Error("internal error", "doing", doing, "error", s.redact.Text(err.Error()))
		message = "internal error; whoever runs `pawl mcp` finds its cause on standard error"
	}
	if hint := pawl.HintOf(err); hint != "" && kind != pawl.KindInternal {
		message += fmt.Sprintf("; hint: `%s`", hint)
	}
	return &jsonrpc.Error{Code: codes[kind], Message: s.redact.Text(message)}
}

// usage is an error of whoever called, who is told so and can do better.
func usage(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...)}
}
