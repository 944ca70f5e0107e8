package remote

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"pawl/internal/kernel/protocol"
)

// fromKernel returns a message as a server encodes it: v1, default without buffers, default with buffers.
func fromKernel(t testing.TB, subprotocol string, buffers ...[]byte) (data []byte, binaryMessage bool) {
	t.Helper()
	head, content := header{ID: "7", Type: "stream", Session: "s", Date: "d"}, map[string]string{"text": "ä"}
	whole, err := json.Marshal(map[string]any{
		"channel": "iopub", "header": head, "parent_header": map[string]string{"msg_id": "6"}, "metadata": struct{}{}, "content": content, "buffers": []any{},
	})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case subprotocol == v1:
		headJSON, _ := json.Marshal(head)
		contentJSON, _ := json.Marshal(content)
		return join(append([][]byte{[]byte("iopub"), headJSON, []byte(`{"msg_id":"6"}`), []byte("{}"), contentJSON}, buffers...)), true
	case len(buffers) == 0:
		return whole, false
	}
	parts := append([][]byte{whole}, buffers...)
	data = []byte{0, 0, 0, byte(len(parts))}
	offset := 4 * (len(parts) + 1)
	for _, part := range parts {
		data = append(data, 0, 0, byte(offset>>8), byte(offset))
		offset += len(part)
	}
	return append(data, bytes.Join(parts, nil)...), true
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		subprotocol string
		buffers     [][]byte
	}{{v1, nil}, {v1, [][]byte{[]byte("one"), {}, []byte("three")}}, {"", nil}, {"", [][]byte{[]byte("one"), {}, []byte("three")}}} {
		data, isBinary := fromKernel(t, test.subprotocol, test.buffers...)
		m, err := decode(test.subprotocol, isBinary, data)
		if err != nil {
			t.Fatal(err)
		}
		if m.Channel != "iopub" || m.Type != "stream" || m.ID != "7" || m.Session != "s" || m.Parent != "6" || m.Date != "d" || string(m.Content) != `{"text":"ä"}` {
			t.Errorf("%+v", m)
		}
		if !slices.EqualFunc(m.Buffers, test.buffers, bytes.Equal) {
			t.Errorf("buffers %q", m.Buffers)
		}
		for n := range data { // a message that is cut off is an error, never a panic
			if got, err := decode(test.subprotocol, isBinary, data[:n]); err == nil && len(test.buffers) == 0 {
				t.Errorf("%d of %d bytes: %+v", n, len(data), got)
			}
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for _, subprotocol := range []string{"", v1} {
		data, err := encode(subprotocol, "shell", "session", "execute_request", "id", map[string]string{"code": "1"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := decode(subprotocol, subprotocol == v1, data)
		if err != nil || m.Channel != "shell" || m.Type != "execute_request" || m.ID != "id" || m.Session != "session" || string(m.Content) != `{"code":"1"}` {
			t.Errorf("%q: %+v, %v", subprotocol, m, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, subprotocol := range []string{"", v1} {
		data, isBinary := fromKernel(f, subprotocol)
		f.Add(subprotocol == v1, isBinary, data)
		data, isBinary = fromKernel(f, subprotocol, []byte("buffer"))
		f.Add(subprotocol == v1, isBinary, data)
	}
	f.Fuzz(func(_ *testing.T, newer, isBinary bool, data []byte) {
		subprotocol := ""
		if newer {
			subprotocol = v1
		}
		if m, err := decode(subprotocol, isBinary, data); err == nil {
			_, _ = protocol.Published(m)
			_, _, _ = protocol.Replied(m)
			_, _ = protocol.Described(m)
		}
	})
}
