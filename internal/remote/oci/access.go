package oci

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl/internal/command"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
	"pawl/internal/remote/request"
)

// access sends requests to a registry, with the credentials that it asks for.
type access struct {
	client *request.Client
	host   string
	plain  bool // the registry is reached without TLS
	getenv func(string) string

	mu     sync.Mutex // guards the rest
	header string     // of Authorization; replaced when the registry asks for another one
}

// do sends a request. If the registry asks for other credentials, it gets them and repeats the request once.
func (a *access) do(ctx context.Context, r request.Request) (*request.Answer, error) {
	a.mu.Lock()
	header := a.header
	a.mu.Unlock()
	answer, err := a.try(ctx, r, header)
	if err != nil || answer.Status != http.StatusUnauthorized {
		return answer, err
	}
	header, err = a.authorize(ctx, answer.Header.Values("WWW-Authenticate"))
	if err != nil || header == "" {
		return answer, err
	}
	a.mu.Lock()
	a.header = header
	a.mu.Unlock()
	return a.try(ctx, r, header)
}

func (a *access) try(ctx context.Context, r request.Request, header string) (*request.Answer, error) {
	if header != "" {
		r.Sign = func(request *http.Request) error { request.Header.Set("Authorization", header); return nil }
	}
	return a.client.Do(ctx, r)
}

// challenge matches a parameter of a WWW-Authenticate header.
var challenge = lazyregexp.New(`([a-z_]+)="([^"]*)"`)

// authorize returns the Authorization header that a challenge asks for; "" if there are no credentials for it.
func (a *access) authorize(ctx context.Context, challenges []string) (string, error) {
	who, err := a.credentials(ctx)
	if err != nil {
		return "", err
	}
	for _, text := range challenges {
		scheme, rest, _ := strings.Cut(text, " ")
		switch {
		case strings.EqualFold(scheme, "Basic") && who.name != "":
			return who.basic(), nil
		case strings.EqualFold(scheme, "Bearer"):
			parameters := map[string]string{}
			for _, m := range challenge.FindAllStringSubmatch(rest, -1) {
				parameters[m[1]] = m[2]
			}
			return a.token(ctx, who, parameters)
		}
	}
	return "", nil
}

// token gets a token from the server that a challenge names. The registry chooses that server, as the protocol has it; it gets only the
// credentials of this registry.
func (a *access) token(ctx context.Context, who login, parameters map[string]string) (string, error) {
	realm, err := url.Parse(parameters["realm"])
	if err != nil {
		return "", errors.New("the registry names an invalid server for tokens")
	}
	query := realm.Query()
	for _, name := range []string{"service", "scope"} {
		if parameters[name] != "" {
			query.Set(name, parameters[name])
		}
	}
	if realm.Scheme != "https" && !a.plain {
		return "", fmt.Errorf("the registry gets tokens from http://%s, which is not encrypted", realm.Host)
	}
	r := request.Request{Method: http.MethodGet, URL: realm, Limit: maxManifest}
	if who.refresh != "" {
		query.Set("grant_type", "refresh_token")
		query.Set("refresh_token", who.refresh)
		query.Set("client_id", "pawl")
		r.Method, r.Body, r.Header = http.MethodPost, []byte(query.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	} else {
		realm.RawQuery = query.Encode()
	}
	if who.name != "" {
		r.Sign = func(request *http.Request) error { request.Header.Set("Authorization", who.basic()); return nil }
	}
	answer, err := a.client.Do(ctx, r)
	if err != nil {
		return "", err
	}
	if !answer.OK() {
		return "", fmt.Errorf("get a token for the registry: %w", &request.StatusError{Host: realm.Host, Status: answer.Status})
	}
	var got struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(answer.Body, &got); err != nil || got.Token+got.AccessToken == "" {
		return "", errors.New("get a token for the registry: invalid answer")
	}
	return "Bearer " + cmp.Or(got.Token, got.AccessToken), nil
}

// login is how the user logs in to a registry.
type login struct{ name, password, refresh string }

func (l login) basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(l.name+":"+l.password))
}

// settings are those of docker, in config.json. Podman and oras use the same form.
type settings struct {
	Auths   map[string]stored `json:"auths"`
	Helpers map[string]string `json:"credHelpers"` // by registry
	Store   string            `json:"credsStore"`
}

type stored struct {
	Auth          string `json:"auth"`
	Username      string `json:"username"`
	Password      string `json:"password"`
	IdentityToken string `json:"identitytoken"`
}

const maxSettings = 1 << 20

// credentials returns the user's login for the registry; the zero login if there is none.
func (a *access) credentials(ctx context.Context) (login, error) {
	for _, path := range a.files() {
		data, err := disk.ReadFile(path, maxSettings)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return login{}, fmt.Errorf("credentials of registries: %w", err)
		}
		var s settings
		if err := json.Unmarshal(data, &s); err != nil {
			return login{}, fmt.Errorf("credentials of registries: %s is invalid", path)
		}
		found, err := a.in(ctx, s)
		if err != nil || found != (login{}) {
			return found, err
		}
	}
	return login{}, nil
}

// files returns where docker and podman store credentials.
func (a *access) files() []string {
	files := []string{filepath.Join(cmp.Or(a.getenv("DOCKER_CONFIG"), filepath.Join(a.getenv("HOME"), ".docker")), "config.json")}
	if runtime := a.getenv("XDG_RUNTIME_DIR"); runtime != "" {
		files = append(files, filepath.Join(runtime, "containers", "auth.json"))
	}
	if path := a.getenv("REGISTRY_AUTH_FILE"); path != "" {
		return []string{path}
	}
	return files
}

// names returns the names that a registry has in settings.
func (a *access) names() []string {
	if a.host == dockerHub {
		return []string{"https://index.docker.io/v1/", dockerHub, "index.docker.io"}
	}
	return []string{a.host, "https://" + a.host, "https://" + a.host + "/", "http://" + a.host}
}

func (a *access) in(ctx context.Context, s settings) (login, error) {
	for _, name := range a.names() {
		if helper := s.Helpers[name]; helper != "" {
			return a.ask(ctx, helper, name)
		}
	}
	for _, name := range a.names() {
		if found, ok := s.Auths[name]; ok && found != (stored{}) {
			return found.login()
		}
	}
	if s.Store != "" {
		return a.ask(ctx, s.Store, a.names()[0])
	}
	return login{}, nil
}

func (s stored) login() (login, error) {
	if s.Auth == "" {
		return login{s.Username, s.Password, s.IdentityToken}, nil
	}
	text, err := base64.StdEncoding.DecodeString(s.Auth)
	name, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok {
		return login{}, errors.New("credentials of registries: invalid auth")
	}
	return login{name, strings.TrimRight(password, "\x00"), s.IdentityToken}, nil
}

// ask asks a program of the user's, docker-credential-HELPER, for the credentials of a registry.
func (a *access) ask(ctx context.Context, helper, name string) (login, error) {
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	out, err := command.Run(ctx, command.Command{
		Args: []string{"docker-credential-" + helper, "get"}, Environ: os.Environ(), Input: []byte(name), MaxOutput: maxSettings, MaxError: 500,
	})
	if _, failed := errors.AsType[*exec.ExitError](err); failed { // so it says that it has none
		return login{}, nil
	}
	if err != nil {
		return login{}, fmt.Errorf("ask docker-credential-%s: %w", helper, err)
	}
	var said struct{ Username, Secret string }
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		return login{}, fmt.Errorf("ask docker-credential-%s: invalid answer", helper)
	}
	if said.Username == "<token>" {
		return login{refresh: said.Secret}, nil
	}
	return login{name: said.Username, password: said.Secret}, nil
}
