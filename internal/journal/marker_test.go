package journal

import (
	"encoding/json"
	"testing"
)

// FuzzMarker: a marker that is accepted names a database and a run by UUIDs, and survives being written again.
func FuzzMarker(f *testing.F) {
	f.Add([]byte(`{"format":1,"store":"00000000-0000-4000-a000-000000000001","key":"00000000-0000-4000-a000-000000000002","phase":"stored"}`))
	f.Add([]byte(`{"format":2,"store":"x","phase":"stored"}`))
	f.Add([]byte(`{"store":"../../etc","key":"' or true","phase":"left"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMarker(data)
		if err != nil {
			if m != (marker{}) {
				t.Errorf("%v, and %+v", err, m)
			}
			return
		}
		if !uuidText.MatchString(m.Store) || m.Key != "" && !uuidText.MatchString(m.Key) || m.Format > markerFormat {
			t.Errorf("accepted %+v", m)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parseMarker(again); err != nil || back != m {
			t.Errorf("%+v is read back as %+v, %v", m, back, err)
		}
	})
}
