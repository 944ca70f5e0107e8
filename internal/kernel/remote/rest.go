package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"pawl/internal/kernel"
	"pawl/internal/oneline"
)

const (
	maxAnswer    = 4 << 20   // bytes of an answer of the REST API
	maxMessage   = 256 << 20 // bytes of a message on the WebSocket, such as a display with a large picture
	requestLimit = 30 * time.Second
)

// api is the REST API of a Jupyter server.
type api struct {
	base   *url.URL
	token  string
	client *http.Client
}

// errNotFound is the error of a kernel that the server does not have.
var errNotFound = errors.New("the server has no such kernel")

// newAPI checks the address of a server. The token is sent in a header only, because addresses appear in logs.
func newAPI(server kernel.Server) (*api, error) {
	u, err := url.Parse(server.URL)
	if err != nil {
		return nil, fmt.Errorf("address of the Jupyter server: %w", err)
	}
	shown := u.Redacted()
	switch {
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("address of the Jupyter server: %q is no http or https URL", shown)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("address of the Jupyter server: it must have no user, no query and no fragment; set the token in JUPYTER_TOKEN")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("address of the Jupyter server: %s would send the token and all code in the clear; use https", shown)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: requestLimit}).DialContext,
		TLSHandshakeTimeout: requestLimit, Protocols: new(http.Protocols),
	}
	transport.Protocols.SetHTTP1(true) // a WebSocket needs HTTP/1.1
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &api{base: u, token: server.Token, client: client}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (a *api) header() http.Header {
	h := http.Header{"Accept": {"application/json"}}
	if a.token != "" {
		h.Set("Authorization", "token "+a.token)
	}
	return h
}

// call sends a request, and decodes the answer into result unless that is nil.
func (a *api) call(ctx context.Context, method string, body, result any, path ...string) error {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	address := a.base.JoinPath(append([]string{"api"}, path...)...)
	request, err := http.NewRequestWithContext(limited, method, address.String(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header = a.header()
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the Jupyter server: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("ask the Jupyter server: %w", err)
	case response.StatusCode >= 300:
		return a.refusal(method+" "+address.Path, response, answer)
	case len(answer) > maxAnswer:
		return fmt.Errorf("ask the Jupyter server: its answer has more than %d MiB", maxAnswer>>20)
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("%s: the answer of %s is not that of a Jupyter server: %w", address.Path, a.base.Host, err)
	}
	return nil
}

// refusal is the error of an answer that is no success.
func (a *api) refusal(what string, response *http.Response, answer []byte) error {
	code := response.StatusCode
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if a.token == "" {
			return fmt.Errorf("the Jupyter server at %s wants a token (%d); set JUPYTER_TOKEN", a.base, code)
		}
		return fmt.Errorf("the Jupyter server at %s refuses the token in JUPYTER_TOKEN (%d)", a.base, code)
	case code == http.StatusNotFound && strings.Contains(what, "/kernels/"):
		return errNotFound
	case code == http.StatusNotFound:
		return fmt.Errorf("%s: 404 not found: is %s the address of a Jupyter server, with its base path?", what, a.base)
	case code >= 300 && code < 400:
		return fmt.Errorf("%s: the server redirects (%d), which pawl does not follow with a token: set the address of the server itself", what, code)
	}
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &said) != nil || said.Message == "" {
		said.Message = http.StatusText(code)
	}
	return fmt.Errorf("%s: the Jupyter server answers %d: %s", what, code, oneline.Clip(oneline.Printable(said.Message), 300))
}

// kernelSpecs is the answer to a request for the kernelspecs.
type kernelSpecs struct {
	Default string `json:"default"`
	Specs   map[string]struct {
		Spec struct {
			DisplayName string `json:"display_name"`
			Language    string `json:"language"`
		} `json:"spec"`
	} `json:"kernelspecs"`
}

// choose returns the name and the display name of the kernelspec.
func (a *api) choose(ctx context.Context, name string) (kernel.Info, error) {
	var all kernelSpecs
	if err := a.call(ctx, http.MethodGet, nil, &all, "kernelspecs"); err != nil {
		return kernel.Info{}, err
	}
	if name == "" {
		name = all.Default
	}
	found, ok := all.Specs[name]
	if !ok {
		var names []string
		for name := range all.Specs {
			names = append(names, name)
		}
		slices.Sort(names)
		return kernel.Info{}, fmt.Errorf("the Jupyter server at %s has no kernelspec %q; it has: %s", a.base, name, strings.Join(names, ", "))
	}
	return kernel.Info{
		Driver: kernel.Remote, Name: name, DisplayName: found.Spec.DisplayName, Language: strings.ToLower(found.Spec.Language),
	}, nil
}

// model is a kernel on the server.
type model struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// connect opens the WebSocket to the channels of a kernel. With the same session as an earlier one, it gets what that one has missed.
func (a *api) connect(ctx context.Context, id, session string, subprotocols []string) (*websocket.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	address := a.base.JoinPath("api", "kernels", id, "channels")
	address.RawQuery = url.Values{"session_id": {session}}.Encode()
	conn, response, err := websocket.Dial(limited, address.String(), &websocket.DialOptions{
		HTTPClient: a.client, HTTPHeader: a.header(), Subprotocols: subprotocols,
	})
	switch {
	case err != nil && response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return nil, a.refusal("WebSocket "+address.Path, response, nil)
	case err != nil:
		return nil, fmt.Errorf("connect to the kernel: %w", err)
	}
	conn.SetReadLimit(maxMessage)
	return conn, nil
}
