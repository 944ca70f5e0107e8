package trust

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzRecord reads anything as the value in a project and as a record. A value names a folder in the state folder, and a record
// is trusted only for the path and the machine that it names.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(strings.Repeat("ab", valueSize) + "\n"))
	f.Add([]byte("../../x"))
	f.Add([]byte(`{"path":"/other","hosts":["x"]}`))
	f.Add([]byte(`{"path":"/a/b","hosts":null,"owner":-1}`))
	f.Setenv("PAWL_STATE", "/state")
	f.Fuzz(func(t *testing.T, data []byte) {
		if value, ok := parseValue(data); ok {
			folder, err := folderOf(value)
			if err != nil || filepath.Dir(folder) != "/state/trusted" || len(filepath.Base(folder)) != 2*valueSize {
				t.Errorf("the folder is %q, %v", folder, err)
			}
		}
		r, err := parseRecord(data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
		s := Standing{Record: r}
		s.compare("/a/b", "value")
		if s.Trusted() && len(r.Hosts) == 0 {
			t.Errorf("%+v is trusted", r)
		}
	})
}
