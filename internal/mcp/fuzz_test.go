package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"strings"
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

// FuzzAccess reads anything as a token file, and as the headers by which a request shows where it comes from.
func FuzzAccess(f *testing.F) {
	f.Add([]byte("0123456789abcdef\n"), "localhost:80", "http://127.0.0.1:80")
	f.Add([]byte("short"), "[::1]:80", "http://evil.example#localhost:80")
	f.Add([]byte("0123456789 abcdef"), "127.0.0.1.evil.example:80", "http://user@evil.example:80")
	f.Fuzz(func(t *testing.T, data []byte, host, origin string) {
		if token, ok := parseToken(data); ok && (len(token) < minToken || strings.ContainsAny(token, " \r\n")) {
			t.Errorf("token %q", token)
		}
		if isLocalHost(host, "80") && !localHost(strings.TrimSuffix(host, ":80")) {
			t.Errorf("%q is called this machine", host)
		}
		if u, err := url.Parse(origin); isLocalOrigin([]string{origin}, "80") && (err != nil || !localHost(u.Hostname())) {
			t.Errorf("%q is called this machine", origin)
		}
	})
}

// localHost reports whether a name is one of this machine, with or without brackets.
func localHost(name string) bool {
	name = strings.Trim(name, "[]")
	ip := net.ParseIP(strings.SplitN(name, "%", 2)[0])
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
