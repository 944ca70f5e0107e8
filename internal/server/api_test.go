package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/test/stories/storytest"
)

// TestDocument compares the API's document with the one that clients know. A difference is a change of the API.
func TestDocument(t *testing.T) {
	t.Parallel()
	document := documented(newRecovery(Config{Version: "test"})).operations(http.NewServeMux())
	got, err := json.MarshalIndent(document, "", "\t")
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

// TestDocumentIsOpenAPI validates the API's document against the schema of OpenAPI 3.1.
func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile("testdata/oas-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/openapi.json") // TestDocument compares it
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{string(data): true, strings.Replace(string(data), `"/api/gates":`, `"api/gates":`, 1): false} {
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(parsed); (err == nil) != valid {
			t.Errorf("valid %v, want %v: %v", err == nil, valid, err)
		}
	}
}

// FuzzParseFailure reads what a command may print to standard error.
func FuzzParseFailure(f *testing.F) {
	f.Add([]byte("pawl: note: x\n{\"error\":{\"kind\":\"held\",\"message\":\"m\",\"hint\":\"pawl watch\",\"exit_code\":6}}\n"))
	f.Add([]byte(`{"error":{"message":""}}`))
	f.Fuzz(func(t *testing.T, printed []byte) {
		if failed := ParseFailure(printed); failed != nil && (failed.Failure.Message == "" || failed.Error() == "") {
			t.Errorf("%q gives %+v", printed, failed)
		}
	})
}
