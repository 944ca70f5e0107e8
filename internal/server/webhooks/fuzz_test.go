package webhooks

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzMessage: a file is a message that stays the same when it is written again, or an error.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"id":"msg_1","project":"p","run":"demo","notice":"gate-1","body":{"version":1},"queued":"2026-11-26T12:00:00Z","tries":2}`))
	f.Add([]byte(`{"id":"msg_1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMessage(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := parseMessage(again); err != nil || n.ID != m.ID || n.Run != m.Run || n.Tries != m.Tries || !n.Next.Equal(m.Next) || !reflect.DeepEqual(decoded(n.Body), decoded(m.Body)) {
			t.Errorf("%+v, %v, want %+v", n, err, m)
		}
	})
}

func decoded(data []byte) (v any) {
	_ = json.Unmarshal(data, &v)
	return v
}

// FuzzSecret: whatever a file has, a secret has the length that the standard demands.
func FuzzSecret(f *testing.F) {
	f.Add(secretText)
	f.Fuzz(func(t *testing.T, text string) {
		if secret, err := parseSecret(text); err == nil && (len(secret) < minSecret || len(secret) > maxSecret) {
			t.Errorf("%d bytes", len(secret))
		}
	})
}
