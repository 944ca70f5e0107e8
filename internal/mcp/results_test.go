package mcp

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/interop/repl"
)

// results are the results of the tools.
var results = map[string]any{
	"status": status{}, "brief": briefOut{}, "history": historyOut{}, "progress": progressOut{}, "checkpoint": checkpointOut{}, "learn": learnOut{},
	"decide": recorded{}, "block": blockOut{}, "ask": askOut{}, "python_repl": repl.Result{}, "checkpoint_manager": gyoshu.Result{},
}

// TestResults validates an empty and a full result of each tool against the schema that the server offers. A client gets an error in place
// of a result that does not fit, although the tool has done its work.
func TestResults(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/offer.golden")
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct {
		Name   string             `json:"name"`
		Schema *jsonschema.Schema `json:"outputSchema"`
	}
	if err := json.Unmarshal(data, &[]any{nil, &tools}); err != nil {
		t.Fatal(err)
	}
	if len(tools) != len(results) {
		t.Errorf("%d tools, %d results", len(tools), len(results))
	}
	for _, tool := range tools {
		zero, known := results[tool.Name]
		if !known {
			t.Errorf("%s: no result", tool.Name)
			continue
		}
		s, err := tool.Schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, fullness := range []int{0, 1, 9} {
			v := reflect.New(reflect.TypeOf(zero)).Elem()
			fill(v, fullness)
			var document any
			if text, err := json.Marshal(v.Interface()); err != nil {
				t.Fatal(err)
			} else if err := json.Unmarshal(text, &document); err != nil {
				t.Fatal(err)
			} else if err := s.Validate(document); err != nil {
				t.Errorf("%s: %s: %v", tool.Name, text, err)
			}
		}
	}
}

// fill gives v a value whose lists, maps and pointers have contents down to a depth.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.Map:
		if depth > 0 {
			element := reflect.New(v.Type().Elem()).Elem()
			fill(element, depth-1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), element)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // not those of time.Time
				fill(v.Field(i), depth)
			}
		}
	case reflect.String:
		v.SetString("word")
		if v.Type() == reflect.TypeFor[pawl.GateType]() {
			v.SetString(string(pawl.HumanVerify))
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	}
}
