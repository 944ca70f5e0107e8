package protocol

import (
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel"
)

// after is a time of a test.
func after(d time.Duration) time.Time { return time.Unix(1_000_000, 0).Add(d) }

// TestEnds: when a cell is over, and how, whatever gets lost.
func TestEnds(t *testing.T) {
	t.Parallel()
	const silence = 10 * time.Second
	published := func(kind kernel.Kind) func(*Progress) {
		return func(p *Progress) {
			p.Published(kernel.Message{Kind: kind, Count: 3, Error: &kernel.Error{Name: "KeyboardInterrupt"}}, after(time.Second))
		}
	}
	replied := func(status, name string) func(*Progress) {
		return func(p *Progress) { p.Replied(Reply{Status: status, Count: 3, Name: name}, after(time.Second)) }
	}
	started, idle, failed := published(kernel.KindStarted), published(kernel.KindIdle), published(kernel.KindError)
	sentAgain := func(p *Progress) { p.Sent("second") }
	reconnected, probed := (*Progress).Reconnected, func(p *Progress) { p.Probed(after(2 * time.Second)) }
	for _, test := range []struct {
		name   string
		events []func(*Progress)
		at     time.Duration
		want   kernel.Status // empty: not over
		why    string
	}{
		{"running", []func(*Progress){started}, time.Hour, "", ""},
		{"reply and idle", []func(*Progress){started, replied("ok", ""), idle}, time.Second, kernel.OK, ""},
		{"idle and reply", []func(*Progress){started, idle, replied("error", "ValueError")}, time.Second, kernel.Failed, ""},
		{"interrupt", []func(*Progress){started, replied("error", "KeyboardInterrupt"), idle}, time.Second, kernel.Interrupted, ""},
		{"idle is late", []func(*Progress){started, replied("ok", "")}, 10 * time.Second, "", ""},
		{"idle is lost", []func(*Progress){started, replied("ok", "")}, 11 * time.Second, kernel.OK, "published no idle status for 10s"},
		{"reply is late", []func(*Progress){started, idle}, 10 * time.Second, "", ""},
		{"reply is lost", []func(*Progress){started, idle}, 11 * time.Second, kernel.OK, "did not reply for 10s"},
		{"reply of a failure is lost", []func(*Progress){started, failed, idle}, 11 * time.Second, kernel.Interrupted, "did not reply for 10s"},
		{"aborted twice", []func(*Progress){replied("aborted", ""), sentAgain, replied("abort", "")}, time.Second, kernel.Aborted, "twice"},
		{"aborted after it began", []func(*Progress){started, replied("aborted", "")}, time.Second, kernel.Aborted, "after it had begun"},
		{"aborted by an interrupt", []func(*Progress){started, (*Progress).Interrupted, replied("aborted", "")}, time.Second, kernel.Interrupted, ""},
		{"sent again, and not over", []func(*Progress){replied("aborted", ""), idle, sentAgain, started, replied("ok", "")}, time.Second, "", ""},
		{"reply of a failure lost by a cut", []func(*Progress){started, failed, reconnected, idle, probed}, 2 * time.Second, kernel.Interrupted, "its reply was lost"},
		{"probe without a cut", []func(*Progress){started, probed}, time.Hour, "", ""},
		{"cut while it ran", []func(*Progress){started, reconnected}, time.Hour, "", ""},
		{"end lost by a cut", []func(*Progress){started, reconnected, probed}, 3 * time.Second, kernel.Lost, "its result is unknown"},
		{"cut when it was sent", []func(*Progress){reconnected, probed}, 3 * time.Second, kernel.Lost, "it is unknown whether the kernel executed it"},
		{"reply lost by a cut", []func(*Progress){started, reconnected, idle, probed}, 2 * time.Second, kernel.Lost, "its reply was lost with the connection; it is unknown whether the cell failed"},
	} {
		p := &Progress{Python: true}
		p.Sent("first")
		for _, event := range test.events {
			event(p)
		}
		got := p.Next(after(test.at), silence)
		if got.Mark { // whatever was on the way has come
			p.MarkSent()
			if got := p.Next(after(test.at), silence); got.Over || got.Mark {
				t.Errorf("%s: the mark is not back: %+v", test.name, got)
			}
			p.MarkBack()
			got = p.Next(after(test.at), silence)
		}
		if got.Over != (test.want != "") || got.Ending.Status != test.want || test.why != "" && !strings.Contains(got.Ending.Why, test.why) {
			t.Errorf("%s: %+v", test.name, got)
		}
		if got.Over && test.want != kernel.Lost && test.want != kernel.Aborted && got.Ending.Count != 3 {
			t.Errorf("%s: count %d", test.name, got.Ending.Count)
		}
	}
	p := &Progress{}
	p.Sent("first")
	p.Replied(Reply{Status: "aborted"}, after(0))
	if got := p.Next(after(0), silence); got.Again || got.Wait != abortPause {
		t.Errorf("an aborted cell at once: %+v", got)
	}
	if got := p.Next(after(abortPause), silence); !got.Again || got.Over {
		t.Errorf("an aborted cell: %+v", got)
	}
	death := kernel.Death{Why: "killed by SIGKILL", Peak: 5}
	p.Sent("second")
	if got := p.Dead(death); got.Status != kernel.Lost || got.Death == nil || got.Why != "the kernel died: killed by SIGKILL" || got.Peak != 5 {
		t.Errorf("dead: %+v", got)
	}
	p.Replied(Reply{Status: "ok"}, after(0))
	if got := p.Dead(death); got.Status != kernel.OK || got.Death == nil {
		t.Errorf("dead after its reply: %+v", got)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	r := Requests{Tag: "tag"}
	for _, cell := range []kernel.CellID{"", "plain", "a/b/c"} {
		first, second := r.ID(PurposeCell, cell), r.ID(PurposeCell, cell)
		purpose, got := CellOf(first)
		if first == second || purpose != PurposeCell || got != cell {
			t.Errorf("%q and %q: %q %q", first, second, purpose, got)
		}
	}
	if purpose, cell := CellOf("of-another-client"); purpose != "" || cell != "" {
		t.Errorf("%q %q", purpose, cell)
	}
}

func FuzzPublished(f *testing.F) {
	for kind, content := range map[string]string{
		"stream": `{"name":"stdout","text":"a"}`, "status": `{"execution_state":"busy"}`, "display_data": `{"data":{"text/plain":"1"},"transient":{"display_id":"x"}}`,
		"execute_result": `{"data":{},"execution_count":1}`, "error": `{"ename":"E","traceback":["a"]}`, "execute_reply": `{"status":"ok"}`,
		"kernel_info_reply": `{"language_info":{"name":"R"}}`, "comm_open": `{"comm_id":"1","data":{}}`, "clear_output": `{"wait":true}`,
	} {
		f.Add(kind, content)
	}
	f.Fuzz(func(_ *testing.T, kind, content string) {
		m := Message{Type: kind, Content: []byte(content)}
		_, _ = Published(m)
		_, _, _ = Replied(m)
		_, _ = Described(m)
	})
}
