package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzWire reads anything as a client's lines. Each is a message or gets one complaint, which is one line of JSON.
func FuzzWire(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"learn","arguments":{"text":"it works"}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\r\n\n[]\n{}\n\x00\nnull\n\"\xff\""))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","result":null}` + "\n" + `{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		w := &transport{out: &out}
		in := bufio.NewReaderSize(bytes.NewReader(data), 16)
		for {
			l := nextLine(in)
			if l.err != nil {
				if l.err != io.EOF {
					t.Fatal(l.err)
				}
				return
			}
			out.Reset()
			msg, err := w.message(l)
			if err != nil {
				t.Fatal(err)
			}
			checkTaken(t, l, msg, out.Bytes())
		}
	})
}

// checkTaken compares what became of a line with what was said of it.
func checkTaken(t *testing.T, l line, msg jsonrpc.Message, said []byte) {
	t.Helper()
	blank := len(bytes.TrimSpace(l.data)) == 0 && !l.long
	taken, complained := msg != nil, len(said) > 0
	if blank && (taken || complained) || !blank && taken == complained {
		t.Fatalf("%q: message %v, said %q", l.data, msg, said)
	}
	if complained {
		var c errorResponse
		if err := json.Unmarshal(said, &c); err != nil || bytes.Count(said, []byte("\n")) != 1 || c.Error.Message == "" {
			t.Errorf("%q: said %q", l.data, said)
		}
	}
}
