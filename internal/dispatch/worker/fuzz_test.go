package worker

import "testing"

// FuzzStarted: a damaged record of what was started is an error.
func FuzzStarted(f *testing.F) {
	f.Add([]byte(`{"seal":"a","base":"0000000000000000000000000000000000000000000000000000000000000000"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStarted(data); err == nil && s.Seal == "" {
			t.Errorf("%q has no seal", data)
		}
	})
}
