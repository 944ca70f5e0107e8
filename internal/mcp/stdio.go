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

// Stdio serves one client that writes lines to in and reads lines from out, until it closes in. What it asked before that
// is still answered.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &wire{
		in: make(chan line), out: out, gone: make(chan struct{}),
		asked: map[any]bool{}, answered: make(chan struct{}, 1),
	}
	s.started.Store(true)
	go takeLines(in, w.in, w.gone)
	return s.sdk.Run(ctx, w)
}

// wire carries JSON-RPC messages, one a line. The SDK's own ends with the first line that it cannot read, and with its input
// drops what it was asked; this one tells the client what is wrong with a line, and goes on.
type wire struct {
	in   chan line
	gone chan struct{} // closed with the wire
	once sync.Once     // for that

	mu       sync.Mutex    // guards out, so that lines stay whole, and what follows
	out      io.Writer     //
	asked    map[any]bool  // the ids of the client's calls that are not answered
	asking   int           // calls that we made, and that the client has not answered
	answered chan struct{} // says that asked or asking changed
}

// Connect makes the wire the connection that it is.
func (w *wire) Connect(context.Context) (sdk.Connection, error) { return w, nil }

// SessionID is empty: the process is the session.
func (w *wire) SessionID() string { return "" }

// Read returns the next message that is one.
func (w *wire) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case l := <-w.in:
			if l.err != nil {
				w.finish(ctx)
				return nil, l.err
			}
			msg, err := w.message(l)
			if msg != nil || err != nil {
				w.came(msg)
				return msg, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.gone:
			return nil, io.EOF
		}
	}
}

// came notes what a message asks or answers.
func (w *wire) came(msg jsonrpc.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.IsCall() {
			w.asked[msg.ID.Raw()] = true
		}
	case *jsonrpc.Response:
		w.asking--
	}
}

// lastWord is how long a call may take on whose answer nobody may wait any more.
const lastWord = 10 * time.Second

// finish waits until all calls are answered, but for those that wait for the client themselves.
func (w *wire) finish(ctx context.Context) {
	end := time.NewTimer(lastWord)
	defer end.Stop()
	for !w.idle() {
		select {
		case <-w.answered:
		case <-end.C:
			return
		case <-ctx.Done():
			return
		case <-w.gone:
			return
		}
	}
}

func (w *wire) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked) <= max(w.asking, 0)
}

// message returns what a line says. Where that is nothing, the client has been told why.
func (w *wire) message(l line) (jsonrpc.Message, error) {
	data := bytes.TrimSpace(l.data)
	switch {
	case l.long:
		return nil, w.complain(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message of more than %d bytes: it was left out", maxMessage))
	case len(data) == 0:
		return nil, nil
	case !json.Valid(data):
		return nil, w.complain(nil, jsonrpc.CodeParseError, "this line is no JSON; each message is one line")
	case data[0] == '[':
		return nil, w.complain(nil, jsonrpc.CodeInvalidRequest, "batches are not taken: send each message as a line of its own")
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if r, ok := msg.(*jsonrpc.Response); ok && r.Result == nil && r.Error == nil {
		err = errors.New("it has neither method nor result nor error")
	}
	if err != nil {
		return nil, w.complain(data, jsonrpc.CodeInvalidRequest, "this is no JSON-RPC 2.0 message: "+err.Error())
	}
	return msg, nil
}

// complaint is an error that answers no call that we know.
type complaint struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   jsonrpc.Error   `json:"error"`
}

// complain tells the client what is wrong with a message, under its id where it has one.
func (w *wire) complain(message []byte, code int64, why string) error {
	data, err := json.Marshal(complaint{Version: "2.0", ID: idOf(message), Error: jsonrpc.Error{Code: code, Message: why}})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.put(data)
}

// idOf returns the id of a message that is wrong in some way, null where it has none.
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
func (w *wire) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.IsCall() {
			w.asking++
		}
	case *jsonrpc.Response:
		delete(w.asked, msg.ID.Raw())
	}
	select {
	case w.answered <- struct{}{}:
	default:
	}
	return w.put(data)
}

// put writes a line. Whoever calls it holds mu.
func (w *wire) put(data []byte) error {
	_, err := w.out.Write(append(data, '\n'))
	return err
}

// Close ends the wire. What was taken from the input and not read is lost with it.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.gone) })
	return nil
}
