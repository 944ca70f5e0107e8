package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio serves one client that writes lines to in and reads lines from out, until it closes in. Calls in progress are still
// answered.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &transport{
		in: make(chan line), out: out, closed: make(chan struct{}),
		received: map[any]bool{}, answered: make(chan struct{}, 1),
	}
	s.started.Store(true)
	go readLines(in, w.in, w.closed)
	return s.sdk.Run(ctx, w)
}

// transport carries JSON-RPC messages, one per line. The SDK's own stops at the first invalid line and drops pending calls at
// the end of the input; this one reports an invalid line to the client and continues.
type transport struct {
	in     chan line
	closed chan struct{} // closed by Close
	once   sync.Once

	mu       sync.Mutex    // guards out, so that lines stay whole, and the fields below
	out      io.Writer     //
	received map[any]bool  // ids of the client's unanswered calls
	sent     int           // number of our calls that the client has not answered
	answered chan struct{} // signals that received or sent changed
}

// Connect returns the transport itself as the connection.
func (w *transport) Connect(context.Context) (sdk.Connection, error) { return w, nil }

// SessionID is empty: the process is the session.
func (w *transport) SessionID() string { return "" }

// Read returns the next valid message.
func (w *transport) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case l := <-w.in:
			if l.err != nil {
				w.drain(ctx)
				return nil, l.err
			}
			msg, err := w.message(l)
			if msg != nil || err != nil {
				w.count(msg)
				return msg, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.closed:
			return nil, io.EOF
		}
	}
}

// count counts a received call or response.
func (w *transport) count(msg jsonrpc.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.IsCall() {
			w.received[msg.ID.Raw()] = true
		}
	case *jsonrpc.Response:
		w.sent--
	}
}

// drainTimeout is how long pending calls may take after the input has ended.
const drainTimeout = 10 * time.Second

// drain waits until all calls are answered, except those that wait for the client.
func (w *transport) drain(ctx context.Context) {
	end := time.NewTimer(drainTimeout)
	defer end.Stop()
	for !w.idle() {
		select {
		case <-w.answered:
		case <-end.C:
			return
		case <-ctx.Done():
			return
		case <-w.closed:
			return
		}
	}
}

func (w *transport) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.received) <= max(w.sent, 0)
}

// message decodes a line. It reports an invalid line to the client and returns nil.
func (w *transport) message(l line) (jsonrpc.Message, error) {
	data := bytes.TrimSpace(l.data)
	switch {
	case l.long:
		return nil, w.reject(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("message is larger than %d bytes; ignored", maxMessage))
	case len(data) == 0:
		return nil, nil
	case !json.Valid(data):
		return nil, w.reject(nil, jsonrpc.CodeParseError, "line is not valid JSON; send one message per line")
	case data[0] == '[':
		return nil, w.reject(nil, jsonrpc.CodeInvalidRequest, "batches are not supported; send one message per line")
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if r, ok := msg.(*jsonrpc.Response); ok && r.Result == nil && r.Error == nil {
		err = errors.New("no method, result or error")
	}
	if err != nil {
		return nil, w.reject(data, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: "+err.Error())
	}
	return msg, nil
}

// errorResponse is an error that answers no known call.
type errorResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   jsonrpc.Error   `json:"error"`
}

// reject reports an invalid message to the client, with its id if it has one.
func (w *transport) reject(message []byte, code int64, why string) error {
	data, err := json.Marshal(errorResponse{Version: "2.0", ID: idOf(message), Error: jsonrpc.Error{Code: code, Message: why}})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writeLine(data)
}

// idOf returns the id of an invalid message, null if it has none.
func idOf(message []byte) json.RawMessage {
	var of struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &of) != nil || len(of.ID) == 0 || of.ID[0] == '{' || of.ID[0] == '[' {
		return json.RawMessage("null")
	}
	return of.ID
}

// Write sends a message.
func (w *transport) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.IsCall() {
			w.sent++
		}
	case *jsonrpc.Response:
		delete(w.received, msg.ID.Raw())
	}
	select {
	case w.answered <- struct{}{}:
	default:
	}
	return w.writeLine(data)
}

// writeLine writes a line. The caller holds mu.
func (w *transport) writeLine(data []byte) error {
	_, err := w.out.Write(append(data, '\n'))
	return err
}

// Close closes the transport. Lines that were not read yet are lost.
func (w *transport) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}
