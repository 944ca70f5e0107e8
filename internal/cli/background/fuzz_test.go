package background

import (
	"errors"
	"testing"

	"pawl"
	"pawl/internal/cli/failure"
)

// FuzzAnswer parses answers of engines.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add(append([]byte(`{"error":`), []byte(`{"kind":"held","message":"locked","hint":"pawl watch","exit_code":6}}`)...))
	f.Fuzz(func(t *testing.T, line []byte) {
		if err := parseAnswer(line); err != nil {
			_ = failure.JSON(err)
		}
	})
}

// TestAnswer passes an error through its JSON.
func TestAnswer(t *testing.T) {
	t.Parallel()
	err := parseAnswer([]byte(`{"error":{"kind":"usage","message":"bad","hint":"edit plan.yaml","exit_code":2,"file":"plan.yaml","line":3,"problems":[{"line":3,"column":1,"message":"x"}]}}`))
	if pawl.KindOf(err) != pawl.KindUsage || err.Error() != "bad" || pawl.HintOf(err) != "edit plan.yaml" {
		t.Errorf("%v", err)
	}
	if again := failure.Of(err); again.Line != 3 || len(again.Problems) != 1 || again.ExitCode != 2 {
		t.Errorf("%+v", again)
	}
	if parseAnswer([]byte("{}")) != nil || parseAnswer([]byte("{")) == nil || errors.Is(err, pawl.ErrNoRun) {
		t.Error("wrong")
	}
}
