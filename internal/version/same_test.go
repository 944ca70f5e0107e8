package version

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"testing/iotest"
)

func TestSameBuild(t *testing.T) {
	t.Parallel()
	const ours = "pawl-sources:1234"
	for name, c := range map[string]struct {
		content, sources string
		mode             os.FileMode
		same             bool
	}{
		"the same":       {"…" + ours + "…", ours, 0o755, true},
		"others":         {"…pawl-sources:1235…", ours, 0o755, false},
		"unknown":        {"…" + ours + "…", "", 0o755, false},
		"not executable": {"…" + ours + "…", ours, 0o644, false},
		"empty":          {"", ours, 0o755, false},
	} {
		path := filepath.Join(t.TempDir(), HookProgram)
		if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameBuild(f, c.sources); (err == nil) != c.same {
			t.Errorf("%s: %v", name, err)
		}
		f.Close()
	}
	if f, err := OpenHookProgram(t.TempDir()); err == nil {
		t.Errorf("opened %s in an empty folder", f.Name())
	}
}

// TestContains: the text may lie across the end of a piece.
func TestContains(t *testing.T) {
	t.Parallel()
	const text = "pawl-sources:1234"
	for _, end := range []int{pieceSize, pieceSize + len(text), 2 * pieceSize} {
		for at := end - 2*len(text); at <= end+2*len(text); at++ {
			content := bytes.Repeat([]byte("pawl"), 3*pieceSize/4)
			if is, err := contains(bytes.NewReader(content), text); is || err != nil {
				t.Fatalf("without the text: %v, %v", is, err)
			}
			copy(content[at:], text)
			if is, err := contains(bytes.NewReader(content), text); !is || err != nil {
				t.Errorf("at %d: %v, %v", at, is, err)
			}
		}
	}
	if is, err := contains(iotest.ErrReader(io.ErrNoProgress), text); is || !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("unreadable: %v, %v", is, err)
	}
}

func TestCommitted(t *testing.T) {
	t.Parallel()
	build := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-22T10:00:00Z"}, {Key: "vcs.modified", Value: modified},
		}}
	}
	want := "build\tvcs.revision=abc\nbuild\tvcs.time=2026-11-22T10:00:00Z\nbuild\tvcs.modified=false\n"
	for _, c := range []struct {
		build *debug.BuildInfo
		want  string
	}{{build("false"), want}, {build("true"), ""}, {nil, ""}, {&debug.BuildInfo{}, ""}} {
		if got := committed(c.build); got != c.want {
			t.Errorf("%v: %q, want %q", c.build, got, c.want)
		}
	}
}
