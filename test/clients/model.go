package main

import (
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
}

// call is one call of a tool.
type call struct {
	tool string
	args map[string]any // what most tools take
	text string         // what a tool without arguments takes, as it is
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
// keeps what it was asked. Requests that offer no tools are asides (titles, routing) and get a word for an answer.
type model struct {
	url    string
	server *http.Server
	dir    string // where requests are kept

	mu     sync.Mutex // guards what follows
	script []turn
	asked  []request
	faults []error
}

// request is what the model was asked once.
type request struct {
	path  string
	body  []byte
	tools []string // that it offers
}

// aside reports whether the request is none of the conversation.
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

// play sets what the model will say, and forgets what it was asked before.
func (m *model) play(script ...turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script, m.asked = script, nil
}

// conversation returns the requests since play, but for asides.
func (m *model) conversation() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.asked), request.aside)
}

// fault returns what went wrong in serving, and an error if some of the script was never asked for.
func (m *model) fault() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.faults) == 0 && len(m.script) > 0 {
		return fmt.Errorf("the model was not asked for its last %d turns", len(m.script))
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
	if asked.aside() || len(m.script) == 0 {
		return turn{text: "Done."}
	}
	said := m.script[0]
	m.script = m.script[1:]
	for _, c := range said.calls {
		if !slices.Contains(asked.tools, c.tool) {
			m.faults = append(m.faults, fmt.Errorf("the agent offers no tool %s, but %s", c.tool, strings.Join(asked.tools, ", ")))
		}
	}
	return said
}

// keep writes a request into a file, for whoever wants to know why a story failed.
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
