package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hand is a client by hand: a test writes its lines and reads the server's.
type hand struct {
	*folder
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error // returns what the server ended with
	seen []message    // answers that came before they were asked for: the server works on several requests at once
}

// byHand starts a server in this process.
func (f *folder) byHand() *hand {
	f.Helper()
	l := f.stdio()
	late := time.AfterFunc(time.Minute, func() { l.out.Close() }) // then no read waits any more
	f.Cleanup(func() { late.Stop() })
	return &hand{folder: f, in: l.in, out: bufio.NewReaderSize(l.out, 1<<20), wait: func() error { return <-l.ended }}
}

// process starts a server in a separate process, which can be killed.
func (f *folder) process() (h *hand, kill func()) {
	f.Helper()
	c := f.clientProcess()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := c.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := c.Start(); err != nil {
		f.Fatal(err)
	}
	killAll := func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	late := time.AfterFunc(time.Minute, killAll)
	kill = func() {
		late.Stop()
		killAll()
		c.Wait()
	}
	f.Cleanup(kill)
	return &hand{folder: f, in: in, out: bufio.NewReaderSize(out, 1<<20), wait: c.Wait}, kill
}

func (h *hand) send(lines ...string) {
	h.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(h.in, line+"\n"); err != nil {
			h.Fatal(err)
		}
	}
}

// message is what a server sends.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result map[string]any  `json:"result"`
	Params map[string]any  `json:"params"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// next returns the next message. What is no message fails the test: standard output is the wire.
func (h *hand) next() message {
	h.Helper()
	line, err := h.out.ReadBytes('\n')
	if err != nil {
		h.Fatalf("read: %v", err)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		h.Fatalf("%q: %v", line, err)
	}
	return m
}

// answer returns the message with this id, whatever comes before it.
func (h *hand) answer(id string) message {
	h.Helper()
	is := func(m message) bool { return string(m.ID) == id && m.Method == "" }
	if i := slices.IndexFunc(h.seen, is); i >= 0 {
		m := h.seen[i]
		h.seen = slices.Delete(h.seen, i, i+1)
		return m
	}
	for {
		m := h.next()
		if is(m) {
			return m
		}
		h.seen = append(h.seen, m)
	}
}

// begin shakes hands as clients of the older revisions do.
func (h *hand) begin(version, capabilities string) {
	h.Helper()
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"codex-mcp-client","version":"1"}}}`, version, capabilities))
	if m := h.answer(`"begin"`); m.Error != nil || m.Result["protocolVersion"] != version || m.Result["instructions"] == "" {
		h.Fatalf("initialize: %+v", m)
	}
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// meta is what each request of the newest revision carries.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2"},"io.modelcontextprotocol/clientCapabilities":{}}`

const learnSomething = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"learn","arguments":{"text":"it works"}}}`

// TestEachRevision speaks as clients of each revision do, line by line.
func TestEachRevision(t *testing.T) {
	t.Parallel()
	for _, version := range versions[:2] {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h := newFolder(t).byHand()
			h.begin(version, `{"elicitation":{}}`)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":0}}}`, learnSomething)
			h.answer("1")
			if tools := h.answer("2").Result["tools"].([]any); len(tools) != 11 {
				t.Errorf("%d tools", len(tools))
			}
			says(t, fmt.Sprint(h.answer("7").Result), "note recorded in run")
		})
	}
	t.Run("2026-07-28", func(t *testing.T) {
		t.Parallel()
		h := newFolder(t).byHand()
		h.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`)
		m := h.answer("1")
		says(t, fmt.Sprint(m.Result["supportedVersions"]), "2026-07-28 2025-11-25 2025-06-18")
		says(t, fmt.Sprint(m.Result["instructions"]), "^Call `brief` before")
		h.send(strings.Replace(learnSomething, `"params":{`, `"params":{`+meta+`,`, 1))
		m = h.answer("7")
		says(t, fmt.Sprint(m.Result), "resultType:complete", "note recorded in run")
		says(t, strings.Join(h.events("memory.learned"), ""), `"name":"claude-code"`)
	})
}

// TestProbeThenInitialize does as Claude Code and Copilot were seen to: they probe the newest revision and may go on with
// an older one all the same.
func TestProbeThenInitialize(t *testing.T) {
	t.Parallel()
	h := newFolder(t).byHand()
	h.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + meta + `}}`)
	h.answer("0")
	h.begin("2025-11-25", `{"roots":{},"elicitation":{"form":{},"url":{}}}`)
	h.send(learnSomething)
	says(t, fmt.Sprint(h.answer("7").Result), "note recorded")
	says(t, strings.Join(h.events("memory.learned"), ""), `"name":"codex-mcp-client"`)
}

// TestProbeOfOthers asks what the server does not speak. It says what it does.
func TestProbeOfOthers(t *testing.T) {
	t.Parallel()
	h := newFolder(t).byHand()
	h.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover"}`)
	if m := h.answer("0"); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("%+v", m)
	}
	h.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + strings.Replace(meta, "2026-07-28", "2099-01-01", 1) + `}}`)
	if m := h.answer("1"); m.Error == nil || m.Error.Code != -32022 {
		t.Errorf("%+v", m)
	}
	h.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`)
	if m := h.answer("2"); m.Result["protocolVersion"] != "2025-11-25" {
		t.Errorf("%+v", m)
	}
}

// TestBrokenLines sends lines that are not messages. The server answers each with an error and continues.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	h := newFolder(t).byHand()
	h.begin("2025-06-18", "{}")
	for _, c := range []struct {
		line, id string
		code     int
	}{
		{"no JSON", "null", -32700},
		{`{"jsonrpc":"2.0","id":`, "null", -32700},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", -32600},
		{`{"jsonrpc":"2.0","id":5}`, "5", -32600},
		{`{"id":"six","method":"ping"}`, `"six"`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", -32600},
		{`"text"`, "null", -32600},
		{strings.Repeat("x", 17<<20), "null", -32600},
		{`{"jsonrpc":"2.0","id":8,"method":"no/such"}`, "8", -32601},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/call"}`, "9", -32600},
		{`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":7}}`, "10", -32602},
		{`{"jsonrpc":"2.0","id":11,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, "11", -32602},
	} {
		h.send("", "\t\r", c.line)
		m := h.next()
		if m.Error == nil || m.Error.Code != c.code || string(m.ID) != c.id {
			t.Errorf("%.60s: %+v", c.line, m)
		}
	}
	h.send(`{"jsonrpc":"2.0","id":12,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, learnSomething)
	says(t, fmt.Sprint(h.answer("7").Result), "note recorded")
}

// TestLastWord closes the input behind the last call, without the end of its line. It is answered all the same.
func TestLastWord(t *testing.T) {
	t.Parallel()
	h := newFolder(t).byHand()
	h.begin("2025-11-25", "{}")
	h.send(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"checkpoint","arguments":{"why":"the end"}}}`)
	if _, err := io.WriteString(h.in, learnSomething); err != nil {
		t.Fatal(err)
	}
	h.in.Close()
	answered := map[string]bool{}
	for range 2 {
		answered[string(h.next().ID)] = true
	}
	if !answered["6"] || !answered["7"] {
		t.Errorf("answered: %v", answered)
	}
	if _, err := h.out.ReadByte(); err != io.EOF {
		t.Errorf("more is said: %v", err)
	}
	if err := h.wait(); err != nil {
		t.Error(err)
	}
}

// TestClientDies has the client vanish while its person is asked: the server ends, and the question stays.
func TestClientDies(t *testing.T) {
	t.Parallel()
	h := newFolder(t).byHand()
	h.begin("2025-11-25", `{"elicitation":{"form":{}}}`)
	h.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask","arguments":{"question":"Is anybody there?"}}}`)
	if m := h.next(); m.Method != "elicitation/create" {
		t.Fatalf("%+v", m)
	}
	h.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- h.wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server waits for nobody")
	}
	says(t, h.pawl("gates"), "Is anybody there")
	h.pawl("verify")
}

// TestCancelledCall cancels a call that asks a question. The gate stays open and the server continues.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	h := newFolder(t).byHand()
	h.begin("2025-06-18", `{"elicitation":{}}`)
	h.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask","arguments":{"question":"Is anybody there?"}}}`)
	if m := h.next(); m.Method != "elicitation/create" {
		t.Fatalf("%+v", m)
	}
	h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"too long"}}`)
	h.send(learnSomething)
	says(t, fmt.Sprint(h.answer("7").Result), "note recorded")
	says(t, h.pawl("gates"), "Is anybody there")
	h.in.Close()
	if err := h.wait(); err != nil {
		t.Error(err)
	}
}

// TestKilledServer kills the server at any moment of its work. What it had answered is there, and nothing is damaged.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	known := 0
	for round := range 12 {
		h, kill := f.process()
		h.begin("2025-11-25", "{}")
		for i := range 20 {
			h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"learn","arguments":{"text":"thing %d of round %d"}}}`, i, i, round))
		}
		for range round {
			if m := h.next(); m.Error != nil {
				t.Fatalf("%+v", m)
			}
			known++
		}
		kill()
	}
	if got := len(f.events("memory.learned")); got < known || len(f.runs()) != 1 {
		t.Errorf("%d of %d are there, in %d runs", got, known, len(f.runs()))
	}
	f.pawl("verify")
}
