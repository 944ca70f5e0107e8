package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/mcp"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/test/stories/storytest"
)

// binary is the real program, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	// The go command does not see what the program is built from. This call links the server into the test, so that the go command
	// reruns the test when the server changes.
	if _, err := mcp.New(mcp.Config{Log: io.Discard}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "pawl-mcp-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "pawl")
	if err := storytest.BuildAt(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	home := filepath.Join(dir, "home")
	err = errors.Join(os.Mkdir(home, 0o700), os.Setenv("HOME", home))
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "PAWL_STATE"} {
		err = errors.Join(err, os.Unsetenv(name))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// secret is a value that no answer and no file of the project may hold.
const secret = "vX93kLqPz7wM2rTs"

// folder is the working folder of a test.
type folder struct {
	*testing.T
	dir string
	env []string
}

// newFolder makes a project of a new folder.
func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{T: t, dir: t.TempDir()}
	f.env = append(os.Environ(), "USER=tester", "DEPLOY_TOKEN="+secret)
	f.write("hello.txt", "hello\n")
	if _, err := project.Init(f.dir); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *folder) write(name, content string) {
	f.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *folder) command(args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Dir, c.Env = f.dir, f.env
	return c
}

// pawl types a command and returns what it prints.
func (f *folder) pawl(args ...string) string {
	f.Helper()
	out, err := f.command(args...).CombinedOutput()
	if err != nil {
		f.Fatalf("pawl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// runs returns the ids of the project's runs.
func (f *folder) runs() []string {
	f.Helper()
	found, err := filepath.Glob(filepath.Join(f.dir, ".pawl", "runs", "*"))
	if err != nil {
		f.Fatal(err)
	}
	return found
}

// events returns the events of the current run that are of a type, a line of JSON each.
func (f *folder) events(kind pawl.EventType) []string {
	f.Helper()
	p, err := project.Find(f.dir)
	if err != nil {
		f.Fatal(err)
	}
	run, err := runs.FindRun(f.Context(), p, "")
	if err != nil {
		f.Fatal(err)
	}
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		f.Fatal(err)
	}
	defer log.Close()
	var found []string
	for e, err := range log.Events(0) {
		if err != nil {
			f.Fatal(err)
		}
		if e.Type != kind {
			continue
		}
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(e); err != nil {
			f.Fatal(err)
		}
		found = append(found, line.String())
	}
	return found
}

// noSecret fails if anything that the project keeps holds the secret.
func (f *folder) noSecret() {
	f.Helper()
	err := filepath.WalkDir(filepath.Join(f.dir, ".pawl"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			f.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
}

// person answers forms as a test has it.
type person func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error)

// clientOf is a client whose person, if there is one, can be asked.
func clientOf(name string, p person) *sdk.Client {
	o := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}
	if p != nil {
		o.ElicitationHandler = p
	}
	return sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, o)
}

// versions are the revisions that today's agents ask for.
var versions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// ways are how a server is reached.
var ways = []string{"stdio", "http"}

// everyWay runs a test once for each revision and each way.
func everyWay(t *testing.T, test func(t *testing.T, way, version string)) {
	t.Parallel()
	for _, way := range ways {
		for _, version := range versions {
			t.Run(way+" "+version, func(t *testing.T) {
				t.Parallel()
				test(t, way, version)
			})
		}
	}
}

// server returns a server of the folder that runs in this process, and logs to log.
func (f *folder) server(log io.Writer) *mcp.Server {
	f.Helper()
	s, err := mcp.New(mcp.Config{Folder: f.dir, Version: "test", Environ: f.env, Log: log})
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// connect connects a client to a new server.
func (f *folder) connect(way, version string, client *sdk.Client) *sdk.ClientSession {
	f.Helper()
	if way == "http" {
		return f.over(version, client, f.listen(mcp.HTTP{}).transport())
	}
	l := f.stdio()
	return f.over(version, client, &sdk.IOTransport{Reader: l.out, Writer: l.in})
}

// lines are the two pipes of a server that serves one client in this process.
type lines struct {
	in    *os.File   // what the server reads
	out   *os.File   // what the server prints
	ended chan error // gets the result of the server
}

// stdio starts a server that reads from a pipe and prints to another one, as a process does. It ends with its input.
func (f *folder) stdio() lines {
	f.Helper()
	serverIn, in, err := os.Pipe()
	if err != nil {
		f.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		f.Fatal(err)
	}
	var log safeBuffer
	s, l := f.server(&log), lines{in: in, out: out, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := s.Stdio(ctx, serverIn, serverOut)
		serverOut.Close()
		l.ended <- err
	}()
	f.Cleanup(func() {
		in.Close()
		late := time.AfterFunc(20*time.Second, cancel)
		<-done
		if !late.Stop() {
			f.Error("the server does not end with its input")
		}
		cancel()
		serverIn.Close()
		out.Close()
		if f.Failed() {
			f.Logf("log: %s", log.String())
		}
	})
	return l
}

// clientProcess returns a command that starts a server as the child of another process, which then counts as the client. The process of
// the tests types the commands of persons, so it must not be one.
func (f *folder) clientProcess() *exec.Cmd {
	c := f.command()
	c.Args = []string{"timeout", "--foreground", "600", binary, "mcp"}
	c.Path, c.Err = exec.LookPath(c.Args[0])
	return c
}

// program connects a client to a server in a separate process.
func (f *folder) program(version string, client *sdk.Client) *sdk.ClientSession {
	f.Helper()
	c := f.clientProcess()
	var stderr bytes.Buffer // written by one goroutine, read when it has ended
	c.Stderr = &stderr
	f.Cleanup(func() {
		if f.Failed() {
			f.Logf("stderr: %s", &stderr)
		}
	})
	return f.over(version, client, &sdk.CommandTransport{Command: c})
}

// safeBuffer is a buffer that several goroutines write to.
type safeBuffer struct {
	mu   sync.Mutex // guards what follows
	data bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func (f *folder) over(version string, client *sdk.Client, t sdk.Transport) *sdk.ClientSession {
	f.Helper()
	session, err := client.Connect(f.Context(), t, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; version < "2026" && got != version {
		f.Errorf("the server speaks %s, not %s", got, version)
	}
	return session
}

// served is a server that is reached by HTTP.
type served struct {
	url, token string
}

// listen starts a server in this process, which ends with the test.
func (f *folder) listen(h mcp.HTTP) served {
	f.Helper()
	from, log := io.Pipe()
	s := f.server(log)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	ended := make(chan error, 1)
	go func() {
		err := s.Listen(ctx, h)
		log.CloseWithError(err)
		ended <- err
	}()
	said, drained := make(chan served, 1), make(chan struct{})
	go func() {
		defer close(drained)
		said <- introduced(from)
		io.Copy(io.Discard, from)
	}()
	f.Cleanup(func() {
		cancel()
		<-drained
		if err := <-ended; err != nil {
			f.Errorf("listen: %v", err)
		}
	})
	select {
	case s := <-said:
		return s
	case <-time.After(20 * time.Second):
		f.Fatal("the server says not where it is")
	}
	return served{}
}

// What a server says of itself, the token first.
var (
	saysToken = regexp.MustCompile(`token ([0-9a-f]{64})\n`)
	saysPlace = regexp.MustCompile(`MCP at (http://\S+)\n`)
)

// introduced reads until the server has said where it is.
func introduced(from io.Reader) served {
	var text []byte
	part := make([]byte, 4096)
	for {
		n, err := from.Read(part)
		text = append(text, part[:n]...)
		if m := saysPlace.FindSubmatch(text); m != nil {
			s := served{url: string(m[1])}
			if m := saysToken.FindSubmatch(text); m != nil {
				s.token = string(m[1])
			}
			return s
		}
		if err != nil {
			return served{url: "nowhere: " + string(text)}
		}
	}
}

func (h served) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: h.url, HTTPClient: &http.Client{Transport: h}, MaxRetries: -1}
}

// RoundTrip shows the token.
func (h served) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+h.token)
	return http.DefaultTransport.RoundTrip(r)
}

// told is what a tool answered.
type told struct {
	text  string
	data  map[string]any
	wrong bool
}

// use calls a tool.
func use(t *testing.T, session *sdk.ClientSession, name string, arguments any) told {
	t.Helper()
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return read(t, res)
}

func read(t *testing.T, res *sdk.CallToolResult) told {
	t.Helper()
	got := told{wrong: res.IsError}
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			got.text += text.Text
		}
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got.data); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.text+string(data), secret) {
		t.Errorf("the secret is told: %s %s", got.text, data)
	}
	return got
}

// says fails unless a text matches all patterns.
func says(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			t.Errorf("%q says nothing of %s", text, p)
		}
	}
}
