package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/internal/httpaccess"
	"pawl/internal/project"
	"pawl/internal/server/client"
	"pawl/internal/tokens"
	"pawl/test/stories/storytest"
)

// TestMain gives the tests of this package a user of their own.
func TestMain(m *testing.M) { os.Exit(main(m)) }

func main(m *testing.M) int {
	home, err := os.MkdirTemp("", "pawl-server")
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	for name, value := range map[string]string{"PAWL_STATE": filepath.Join(home, "state"), "USER": "tester", "XDG_CONFIG_HOME": home} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	return storytest.Main(m)
}

// ownSecret is the token in the token file of the servers of these tests.
const ownSecret = "0123456789abcdef0123456789abcdef"

// world is a server with a project.
type world struct {
	*testing.T
	api  *api
	url  string
	root string // of the project
	id   string
}

// newWorld makes a server, and a project with some files.
func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, root: root}
	for name, text := range files {
		w.write(name, text)
	}
	w.pawl(0, "init")
	p, err := project.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	w.id = p.ID
	site, err := httpaccess.Remote{}.Listen(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	r := newRecovery(Config{Service: httpaccess.Service{Token: ownSecret, TokenFile: "token"}, Version: "test", Out: io.Discard, Log: io.Discard, Pawl: w.command})
	if w.api, err = newAPI(r, time.Now()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(w.described(w.api.handler(site)))
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = site
	server.Start()
	acting, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var loop sync.WaitGroup
	loop.Go(func() { w.api.actInBulk(acting) })
	t.Cleanup(func() { // before the project's folder is removed
		server.Close()
		end()
		loop.Wait()
		if release, ok := w.api.visits.acquire(context.Background(), w.id); ok {
			defer release()
		}
		if err := p.WaitForEngine(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w.url = site.URL
	w.look()
	return w
}

func (w *world) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.Fatal(err)
	}
}

// command runs a command as the server does.
func (w *world) command(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, storytest.Pawl(w.T), append([]string{"-C", folder}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if failed := ParseFailure(said.Bytes()); err != nil && failed != nil {
		return out, failed
	}
	return out, err
}

// pawl runs a command in the project, and returns what it prints.
func (w *world) pawl(code int, args ...string) string {
	w.Helper()
	cmd := exec.Command(storytest.Pawl(w.T), append([]string{"-C", w.root}, args...)...)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		w.Fatalf("pawl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// look has the server look at the project. It resumes nothing that waits.
func (w *world) look() {
	w.Helper()
	e, err := project.Lookup(w.id)
	if err != nil {
		w.Fatal(err)
	}
	w.api.visit(w.Context(), e, false)
}

// token makes a token with rights.
func (w *world) token(rights ...tokens.Right) string {
	w.Helper()
	name := "t" + strings.ReplaceAll(fmt.Sprint(time.Now().UnixNano()), " ", "")
	_, secret, err := w.api.store.Create(name, rights, time.Hour, time.Now())
	if err != nil {
		w.Fatal(err)
	}
	return secret
}

// answer is what the server answered.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// call sends a request as no client of ours does. Each header is "Name: value"; the token is that of the server,
// unless there is another one.
func (w *world) call(method, path string, body any, headers ...string) answer {
	w.Helper()
	var sent io.Reader
	if text, raw := body.(string); raw {
		sent = strings.NewReader(text)
	} else if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			w.Fatal(err)
		}
		sent = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(w.Context(), method, w.url+path, sent)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+ownSecret)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			request.Host = value
		case value == "":
			request.Header.Del(name)
		default:
			request.Header.Set(name, value)
		}
	}
	response, err := new(http.Transport).RoundTrip(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(data)}
	if strings.Contains(response.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(data, &a.body); err != nil {
			w.Fatalf("%s %s: %v: %s", method, path, err, data)
		}
	}
	return a
}

// want calls, and requires a status.
func (w *world) want(status int, method, path string, body any, headers ...string) answer {
	w.Helper()
	a := w.call(method, path, body, headers...)
	if a.status != status {
		w.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.text)
	}
	return a
}

// client returns a client with a token of these rights; the server's own one without any.
func (w *world) client(rights ...tokens.Right) *client.Client {
	w.Helper()
	secret := ownSecret
	if len(rights) > 0 {
		secret = w.token(rights...)
	}
	c, err := client.New(w.url, secret)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// refused requires that the server answered with a status that is an error. What is its other answer.
func (w *world) refused(status int, what any, err error) {
	w.Helper()
	if answer, ok := errors.AsType[*client.Error](err); !ok || answer.Status != status {
		w.Errorf("%+v, %v, want status %d", what, err, status)
	}
}

// bearer returns the header with a token.
func bearer(secret string) string { return "Authorization: Bearer " + secret }

// document is the API's document, for validation.
var document = sync.OnceValues(func() (*apiDocument, error) {
	data, err := json.Marshal(documented(newRecovery(Config{Version: "test"})).operations(http.NewServeMux()))
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	return &apiDocument{parsed.(map[string]any), c}, c.AddResource("https://pawl/openapi.json", parsed)
})

type apiDocument struct {
	content  map[string]any
	compiler *jsonschema.Compiler
}

var compiling sync.Mutex

// described checks that the document describes each answer in JSON, whoever asked.
func (w *world) described(next http.Handler) http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		answered := &recorder{ResponseWriter: to, status: http.StatusOK}
		next.ServeHTTP(answered, r)
		if kind := to.Header().Get("Content-Type"); strings.Contains(kind, "json") && strings.HasPrefix(r.URL.Path, "/api/") {
			a := answer{answered.status, to.Header(), answered.body.String(), nil}
			if err := fits(r.Method, r.URL.EscapedPath(), a); err != nil {
				w.Errorf("%s %s: the answer does not fit the document: %v\n%s", r.Method, r.URL.Path, err, a.text)
			}
		}
	})
}

// fits returns why the document does not describe an answer.
func fits(method, path string, a answer) error {
	d, err := document()
	if err != nil {
		return err
	}
	path = strings.Replace(path, "/api/v1/", "/api/", 1)
	for template := range d.content["paths"].(map[string]any) {
		pattern := "^" + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(template), "[^/]+") + "$"
		if !regexp.MustCompile(pattern).MatchString(path) {
			continue
		}
		kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		at := "https://pawl/openapi.json#/paths/" + escaped(template) + "/" + strings.ToLower(method) + "/responses/" + fmt.Sprint(a.status) + "/content/" + escaped(kind) + "/schema"
		compiling.Lock()
		defer compiling.Unlock()
		schema, err := d.compiler.Compile(at)
		if err != nil {
			return err
		}
		var body any
		if body, err = jsonschema.UnmarshalJSON(strings.NewReader(a.text)); err != nil {
			return err
		}
		return schema.Validate(body)
	}
	return fmt.Errorf("no path %s", path)
}

func escaped(part string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "+", "%2B").Replace(part)
}
