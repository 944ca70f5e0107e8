package storytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// checkJSON checks that a file holds one JSON value, or several, which count as an array; that each path is there and,
// with =, what it is: json stdout steps.0.items.total=3. With "!", the paths must not be there.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: json FILE PATH[=VALUE]…")
	}
	value, err := decodeAll(ts.ReadFile(args[0]))
	ts.Check(err)
	for _, arg := range args[1:] {
		path, want, compare := strings.Cut(arg, "=")
		got, err := at(value, path)
		if neg != (err != nil) {
			ts.Fatalf("%s: is it there? %v", path, err == nil)
		}
		if compare && !neg && fmt.Sprint(got) != want {
			ts.Fatalf("%s is %v, want %s", path, got, want)
		}
	}
}

func decodeAll(text string) (any, error) {
	var values []any
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) && len(values) == 1 {
			return values[0], nil
		}
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		values = append(values, v)
	}
}

// at returns what stands at a path of keys and indexes; "len" at its end is an array's length.
func at(value any, path string) (any, error) {
	for key := range strings.SplitSeq(path, ".") {
		var ok bool
		switch v := value.(type) {
		case map[string]any:
			value, ok = v[key]
		case []any:
			if key == "len" {
				return len(v), nil
			}
			if i, err := strconv.Atoi(key); err == nil && i < len(v) {
				value, ok = v[i], true
			}
		}
		if !ok {
			return nil, fmt.Errorf("no %s in %s", key, path)
		}
	}
	return value, nil
}
