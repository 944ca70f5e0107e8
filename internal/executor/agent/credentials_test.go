package agent

import (
	"os"
	"strings"
	"testing"

	"pawl"
)

// TestCredentials compares the keys that agents get by themselves with docs/steps.md.
func TestCredentials(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../../docs/steps.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pawl.AgentNames {
		row := "none"
		if names := (Executor{}).Credentials(&pawl.Step{Agent: &pawl.AgentAction{Use: name}}); len(names) > 0 {
			row = "`" + strings.Join(names, "`, `") + "`"
		}
		if want := "| `" + string(name) + "` | " + row + " |"; !strings.Contains(string(docs), want) {
			t.Errorf("docs/steps.md does not have the row %s", want)
		}
	}
}
