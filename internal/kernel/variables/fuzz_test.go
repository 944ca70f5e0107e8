package variables

import (
	"encoding/json"
	"testing"

	"pawl/internal/kernel"
)

// FuzzManifest reads anything as a manifest and as a kernel's answer: what is accepted names only objects by their hash.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"id":"000001-x","environment":{"path":[]},"states":{},"variables":[{"name":"x","kind":"value","format":"json","place":{"object":"../x","offset":0,"length":1}}]}`))
	f.Add([]byte(`{"id":"a","error":"no"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Manifest
		if json.Unmarshal(data, &m) == nil && m.check() == nil {
			for name := range m.objects() {
				if !isHash(name) {
					t.Errorf("an object is called %q", name)
				}
			}
		}
		var into struct{ SHA256 string }
		_ = answer([]kernel.Message{{Kind: kernel.KindDisplay, Data: map[string]json.RawMessage{MIME: data}}}, "a", &into)
	})
}
