package jupyter

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/kernel/protocol"
)

//go:embed helper.py
var helperSource []byte

// wire is a message of the kernel, or of the helper itself on the channel "helper".
type wire struct {
	Channel string   `json:"channel"` // iopub, shell, stdin, control or helper
	Type    string   `json:"type"`
	ID      string   `json:"id"`
	Parent  string   `json:"parent"` // id of the request
	Date    string   `json:"date"`
	Buffers [][]byte `json:"buffers"`

	content []byte // JSON, unless the kernel sent something else
}

// message returns a message of the kernel.
func (w wire) message() protocol.Message {
	return protocol.Message{Channel: w.Channel, Type: w.Type, ID: w.ID, Parent: w.Parent, Date: w.Date, Content: w.content, Buffers: w.Buffers}
}

// request is a message to the kernel.
type request struct {
	Op      string `json:"op"`
	Channel string `json:"channel"`
	Type    string `json:"type"`
	ID      string `json:"id"`
	Content any    `json:"content"`
}

// link is a running helper: the connection to a kernel.
type link struct {
	cmd      *exec.Cmd
	messages *bufio.Reader
	files    []*os.File // pawl's ends of the pipes
	exited   chan struct{}
	first    chan wire     // first answer
	resumed  chan struct{} // closed when the first message of iopub has come

	mu       sync.Mutex // guards commands and waiting
	commands *os.File
	waiting  map[string]chan wire // requests of the control channel
}

// sendLimit is how long the helper may take to read a command. It reads at once, unless it is stopped.
const sendLimit = 10 * time.Second

// connect starts a helper for the kernel whose connection file is in the runtime folder. It tries one interpreter after the other
// until one has jupyter_client, and returns that.
func connect(ctx context.Context, spec kernel.Spec, interpreters []string, group int) (*link, string, error) {
	program := filepath.Join(spec.Runtime, "helper.py")
	if err := writeNew(program, helperSource, spec.RunAs); err != nil {
		return nil, "", err
	}
	var missing []string
	for _, python := range interpreters {
		l, err := startLink(spec, python, program, group)
		if err != nil {
			return nil, "", err
		}
		select {
		case w, ok := <-l.first:
			if ok && w.Type == "ready" {
				return l, python, nil
			}
			l.end()
			reason := reasonOf(w, ok)
			if !ok {
				reason += "\n" + logTail(spec.Log)
			}
			missing = append(missing, python+": "+reason)
		case <-ctx.Done():
			l.end()
			return nil, "", context.Cause(ctx)
		}
	}
	if len(interpreters) == 0 {
		return nil, "", needsHelper(errors.New("no python3 on PATH"), "python3")
	}
	return nil, "", needsHelper(errors.New(strings.Join(missing, "; ")), interpreters[0])
}

func reasonOf(w wire, ok bool) string {
	var content struct{ Why string }
	if !ok || json.Unmarshal(w.content, &content) != nil || content.Why == "" {
		return "it ended without an answer"
	}
	return content.Why
}

func needsHelper(err error, python string) error {
	return &pawl.Error{
		Kind: pawl.KindUsage, Err: fmt.Errorf("no Python interpreter with jupyter_client: %w", err),
		Hint: "install it: " + installs(python, "jupyter_client"),
	}
}

// installs returns the command that installs a package for an interpreter.
func installs(python, name string) string {
	if strings.HasPrefix(python, "/usr/bin/") {
		return "apt-get install python3-" + strings.ReplaceAll(name, "_", "-")
	}
	return python + " -m pip install " + name
}

// startLink starts one helper. It runs as the user of the kernel, and gets the end of a pipe when pawl dies.
func startLink(spec kernel.Spec, python, program string, group int) (*link, error) {
	log, err := disk.OpenAppend(spec.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	l := &link{exited: make(chan struct{}), first: make(chan wire, 1), resumed: make(chan struct{}), waiting: map[string]chan wire{}}
	l.cmd = &exec.Cmd{
		Path: python, Args: []string{python, program}, Dir: "/", Env: spec.Environ, Stdout: log, Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Credential: account.Credential(spec.RunAs)},
	}
	theirs, err := l.pipes()
	if err == nil {
		l.cmd.ExtraFiles = theirs
		err = l.cmd.Start()
	}
	closeAll(theirs)
	if err != nil {
		closeAll(l.files)
		return nil, fmt.Errorf("start the helper: %w", err)
	}
	l.commands, l.messages = l.files[0], bufio.NewReaderSize(l.files[1], 1<<20)
	answers := bufio.NewReader(l.files[2])
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		l.hear(answers)
	}()
	go func() {
		_ = l.cmd.Wait() // the pipes tell that it has ended
		<-heard
		close(l.exited)
	}()
	config := map[string]any{"connection": connectionFile(spec), "session": spec.Session, "group": group}
	if memory := spec.Extra["memory"]; memory != "" {
		config["memory"] = json.Number(memory)
	}
	if err := l.command(config); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// pipes makes the pipes of a helper, and returns its ends: for commands, messages and answers.
func (l *link) pipes() (theirs []*os.File, err error) {
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		if i == 0 {
			theirs, l.files = append(theirs, r), append(l.files, w)
		} else {
			theirs, l.files = append(theirs, w), append(l.files, r)
		}
	}
	return theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// hear delivers answers to whoever waits for them, until the helper has ended.
func (l *link) hear(answers *bufio.Reader) {
	first := true
	for {
		w, err := readWire(answers)
		if err != nil {
			close(l.first)
			return
		}
		if first {
			l.first <- w
			first = false
			continue
		}
		l.mu.Lock()
		if c := l.waiting[w.Parent]; c != nil {
			c <- w // it has room for one
			delete(l.waiting, w.Parent)
		}
		l.mu.Unlock()
	}
}

// readWire reads a message: a line that says what it is, and a line with its content.
func readWire(r *bufio.Reader) (w wire, err error) {
	line, err := r.ReadBytes('\n')
	if err == nil {
		w.content, err = r.ReadBytes('\n')
	}
	if errors.Is(err, io.EOF) {
		return w, io.EOF
	}
	if err == nil {
		err = json.Unmarshal(line, &w)
	}
	return w, err
}

// command gives the helper a command. A helper that does not read it is killed.
func (l *link) command(what any) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.commands.SetWriteDeadline(time.Now().Add(sendLimit)); err != nil {
		return err
	}
	if _, err := l.commands.Write(append(line, '\n')); err != nil {
		_ = l.cmd.Process.Kill() // it may have ended
		return fmt.Errorf("helper: %w", err)
	}
	return nil
}

// Send implements protocol.Conn.
func (l *link) Send(channel, kind, id string, content any) error {
	return l.command(request{Op: "send", Channel: channel, Type: kind, ID: id, Content: content})
}

// Mark implements protocol.Conn.
func (l *link) Mark(id string) {
	_ = l.command(request{Op: "mark", ID: id}) // a helper that does not read it is killed
}

// ask sends a request on the control channel, and returns the answer. Not every kernel answers there.
func (l *link) ask(ctx context.Context, kind, id string, content any) (wire, error) {
	c := make(chan wire, 1)
	l.mu.Lock()
	l.waiting[id] = c
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
	}()
	if err := l.Send("control", kind, id, content); err != nil {
		return wire{}, err
	}
	select {
	case w := <-c:
		return w, nil
	case <-l.exited:
		return wire{}, errors.New("the helper has ended")
	case <-ctx.Done():
		return wire{}, context.Cause(ctx)
	}
}

// end ends the helper and waits until it is gone. The kernel lives on.
func (l *link) end() {
	_ = l.cmd.Process.Kill() // it may have ended
	<-l.exited
	closeAll(l.files)
}
