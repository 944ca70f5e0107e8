package agents

import (
	"encoding/json"
	"testing"
)

// The answers are those of real clients, shortened.
func TestExitCode(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int{
		`{"result_type":"success","text_result_for_llm":"\n<shellId: 1 completed with exit code 4>"}`: 4,
		`{"result_type":"success","text_result_for_llm":"beds\n<exited with exit code 0>"}`:           0,
		`{"llmContent":"Output: (empty)\nExit Code: 4\nSignal: (none)"}`:                              4,
		`"Process exited with code 4\nOutput:\n"`:                                                     4,
		`"the test says: completed with exit code 4"`:                                                 0,
		`""`: 0,
		`[]`: 0,
	} {
		if got := exitCode(json.RawMessage(answer)); got != want {
			t.Errorf("%s: exit code %d, want %d", answer, got, want)
		}
	}
}
