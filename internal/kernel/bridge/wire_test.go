package bridge

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pawl/internal/kernel"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `{`, `[]`, `{"kind":"boot"}`, `{"kind":"busy"}`, `{"kind":"stream","stream":"log","text":"x"}`, `{"kind":"display"}`,
		`{"kind":"error"}`, `{"kind":"ended","status":"lost"}`, `{"kind":"stream","stream":"stdout","text":1}`,
	} {
		if l, err := parse([]byte(bad)); err == nil {
			t.Errorf("%s is %+v", bad, l)
		}
	}
}

// TestSalvage: the text of a line that ends anywhere is kept, but for a part of an escape.
func TestSalvage(t *testing.T) {
	t.Parallel()
	whole := `{"kind":"stream","stream":"stdout","cell":"c","text":"a\n\u00e4\ud83d\udc0d` + `b"}`
	start := strings.Index(whole, `a\n`)
	for end := start; end < len(whole)-2; end++ {
		l, ok := salvage([]byte(whole[:end]))
		if !ok || l.Cell != "c" || !strings.HasPrefix("a\nä🐍b", strings.TrimRight(l.Text, "�")) {
			t.Errorf("%s: %v %+v", whole[:end], ok, l)
		}
	}
	if l, ok := salvage([]byte(`{"kind":"display","data":{"text/plain":"a`)); ok {
		t.Errorf("half a display: %+v", l)
	}
}

func TestIncomplete(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 0, "ä": 0, "a\xc3": 1, "🐍": 0, "\xf0\x9f\x90": 3, "\xf0\x9f": 2, "\xf0": 1, "\xff": 0, "\x80\x80": 0, "ä\xe6\xbc": 2} {
		if got := incomplete([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// newTestPump returns a pump whose pipes hold what a test gives them.
func newTestPump(t testing.TB, given [3][]byte) (*pump, *[]kernel.Message) {
	t.Helper()
	var got []kernel.Message
	k := &bridged{
		child: &child{}, ready: make(chan struct{}), done: make(chan struct{}),
		running: &run{cell: kernel.Cell{ID: "c"}, begun: make(chan struct{}), ended: make(chan kernel.Ending, 1)},
	}
	p := &pump{kernel: k, emit: func(m kernel.Message) { got = append(got, m) }}
	for i, data := range given {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		enlarge(r)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		w.Close()
		p.fds[i].Fd = int32(r.Fd())
	}
	return p, &got
}

// A cell can write anything to the pipe of messages. It never breaks the pump, and what is no message becomes an output that says so.
func TestForgedLines(t *testing.T) {
	t.Parallel()
	p, got := newTestPump(t, [3][]byte{
		[]byte("garbage\n" + `{"kind":"begun","cell":"other"}` + "\n" + `{"kind":"begun","cell":"c","execution_count":4}` + "\n\n" +
			`{"kind":"ended","cell":"other","status":"ok"}` + "\n" + `{"kind":"ended","cell":"c","status":"ok","execution_count":4}` + "\n" +
			`{"kind":"ended","cell":"c","status":"ok"}` + "\n"),
		[]byte("out"), []byte("err\xe6"),
	})
	p.read()
	var all []string
	for _, m := range *got {
		all = append(all, strings.TrimSpace(string(m.Kind)+" "+string(m.Cell)+" "+string(m.Stream)+m.Text))
	}
	want := `stream  stderrpawl: a line of a cell that is no message: "garbage",busy c,started c,stream c stdoutout,stream c stderrerr,stream c stderr�,reply c ok,idle c`
	if s := strings.Join(all, ","); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if p.kernel.running != nil {
		t.Error("the cell has not ended")
	}
}

// FuzzPump: whatever is in the pipes, the pump emits valid text and loses no byte of the outputs.
func FuzzPump(f *testing.F) {
	f.Add([]byte(`{"kind":"begun","cell":"c"}`+"\n"+`{"kind":"stream","stream":"stdout","cell":"c","text":"a"}`+"\n"), []byte("out"), []byte("\xc3"))
	f.Add([]byte(`{"kind":"display","data":{"text/plain":"1"},"display_id":"x"}`+"\n"+`{"kind":"ended","cell":"c","status":"error"}`+"\n{"), []byte{}, []byte{})
	f.Add([]byte(`{"kind":"error","cell":"c","error":{"ename":"E"}}`+"\n"+`{"kind":"clear","wait":true}`+"\n"), []byte("ä"), []byte("\xf0\x9f\x90\x8d"))
	f.Fuzz(func(t *testing.T, lines, out, errs []byte) {
		const most = 32 << 10 // what the smallest pipe takes
		p, got := newTestPump(t, [3][]byte{lines[:min(len(lines), most)], out[:min(len(out), most)], errs[:min(len(errs), most)]})
		p.read()
		p.drain()
		for _, m := range *got {
			if !utf8.ValidString(m.Text) {
				t.Errorf("invalid text %q", m.Text)
			}
			if _, err := json.Marshal(m); err != nil {
				t.Errorf("%+v: %v", m, err)
			}
		}
		if len(lines) == 0 {
			var text []byte
			for _, m := range *got {
				if m.Kind == kernel.KindStream {
					text = append(text, m.Text...)
				}
			}
			if utf8.Valid(out) && utf8.Valid(errs) && len(out)+len(errs) <= most && !bytes.Equal(text, append(bytes.Clone(out), errs...)) {
				t.Errorf("got %q of %q and %q", text, out, errs)
			}
		}
		salvage(lines)
	})
}
