package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/transcript"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// agentsWithRecords are the agents that Parse knows.
var agentsWithRecords = []string{"claude", "codex", "gemini", "copilot"}

// TestRecords compares what each reader finds in a record of its agent. The records are made up, in the shape of those of the
// versions that the readers name.
func TestRecords(t *testing.T) {
	t.Parallel()
	for _, agent := range agentsWithRecords {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(filepath.Join("testdata", agent+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := transcript.Read(t.Context(), agent, path, 0)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", agent+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(shown(r)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(r); got != string(want) {
				t.Errorf("found\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// shown is a record as text.
func shown(r transcript.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "turn ended %t, interrupted %t, partial %t\n", r.TurnEnded, r.Interrupted, r.Partial)
	for _, o := range r.InOrder() {
		fmt.Fprintf(&b, "%s %s %s", o.Time.Format("05"), o.Call, o.Kind)
		for name, value := range map[string]string{"by": string(o.By), "sub": o.Sub} {
			if value != "" {
				fmt.Fprintf(&b, " %s %s", name, value)
			}
		}
		if o.Exit != 0 {
			fmt.Fprintf(&b, " exit %d", o.Exit)
		}
		if o.Background {
			fmt.Fprint(&b, " background")
		}
		fmt.Fprintf(&b, " | %s %s | %s\n", o.Tool, o.Input, o.Text)
	}
	fmt.Fprintf(&b, "open: %s\n", strings.Join(slices.Sorted(maps.Keys(r.Open)), ", "))
	for _, id := range slices.Sorted(maps.Keys(r.Subs)) {
		s := r.Subs[id]
		fmt.Fprintf(&b, "sub %s of %s ended %t: %s\n", s.ID, s.Call, s.Ended, s.Prompt)
	}
	return b.String()
}

// TestTailOnly reads the end of a long record: it finds what is there, says that there is more, and reads no more than the limit.
func TestTailOnly(t *testing.T) {
	t.Parallel()
	for _, agent := range agentsWithRecords {
		data, err := os.ReadFile(filepath.Join("testdata", agent+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := parse(t.Context(), agent, data, 0)
		if err != nil {
			t.Fatal(err)
		}
		for limit := int64(1); limit < int64(len(data)); limit += 97 {
			r, err := parse(t.Context(), agent, data, limit)
			if err != nil || !r.Partial || r.Read > limit {
				t.Fatalf("%s: %v, partial %t, read %d of at most %d", agent, err, r.Partial, r.Read, limit)
			}
			for id, o := range r.Outcomes {
				if was := whole.Outcomes[id]; o.Kind != was.Kind && !was.Background {
					t.Errorf("%s: the last %d bytes say that %s %s; all say that it %s", agent, limit, id, o.Kind, was.Kind)
				}
			}
		}
	}
}

func parse(ctx context.Context, agent string, data []byte, limit int64) (transcript.Record, error) {
	return transcript.Parse(ctx, agent, bytes.NewReader(data), int64(len(data)), limit)
}

// TestStopsInTime: a record whose reading is canceled is partial.
func TestStopsInTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := parse(ctx, "claude", []byte("{}\n{}\n"), 0)
	if err != nil || !r.Partial || len(r.Outcomes) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOnlyOwnRegularFiles: a path from a hook may name anything.
func TestOnlyOwnRegularFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record := filepath.Join(dir, "record.jsonl")
	if err := os.WriteFile(record, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.Symlink(record, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := transcript.Read(t.Context(), "claude", record, 0); err != nil {
		t.Error(err)
	}
	for _, path := range []string{link, pipe, dir, "/dev/zero", filepath.Join(dir, "missing"), "record.jsonl", "", record + "\x00"} {
		began := time.Now()
		if r, err := transcript.Read(t.Context(), "claude", path, 0); err == nil {
			t.Errorf("read %q: %+v", path, r)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%q took %s", path, took)
		}
	}
	if _, err := transcript.Read(t.Context(), "emacs", record, 0); err == nil {
		t.Error("an unknown agent has a record")
	}
}

// FuzzParse: no record makes a reader fail, and no reason is longer than allowed or has control characters.
func FuzzParse(f *testing.F) {
	for _, agent := range agentsWithRecords {
		data, err := os.ReadFile(filepath.Join("testdata", agent+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			f.Add(line)
		}
		f.Add(data)
	}
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Add([]byte(`{"type":"user","message":{"content":` + strings.Repeat(`[{"content":`, 9_000)))
	f.Add([]byte("{\"type\":\"user\",\"message\":\x00}\n\xff\xfe\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, agent := range agentsWithRecords {
			r, err := parse(t.Context(), agent, data, 0)
			if err != nil {
				t.Fatal(err)
			}
			for id, o := range r.Outcomes {
				if id == "" || o.Call != id || o.Kind == "" || len(o.Text) > transcript.MaxText+len("…") || strings.ContainsAny(o.Text, "\n\r\x1b\x00") {
					t.Errorf("%s: %+v", agent, o)
				}
				if o.Input != nil && !json.Valid(o.Input) {
					t.Errorf("%s: %s: the input is no JSON: %q", agent, id, o.Input)
				}
			}
		}
	})
}

// TestHugeLines: a line above the limit is skipped, and so is what is nested too deeply; the rest counts.
func TestHugeLines(t *testing.T) {
	t.Parallel()
	refused := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","is_error":true,"content":"no"}]},"toolDenialKind":"user-rejected","toolDenialBeforeRun":true}`
	huge := `{"type":"user","message":{"content":"` + strings.Repeat("x", 3<<20) + `"}}`
	deep := `{"type":"user","message":{"content":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}}`
	r, err := parse(t.Context(), "claude", []byte(huge+"\n"+deep+"\n"+refused), 0)
	if err != nil || !r.Partial || r.Outcomes["x"].Kind != transcript.Refused {
		t.Errorf("%+v, %v", r, err)
	}
}
