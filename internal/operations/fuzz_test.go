package operations_test

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/operations"
)

// FuzzIntent reads anything as the input of any tool. What is recorded of the call has limits, it can be stored, and only absolute
// paths are read.
func FuzzIntent(f *testing.F) {
	f.Add("Write", []byte(`{"file_path":"../../etc/passwd","content":"x"}`))
	f.Add("MultiEdit", []byte(`{"filePath":"a","edits":[{"old_string":"a","new_string":"b","replace_all":true},{"oldString":7}]}`))
	f.Add("apply_patch", []byte(`{"input":"*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** Move to: b\n*** Add File: c\n+x\n*** Delete File: /d\n*** End Patch"}`))
	f.Add("Bash", []byte(`{"command":["sh","-lc","rm -r /x && cd .. && mv a b"],"workdir":"\u0000"}`))
	f.Add("shell", []byte(`{"command":"cat > a <<E\nx\nE\n"}`))
	f.Add("NotebookEdit", []byte(`{"notebook_path":"n.ipynb"}`))
	f.Add("x", []byte(`[[[`))
	f.Fuzz(func(t *testing.T, tool string, data []byte) {
		absolute := func(path string) {
			if !filepath.IsAbs(path) {
				t.Errorf("%q is not absolute", path)
			}
		}
		o := operations.Intent(operations.Call{
			Tool: tool, Input: data, Dir: "/p/sub", Root: "/p",
			Read: func(path string) ([]byte, error) {
				absolute(path)
				if len(path)%2 == 0 {
					return []byte("one\ntwo\n"), nil
				}
				return nil, fs.ErrNotExist
			},
			There:  func(path string) bool { absolute(path); return len(path)%3 == 0 },
			Redact: func(text string) string { return text },
		})
		if encoded, err := json.Marshal(o); err != nil || len(o.Summary) > pawl.MaxSummary+20 || len(o.Paths) > 50 || len(o.Gone) > 50 {
			t.Errorf("%v: %s", err, encoded)
		}
		operations.Changes(tool)
		operations.Judge(&pawl.OperationState{Operation: o}, operations.World{Look: func(string) operations.Look { return operations.Look{} }})
	})
}
