package courier

import "testing"

// FuzzState: what stands in the folder of an attempt is read without panics, and offsets are never negative.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"token":"a","copied":{"out.log":3}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseState(data)
		if err != nil {
			return
		}
		for name, n := range s.Copied {
			if n < 0 {
				t.Errorf("%d bytes of %s", n, name)
			}
		}
	})
}
