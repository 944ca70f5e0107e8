package cli

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/liveview"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0 files": layout.Count(0, "file"), "1 file": layout.Count(1, "file"), "2 processes": layout.Count(2, "process"), "3,005 paths": layout.Count(3005, "path"),
		"1,234,567 entries": layout.Count(1234567, "entry"), "999 items": layout.Count(999, "item"),
	} {
		if got != want {
			t.Errorf("count: %q, want %q", got, want)
		}
	}
}

func TestByteSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 30: "5.0 GiB"} {
		if got := layout.ByteSize(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}

func TestTimeLeft(t *testing.T) {
	t.Parallel()
	if got := liveview.TimeLeft(10, 30, 20*time.Second); got != time.Minute {
		t.Errorf("10 items in 20s, 30 left: %s", got)
	}
	if got := liveview.TimeLeft(0, 30, time.Hour); got != 0 {
		t.Errorf("no items finished: %s", got)
	}
}

// TestReport checks which outcomes are printed as errors.
func TestReport(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"pawl: error: disk\n": errors.New("disk"),
		"pawl: waiting for approval: gate x\npawl: hint: pawl gates\n": &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New("waiting for approval: gate x"), Hint: "pawl gates"},
		"pawl: nothing to do\n":       failure.NothingToDo(&pawl.Error{Kind: pawl.KindNothing, Err: errors.New("nothing to do")}),
		"pawl: error: no run \"x\"\n": &pawl.Error{Kind: pawl.KindNothing, Err: errors.New(`no run "x"`)},
	} {
		var out bytes.Buffer
		if code := Report(&out, err); code != failure.ExitCode(err) || out.String() != want {
			t.Errorf("exit code %d, printed %q, want %q", code, out.String(), want)
		}
	}
}
