package worker

import "testing"

// FuzzStarted: a damaged record of what was started is an error.
func FuzzStarted(f *testing.F) {
	f.Add([]byte(`{"seal":"a","base":"e30=","boot":"b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStarted(data); err == nil && s.Seal == "" {
			t.Errorf("%q has no seal", data)
		}
	})
}

// FuzzBegun: a damaged record of a task is an error.
func FuzzBegun(f *testing.F) {
	f.Add([]byte(`{"format":1,"queue":"gpu","project":"p","run":"demo-20260101-000000-abcd","step":"train","attempt":1,"token":"0123456789abcdef",` +
		`"epoch":1,"remote":"00112233445566778899aabbccddeeff","order":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff","nonce":"ab"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := parseBegun(data); err == nil && (b.Token == "" || b.Order == "") {
			t.Errorf("%q has no token or order", data)
		}
	})
}
