package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"pawl"
)

// codes maps error kinds to JSON-RPC error codes: a standard code if one fits, otherwise the command line's exit code in the
// range reserved for servers.
var codes = map[pawl.Kind]int64{
	pawl.KindInternal: jsonrpc.CodeInternalError, pawl.KindUsage: jsonrpc.CodeInvalidParams, pawl.KindAtGate: -32003,
	pawl.KindRunFailed: -32004, pawl.KindDamaged: -32005, pawl.KindHeld: -32006, pawl.KindNothing: -32007,
	pawl.KindInterrupted: -32013,
}

// rpcError converts an error for the client: the problem and a hint. The client gets no details of internal errors; these go
// to the server's log.
func (s *Server) rpcError(doing string, err error) *jsonrpc.Error {
	kind := pawl.KindOf(err)
	message := err.Error()
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kind, message = pawl.KindInterrupted, "canceled; call `status` or `history` to see whether it was recorded"
	case kind == pawl.KindInternal:
		s.log.Error("internal error", "doing", doing, "error", s.redact.Text(err.Error()))
		message = "internal error; see the standard error of `pawl mcp`"
	}
	if hint := pawl.HintOf(err); hint != "" && kind != pawl.KindInternal {
		message += fmt.Sprintf("; hint: `%s`", hint)
	}
	return &jsonrpc.Error{Code: codes[kind], Message: s.redact.Text(message)}
}

// usage returns an error that the caller can correct.
func usage(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...)}
}
