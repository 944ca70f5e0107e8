package protocol

import (
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel"
)

// TestProgress looks at each combination of what has arrived of a cell's end, before and after the time that the rest may be missing.
func TestProgress(t *testing.T) {
	t.Parallel()
	start, silence := time.Now(), 10*time.Second
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	ok, failed, aborted := &Reply{Status: "ok", Count: 3}, &Reply{Status: "error", Name: "E"}, &Reply{Status: "aborted"}
	for _, c := range []struct {
		name string
		p    Progress
		now  int
		want Verdict // of the ending only the status
		why  string
	}{
		{"nothing yet", Progress{}, 1000, Verdict{}, ""},
		{"output only", Progress{executed: true, heard: at(1)}, 1000, Verdict{}, ""},
		{"reply and idle", Progress{reply: ok, replied: at(1), idled: at(1)}, 1, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.OK}}, ""},
		{"reply", Progress{reply: ok, replied: at(1)}, 5, Verdict{Wait: 6 * time.Second}, ""},
		{"reply, output later", Progress{reply: ok, replied: at(1), heard: at(4)}, 5, Verdict{Wait: 9 * time.Second}, ""},
		{"reply, silence", Progress{reply: ok, replied: at(1)}, 11, Verdict{Mark: true}, ""},
		{"reply, mark sent", Progress{reply: ok, replied: at(1), mark: markSent}, 1000, Verdict{}, ""},
		{"reply, mark back", Progress{reply: failed, replied: at(1), mark: markBack}, 11, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Failed}}, "no idle status"},
		{"idle", Progress{idled: at(1)}, 2, Verdict{Wait: 9 * time.Second}, ""},
		{"idle, mark back", Progress{idled: at(1), mark: markBack}, 11, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.OK}}, "did not reply"},
		{"idle, error published", Progress{idled: at(1), mark: markBack, failed: &kernel.Error{Name: "KeyboardInterrupt"}}, 11, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Interrupted}}, "did not reply"},
		{"idle, probe answered", Progress{idled: at(1), probed: at(2), mark: markBack}, 2, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.OK}}, "lost with the connection"},
		{"probe answered", Progress{executed: true, probed: at(2)}, 2, Verdict{Wait: time.Second}, ""},
		{"probe answered, executed", Progress{executed: true, probed: at(2)}, 3, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Lost}}, "the cell ended while"},
		{"probe answered, no sign", Progress{probed: at(2)}, 3, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Lost}}, "unknown whether"},
		{"aborted", Progress{requests: 1, reply: aborted, replied: at(1)}, 1, Verdict{Wait: abortPause}, ""},
		{"aborted, after the pause", Progress{requests: 1, reply: aborted, replied: at(1)}, 2, Verdict{Again: true}, ""},
		{"aborted twice", Progress{requests: 2, reply: aborted, replied: at(1)}, 2, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Aborted}}, "twice"},
		{"aborted, executed", Progress{requests: 1, executed: true, reply: aborted}, 2, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Aborted}}, "after it had begun"},
		{"aborted, interrupted", Progress{requests: 1, executed: true, interrupted: true, reply: aborted}, 2, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Interrupted}}, ""},
		{"error of an interrupt in R", Progress{interrupted: true, reply: failed, idled: at(1)}, 2, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Interrupted}}, ""},
		{"error after an interrupt in Python", Progress{interrupted: true, Python: true, reply: failed, idled: at(1)}, 2, Verdict{Over: true, Ending: kernel.Ending{Status: kernel.Failed}}, ""},
	} {
		got := c.p.Next(at(c.now), silence)
		if !strings.Contains(got.Ending.Why, c.why) || c.why == "" && got.Ending.Why != "" {
			t.Errorf("%s: why %q, want %q", c.name, got.Ending.Why, c.why)
		}
		got.Ending = kernel.Ending{Status: got.Ending.Status}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	p := Progress{reply: aborted, replied: at(1), idled: at(1), heard: at(1), probed: at(1), mark: markBack, requests: 1}
	p.Sent("second")
	if got := p.Next(at(1000), silence); got != (Verdict{}) || p.requests != 2 {
		t.Errorf("a request sent again: %+v", got)
	}
}
