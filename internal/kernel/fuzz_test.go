package kernel_test

import (
	"encoding/json"
	"testing"

	"pawl/internal/kernel"
)

// FuzzMessage reads anything as a message: its plain text never panics.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"kind":"result","data":{"text/plain":"42"}}`))
	f.Add([]byte(`{"kind":"display","data":{"text/plain":["a","b"],"image/png":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m kernel.Message
		if json.Unmarshal(data, &m) == nil {
			_ = m.PlainText()
		}
	})
}
