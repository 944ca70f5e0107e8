package headless_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/agents/headless"
)

var update = flag.Bool("update", false, "rewrite what is wanted of the turns")

// now is when every turn ends.
var now = time.Date(2026, 11, 21, 22, 30, 0, 0, time.UTC)

// TestTurns reads turns as agents print them, one a file in testdata/turns, whose name begins with the agent's: its
// error output, then its output. What was understood of each stands in the same file.
func TestTurns(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/turns/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no turns:", err)
	}
	seen := map[pawl.AgentName]map[headless.How]bool{}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			name, _, _ := strings.Cut(filepath.Base(path), "_")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, how := understood(t, pawl.AgentName(name), archive)
			if seen[pawl.AgentName(name)] == nil {
				seen[pawl.AgentName(name)] = map[headless.How]bool{}
			}
			seen[pawl.AgentName(name)][how] = true
			if *update {
				rewrite(t, path, archive, got)
			} else if diff := cmp.Diff(part(archive, "want"), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	for _, name := range pawl.AgentNames[:5] {
		for _, how := range []headless.How{headless.Finished, headless.Denied, headless.Limited, headless.Full, headless.Gone} {
			if !seen[name][how] {
				t.Errorf("no turn of %s is %s", name, how)
			}
		}
	}
}

// understood reads a turn, and says line by line what the stream made of it.
func understood(t *testing.T, name pawl.AgentName, archive *txtar.Archive) (string, headless.How) {
	agent, ok := headless.Find(name)
	if !ok {
		t.Fatalf("no agent %q", name)
	}
	var about struct {
		Session string     `json:"session"`
		Resume  bool       `json:"resume"`
		Before  pawl.Usage `json:"before"`
		USD     float64    `json:"usd"`
	}
	var exit headless.Exit
	decode(t, part(archive, "turn"), &about)
	decode(t, part(archive, "exit"), &exit)
	stream := agent.Read(headless.Turn{Session: about.Session, Resume: about.Resume, Before: about.Before, USD: about.USD})
	var said strings.Builder
	for _, from := range []struct {
		name string
		take func([]byte) []headless.Update
	}{{"err", stream.Err}, {"out", stream.Out}} {
		for line := range bytes.Lines([]byte(part(archive, from.name))) {
			for _, s := range from.take(bytes.TrimRight(line, "\n")) {
				fmt.Fprintln(&said, "says", plainly(t, s))
			}
			if busy := stream.Busy(); busy != "" {
				fmt.Fprintf(&said, "busy %s\n", busy)
			}
		}
	}
	ending := stream.End(exit, now)
	fmt.Fprintf(&said, "ends %s\nused %s\nsession %s\n", plainly(t, ending), plainly(t, stream.Usage()), encode(t, stream.Session()))
	return said.String(), ending.How
}

func part(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func rewrite(t *testing.T, path string, archive *txtar.Archive, want string) {
	files := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != "want" {
			files = append(files, f)
		}
	}
	archive.Files = append(files, txtar.File{Name: "want", Data: []byte(want)})
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, text string, into any) {
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// plainly returns the fields of a struct that say something.
func plainly(t *testing.T, v any) string {
	var fields []string
	for name, value := range reflect.ValueOf(v).Fields() {
		if !value.IsZero() {
			fields = append(fields, name.Name+"="+encode(t, value.Interface()))
		}
	}
	return strings.Join(fields, " ")
}

func encode(t *testing.T, v any) string {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text.String())
}
