package agent

import (
	"bytes"
	"testing"

	"pawl/internal/agents/headless"
)

// FuzzJob reads anything as job.json, as PAWL_RESUME and as what an agent prints. A job that is accepted is one of an agent, and lines
// have no newlines.
func FuzzJob(f *testing.F) {
	f.Add([]byte(`{"run":"r","step":"a","agent":{"agent":"claude"}}`))
	f.Add([]byte(`{"attempt":-1,"session":"../x"}`))
	f.Add([]byte("a\r\n\n\r\nb"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if job, err := parseJob(data); err == nil && job.Agent == nil {
			t.Error("a job without an agent")
		}
		_, _ = headless.ParseResume(string(data))
		eachLine(bytes.NewReader(data), func(line []byte) {
			if bytes.ContainsRune(line, '\n') {
				t.Errorf("%q", line)
			}
		})
	})
}
