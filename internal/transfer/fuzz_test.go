package transfer

import "testing"

// FuzzSettings: the user's own records of remotes and pushes are read without panics, and damage is an error.
func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"name":"origin","url":"file:///mnt/a"}`))
	f.Add([]byte(`{"number":3,"sha256":"ab","try":"cd"}`))
	f.Add([]byte(`{"seq":3,"batch":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := parseRemote(data, "origin"); err == nil && r.Name != "origin" {
			t.Errorf("remote %q", r.Name)
		}
		if at, err := parsePosition(data); err == nil && at.Number < 0 {
			t.Errorf("position %+v", at)
		}
		if kept := upTo(data, 2); len(kept) > len(data) {
			t.Errorf("%d bytes of %d", len(kept), len(data))
		}
	})
}
