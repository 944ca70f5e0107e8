package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// clientVerb makes a real client resume the newest session with its own resume, and prints the conversation that its model gets.
const clientVerb = "client"

// client is a coding agent's own program.
type client struct {
	program string // the variable that names the program, as a shell would start it
	// store writes the conversation where the client keeps its sessions. Nil: the scripted agent did.
	store     func(home, project, url string, conversation []message) error
	arguments []string
	environ   func(url string) []string
	answer    string // the model's answer to every request, in the provider's protocol
	read      func(request []byte) ([]message, error)
	own       func(text string) bool // reports whether a text is one that the client adds to every new session
}

// clients are the clients that can be measured. The others keep their sessions in a database.
var clients = map[string]client{"claude": claudeClient, "codex": codexClient, "gemini": geminiClient}

// resumeClient makes a client continue the newest conversation with a scripted model. Without a session it prints nothing.
func resumeClient(ctx context.Context, name string, out io.Writer) error {
	c, ok := clients[name]
	if !ok {
		return fmt.Errorf("unknown client %q", name)
	}
	data, err := os.ReadFile(os.Getenv("RESUMEBENCH_TRANSCRIPT"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	conversation, err := readTranscript(data)
	if err != nil {
		return err
	}
	m := &model{answer: c.answer}
	url, closeModel, err := m.serve()
	if err != nil {
		return err
	}
	if c.store != nil {
		err = c.store(os.Getenv("HOME"), os.Getenv("RESUMEBENCH_PROJECT"), url, conversation)
	}
	if err == nil {
		err = c.run(ctx, url)
	}
	if err := errors.Join(err, closeModel()); err != nil {
		return err
	}
	return c.print(m, out)
}

// run runs the client. It can reach only the model: its proxy does not exist.
func (c client) run(ctx context.Context, url string) error {
	program := os.Getenv(c.program)
	if program == "" {
		return errors.New("set " + c.program + " to the program of the client")
	}
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", "exec " + program + ` "$@"`, "sh"}, c.arguments...)...)
	cmd.Env = append(os.Environ(), "HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost")
	cmd.Env = append(cmd.Env, c.environ(url)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, said.String())
	}
	return nil
}

// print writes the conversation of the largest request: the others are side requests, such as for a title. It leaves out what the
// client adds to every new session, and the new prompt.
func (c client) print(m *model, out io.Writer) error {
	if len(m.asked) == 0 {
		return errors.New("the client sent no request to the model")
	}
	messages, err := c.read(slices.MaxFunc(m.asked, func(a, b []byte) int { return len(a) - len(b) }))
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, render(messages, func(one message, text string) bool {
		text = strings.TrimSpace(text)
		return one.Role == "system" || one.Role == "developer" || text == "" || text == firstPrompt || c.own(text)
	}))
	return err
}

// model replaces the language model of a client: it gives the same answer to every request, and records the requests.
type model struct {
	answer string
	mu     sync.Mutex // guards asked
	asked  [][]byte
}

// serve starts the model on a port of the loopback.
func (m *model) serve() (url string, end func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: m}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() error {
		err := server.Close()
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}, nil
}

// ServeHTTP answers a request of any provider's protocol.
func (m *model) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		http.NotFound(out, r)
		return
	}
	m.mu.Lock()
	m.asked = append(m.asked, body)
	m.mu.Unlock()
	out.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(out, m.answer)
}
