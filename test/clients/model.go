package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// turn is one answer of the model: text, or calls of the agent's tools.
type turn struct {
	text  string
	calls []call
	sub   bool // for a sub-agent
}

// call is one call of a tool.
type call struct {
	namespace string // of the tool, where it has one
	tool      string
	args      map[string]any // of most tools
	text      string         // the input of a tool without named arguments
}

// arguments are the call's arguments as JSON.
func (c call) arguments() string {
	data, err := json.Marshal(c.args)
	if err != nil {
		panic(err) // they are strings and numbers that we wrote
	}
	return string(data)
}

// model plays a language model on every wire that the agents speak: it answers with a script, one turn a request, and
// records the requests. Requests that offer no tools are side requests (titles, routing) and get one word as answer.
type model struct {
	url    string
	server *http.Server
	dir    string // where requests are kept

	mu     sync.Mutex // guards what follows
	prompt string     // of the agent; no request of a sub-agent holds it
	script []turn
	asked  []request
	faults []error
}

// request is one request to the model.
type request struct {
	path  string
	body  []byte
	tools []string // that it offers
}

// aside reports whether the request is not part of the conversation.
func (r request) aside() bool { return len(r.tools) == 0 }

// newModel starts a model on a port of the loopback.
func newModel(dir string) (*model, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + listener.Addr().String(), dir: dir}
	mux := http.NewServeMux()
	for pattern, w := range map[string]wire{
		"POST /v1beta/models/{action}": geminiWire{},
		"POST /v1/responses":           responsesWire{},
		"POST /v1/chat/completions":    chatWire{},
		"POST /v1/messages":            messagesWire{},
	} {
		mux.HandleFunc(pattern, func(out http.ResponseWriter, r *http.Request) { m.serve(w, out, r) })
	}
	m.server = &http.Server{Handler: mux}
	go m.server.Serve(listener)
	return m, nil
}

// close ends the model. Requests that are not answered yet are cut off.
func (m *model) close() error { return m.server.Close() }

// play sets the model's answers to an agent with this prompt, and deletes the earlier requests.
func (m *model) play(prompt string, script ...turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prompt, m.script, m.asked = prompt, script, nil
}

// conversation returns the requests of the agent since play, without asides.
func (m *model) conversation() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.asked), func(r request) bool { return r.aside() || m.bySub(r) })
}

// bySub reports whether a sub-agent asks.
func (m *model) bySub(r request) bool { return !bytes.Contains(r.body, []byte(m.prompt)) }

// fault returns the errors of serving, and an error if a part of the script was not requested.
func (m *model) fault() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.faults) == 0 && len(m.script) > 0 {
		return fmt.Errorf("the last %d turns of the model were not requested", len(m.script))
	}
	return errors.Join(m.faults...)
}

// serve answers one request.
func (m *model) serve(w wire, out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		m.blame(err)
		return
	}
	tools, err := w.tools(body)
	if err != nil {
		m.blame(fmt.Errorf("%s: %w", r.URL.Path, err))
	}
	asked := request{path: r.URL.Path, body: body, tools: tools}
	w.answer(out, r, m.next(asked))
}

// next records a request and returns the answer to it.
func (m *model) next(asked request) turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, asked)
	m.keep(asked)
	sub := m.bySub(asked)
	i := slices.IndexFunc(m.script, func(t turn) bool { return t.sub == sub })
	if asked.aside() || i < 0 {
		return turn{text: "Done."}
	}
	said := m.script[i]
	m.script = slices.Delete(m.script, i, i+1)
	for _, c := range said.calls {
		if !slices.Contains(asked.tools, c.tool) {
			m.faults = append(m.faults, fmt.Errorf("the agent offers no tool %s, but %s", c.tool, strings.Join(asked.tools, ", ")))
		}
	}
	return said
}

// keep saves a request in a file, so that failures can be analyzed.
func (m *model) keep(asked request) {
	names, err := filepath.Glob(filepath.Join(m.dir, "*.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(m.dir, fmt.Sprintf("%03d.json", len(names)+1)), asked.body, 0o600)
	}
	if err != nil {
		m.faults = append(m.faults, err)
	}
}

func (m *model) blame(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, err)
}
