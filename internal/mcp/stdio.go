package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio serves one client that writes lines to in and reads lines from out, until it closes in.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &wire{in: bufio.NewReaderSize(in, 64<<10), out: out, read: make(chan line), gone: make(chan struct{})}
	go w.take()
	return s.sdk.Run(ctx, w)
}

// wire carries JSON-RPC messages, one a line. The SDK's own ends with the first line that it cannot read; this one tells the
// client what is wrong with it, and goes on.
type wire struct {
	in   *bufio.Reader
	read chan line     // what take has taken
	gone chan struct{} // closed with the wire
	once sync.Once     // for that

	mu  sync.Mutex // guards out, so that lines stay whole
	out io.Writer
}

// line is a line as it came, or why none comes any more.
type line struct {
	data []byte
	long bool // it was too long, and is left out
	err  error
}

// maxMessage is how long a message may be, in bytes. What a tool takes is far less, but that is told to who called it.
const maxMessage = 16 << 20

// Connect makes the wire the connection that it is.
func (w *wire) Connect(context.Context) (sdk.Connection, error) { return w, nil }

// SessionID is empty: the process is the session.
func (w *wire) SessionID() string { return "" }

// take reads lines for Read, which has to end although a read does not. It ends with the input, or with the process.
func (w *wire) take() {
	for {
		l := w.next()
		select {
		case w.read <- l:
		case <-w.gone:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// next returns the next line. The last one need not be ended.
func (w *wire) next() line {
	var l line
	for {
		part, err := w.in.ReadSlice('\n')
		if l.long = l.long || len(l.data)+len(part) > maxMessage; l.long {
			l.data = nil
		} else {
			l.data = append(l.data, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(l.data) == 0 && !l.long:
			return line{err: err}
		default: // an end of the input comes again
			return l
		}
	}
}

// Read returns the next message that is one.
func (w *wire) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case l := <-w.read:
			if l.err != nil {
				return nil, l.err
			}
			msg, err := w.message(l)
			if msg != nil || err != nil {
				return msg, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.gone:
			return nil, io.EOF
		}
	}
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
	if err != nil {
		return nil, w.complain(data, jsonrpc.CodeInvalidRequest, "this is no JSON-RPC 2.0 message: "+err.Error())
	}
	return msg, nil
}

// complain tells the client what is wrong with a message, under its id where it has one.
func (w *wire) complain(message []byte, code int64, why string) error {
	var of struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &of) != nil || len(of.ID) == 0 || of.ID[0] == '{' || of.ID[0] == '[' {
		of.ID = json.RawMessage("null")
	}
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": of.ID, "error": map[string]any{"code": code, "message": why},
	})
	if err != nil {
		return err
	}
	return w.put(data)
}

// Write sends a message.
func (w *wire) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return w.put(data)
}

func (w *wire) put(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(append(data, '\n'))
	return err
}

// Close ends the wire. What was taken from the input and not read is lost with it.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.gone) })
	return nil
}
