package redact_test

import (
	"encoding/json"
	"testing"

	"pawl/internal/redact"
	"pawl/internal/redact/redacttest"
)

// TestCorpus holds how many secrets are found, and how many harmless texts are altered.
func TestCorpus(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	inJSON := func(text string) string {
		data, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.JSON(data))
	}
	secrets, missed := redacttest.Secrets(1), 0
	for _, text := range secrets {
		if part := text.Leaked(r.Text(text.Text) + inJSON(text.Text)); part != "" {
			t.Logf("missed %q: %s", text.Text, part)
			missed++
		}
	}
	harmless, altered := redacttest.Harmless(), 0
	for _, text := range harmless {
		if got := r.Text(text); got != text {
			t.Logf("altered %q: %q", text, got)
			altered++
		}
	}
	t.Logf("%d of %d secrets found, %d of %d harmless texts altered", len(secrets)-missed, len(secrets), altered, len(harmless))
	if len(secrets) < 150 || len(harmless) < 120 || missed*100 > 5*len(secrets) || altered*100 > 2*len(harmless) {
		t.Error("too many missed or altered")
	}
}
