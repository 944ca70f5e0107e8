package jupyter

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
	ok, failed, aborted := &reply{Status: "ok", Count: 3}, &reply{Status: "error", Name: "E"}, &reply{Status: "aborted"}
	for _, c := range []struct {
		name string
		p    progress
		now  int
		want verdict // of the ending only the status
		why  string
	}{
		{"nothing yet", progress{}, 1000, verdict{}, ""},
		{"output only", progress{executed: true, heard: at(1)}, 1000, verdict{}, ""},
		{"reply and idle", progress{reply: ok, replied: at(1), idled: at(1)}, 1, verdict{over: true, ending: kernel.Ending{Status: kernel.OK}}, ""},
		{"reply", progress{reply: ok, replied: at(1)}, 5, verdict{wait: 6 * time.Second}, ""},
		{"reply, output later", progress{reply: ok, replied: at(1), heard: at(4)}, 5, verdict{wait: 9 * time.Second}, ""},
		{"reply, silence", progress{reply: ok, replied: at(1)}, 11, verdict{mark: true}, ""},
		{"reply, mark sent", progress{reply: ok, replied: at(1), mark: markSent}, 1000, verdict{}, ""},
		{"reply, mark back", progress{reply: failed, replied: at(1), mark: markBack}, 11, verdict{over: true, ending: kernel.Ending{Status: kernel.Failed}}, "no idle status"},
		{"idle", progress{idled: at(1)}, 2, verdict{wait: 9 * time.Second}, ""},
		{"idle, mark back", progress{idled: at(1), mark: markBack}, 11, verdict{over: true, ending: kernel.Ending{Status: kernel.OK}}, "did not reply"},
		{"idle, error published", progress{idled: at(1), mark: markBack, failed: &kernel.Error{Name: "KeyboardInterrupt"}}, 11, verdict{over: true, ending: kernel.Ending{Status: kernel.Interrupted}}, "did not reply"},
		{"idle, probe answered", progress{idled: at(1), probed: at(2), mark: markBack}, 2, verdict{over: true, ending: kernel.Ending{Status: kernel.OK}}, "lost with the connection"},
		{"probe answered", progress{executed: true, probed: at(2)}, 2, verdict{wait: time.Second}, ""},
		{"probe answered, executed", progress{executed: true, probed: at(2)}, 3, verdict{over: true, ending: kernel.Ending{Status: kernel.Lost}}, "the cell ended while"},
		{"probe answered, no sign", progress{probed: at(2)}, 3, verdict{over: true, ending: kernel.Ending{Status: kernel.Lost}}, "unknown whether"},
		{"aborted", progress{requests: 1, reply: aborted, replied: at(1)}, 1, verdict{wait: abortPause}, ""},
		{"aborted, after the pause", progress{requests: 1, reply: aborted, replied: at(1)}, 2, verdict{again: true}, ""},
		{"aborted twice", progress{requests: 2, reply: aborted, replied: at(1)}, 2, verdict{over: true, ending: kernel.Ending{Status: kernel.Aborted}}, "twice"},
		{"aborted, executed", progress{requests: 1, executed: true, reply: aborted}, 2, verdict{over: true, ending: kernel.Ending{Status: kernel.Aborted}}, "after it had begun"},
		{"aborted, interrupted", progress{requests: 1, executed: true, interrupted: true, reply: aborted}, 2, verdict{over: true, ending: kernel.Ending{Status: kernel.Interrupted}}, ""},
		{"error of an interrupt in R", progress{interrupted: true, reply: failed, idled: at(1)}, 2, verdict{over: true, ending: kernel.Ending{Status: kernel.Interrupted}}, ""},
		{"error after an interrupt in Python", progress{interrupted: true, python: true, reply: failed, idled: at(1)}, 2, verdict{over: true, ending: kernel.Ending{Status: kernel.Failed}}, ""},
	} {
		got := c.p.next(at(c.now), silence)
		if !strings.Contains(got.ending.Why, c.why) || c.why == "" && got.ending.Why != "" {
			t.Errorf("%s: why %q, want %q", c.name, got.ending.Why, c.why)
		}
		got.ending = kernel.Ending{Status: got.ending.Status}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	p := progress{reply: aborted, replied: at(1), idled: at(1), heard: at(1), probed: at(1), mark: markBack, requests: 1}
	p.renew("second")
	if got := p.next(at(1000), silence); got != (verdict{}) || p.requests != 2 {
		t.Errorf("a request sent again: %+v", got)
	}
}
