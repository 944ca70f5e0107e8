package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

// TestDocument compares the API's document with the one that clients know. A difference is a change of the API.
func TestDocument(t *testing.T) {
	t.Parallel()
	api := newAPI(http.NewServeMux(), "test")
	newRecovery(Config{}).operations(api)
	got, err := json.MarshalIndent(api.OpenAPI(), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/openapi.json"
	if storytest.Update() {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSpace(want), got) {
		t.Errorf("the API has changed; go test ./internal/server -update, and review the difference")
	}
}
