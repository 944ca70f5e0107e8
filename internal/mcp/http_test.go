package mcp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/mcp"
)

// post sends a body to a server, with headers, and returns the status and what it says.
func post(t *testing.T, h served, path, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(h.url, "/mcp")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true // a later server may get the same port, and a kept connection leads to the earlier one
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(said)
}

const shakeHands = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// TestAccess knocks at a server as those do who are let in, and those who are not.
func TestAccess(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	h := f.listen(mcp.HTTP{})
	open := f.listen(mcp.HTTP{NoToken: true})
	host := strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp")
	port := host[strings.LastIndex(host, ":"):]
	for _, c := range []struct {
		what    string
		at      served
		path    string
		headers []string
		want    int
	}{
		{"the token", h, "/mcp", nil, 200},
		{"another path", h, "/", nil, 404},
		{"no token", served{url: h.url}, "/mcp", nil, 401},
		{"no token, another path", served{url: h.url}, "/", nil, 401},
		{"a wrong token", served{url: h.url, token: strings.Repeat("0", 64)}, "/mcp", nil, 401},
		{"half the token", served{url: h.url, token: h.token[:32]}, "/mcp", nil, 401},
		{"another scheme", served{url: h.url}, "/mcp", []string{"Authorization", "Basic " + h.token}, 401},
		{"by name", h, "/mcp", []string{"Host", "localhost" + port}, 200},
		{"a name that leads here", h, "/mcp", []string{"Host", "evil.example" + port}, 403},
		{"another port", h, "/mcp", []string{"Host", "localhost:1"}, 403},
		{"its own page", h, "/mcp", []string{"Origin", "http://localhost" + port}, 200},
		{"a page from elsewhere", h, "/mcp", []string{"Origin", "https://evil.example"}, 403},
		{"a page of another server here", h, "/mcp", []string{"Origin", "http://localhost:3000"}, 403},
		{"a page of nowhere", h, "/mcp", []string{"Origin", "null"}, 403},
		{"whoever comes", open, "/mcp", nil, 200},
		{"a page from elsewhere, no token asked", open, "/mcp", []string{"Origin", "https://evil.example"}, 403},
		{"a name that leads here, no token asked", open, "/mcp", []string{"Host", "evil.example"}, 403},
	} {
		if got, said := post(t, c.at, c.path, shakeHands, c.headers...); got != c.want {
			t.Errorf("%s: %d %s, not %d", c.what, got, said, c.want)
		}
	}
}

// TestLargeBody sends ten megabytes. The server refuses them and continues.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	h := newFolder(t).listen(mcp.HTTP{})
	body := strings.Replace(learnSomething, "it works", strings.Repeat("x", 10<<20), 1)
	for _, headers := range [][]string{nil, {"Mcp-Protocol-Version", "2026-07-28"}} {
		if got, said := post(t, h, "/mcp", body, headers...); got != http.StatusRequestEntityTooLarge {
			t.Errorf("%v: %d %s", headers, got, said)
		}
	}
	if got, said := post(t, h, "/mcp", shakeHands); got != 200 {
		t.Errorf("%d %s", got, said)
	}
}

// TestRefusedToListen asks for what no server does.
func TestRefusedToListen(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("open", strings.Repeat("t", 64)+"\n")
	if err := os.Chmod(filepath.Join(f.dir, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.write("short", "secret\n")
	for _, words := range []string{
		"--http 0.0.0.0:0", "--http :0", "--http 7295", "--http example.org:80", "127.0.0.1:0", "--http --no-token --token-file short",
		"--http --token-file open", "--http --token-file short", "--http --token-file nothing",
		"--http " + strings.TrimSuffix(strings.TrimPrefix(f.listen(mcp.HTTP{}).url, "http://"), "/mcp"),
	} {
		out, err := f.command(append([]string{"mcp"}, strings.Fields(words)...)...).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 {
			t.Errorf("pawl mcp %s: %v", words, err)
		}
		says(t, string(out), "^pawl: error: ")
	}
}

// TestOwnToken takes the token from a file, and prints none.
func TestOwnToken(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	token := strings.Repeat("t", 40)
	f.write("token", token+"\n")
	h := f.listen(mcp.HTTP{TokenFile: filepath.Join(f.dir, "token")})
	if h.token != "" {
		t.Error("a token is printed")
	}
	for given, want := range map[string]int{token: 200, "": 401} {
		if got, said := post(t, served{url: h.url, token: given}, "/mcp", shakeHands); got != want {
			t.Errorf("%d %s", got, said)
		}
	}
}

// TestTwoClients has two clients at one server: each is known by its own name.
func TestTwoClients(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	h := f.listen(mcp.HTTP{})
	for i, name := range []string{"claude-code", "codex", "gemini"} {
		agent := f.over(versions[i], clientOf(name, nil), h.transport())
		use(t, agent, "learn", args{"text": "from " + name})
	}
	for _, line := range f.events("memory.learned") {
		_, name, _ := strings.Cut(line, "from ")
		name, _, _ = strings.Cut(name, `"`)
		says(t, line, fmt.Sprintf(`"name":%q`, name))
	}
}
