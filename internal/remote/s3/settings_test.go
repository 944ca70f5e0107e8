package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl/internal/remote/request"
	"pawl/internal/remote/s3"
)

// recorder answers every request, and remembers who signed it, for which region.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	signed []string
	sts    string // answer to a request for credentials
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch request.URL.Path {
		case "/sts":
			fmt.Fprint(w, r.sts)
		case "/container":
			if request.Header.Get("Authorization") == "a token" {
				fmt.Fprint(w, `{"AccessKeyId":"CONTAINER","SecretAccessKey":"s","Token":"t","Expiration":"2099-01-01T00:00:00Z"}`)
			}
		default:
			r.signed = append(r.signed, request.URL.Path+" "+request.Header.Get("Authorization")+" "+request.Header.Get("X-Amz-Security-Token"))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// TestCredentials: endpoint, region and credentials are found as the AWS CLI finds them.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const sts = "<A><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>WEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>" +
		"<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></A>"
	for name, c := range map[string]struct {
		environ             map[string]string
		config, credentials string
		want                string // part of the signature
	}{
		"variables":       {environ: map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "eu-west-1"}, want: "Credential=ENV/"},
		"region":          {environ: map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"}, config: "[default]\nregion = eu-north-1\n", want: "/eu-north-1/s3/"},
		"the usual file":  {credentials: "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n", want: "Credential=FILE/"},
		"another profile": {environ: map[string]string{"AWS_PROFILE": "work"}, credentials: "[default]\naws_access_key_id=NO\n[work]\naws_access_key_id=WORK\naws_secret_access_key=s\n", want: "Credential=WORK/"},
		"a program": {environ: map[string]string{"AWS_PROFILE": "work"}, want: "Credential=PROCESS/",
			config: "[profile work]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"PROCESS\",\"SecretAccessKey\":\"s\"}'\n"},
		"web identity": {environ: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/x"}, want: "Credential=WEB/"},
		"container":    {environ: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "a token"}, want: "Credential=CONTAINER/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, home := newRecorder(t), t.TempDir()
			r.sts = sts
			for file, content := range map[string]string{".aws/config": c.config, ".aws/credentials": c.credentials, "token": "a token"} {
				must(t, os.MkdirAll(filepath.Join(home, ".aws"), 0o700))
				must(t, os.WriteFile(filepath.Join(home, file), []byte(content), 0o600))
			}
			getenv := func(name string) string {
				switch name {
				case "HOME":
					return home
				case "AWS_ENDPOINT_URL":
					return r.URL
				case "AWS_ENDPOINT_URL_STS":
					return r.URL + "/sts"
				case "AWS_WEB_IDENTITY_TOKEN_FILE":
					if c.environ[name] != "" {
						return filepath.Join(home, c.environ[name])
					}
				case "AWS_CONTAINER_CREDENTIALS_FULL_URI":
					if c.environ[name] != "" {
						return r.URL + c.environ[name]
					}
				}
				return c.environ[name]
			}
			store, err := s3.Open(&url.URL{Scheme: "s3", Host: "bucket"}, request.New(nil), getenv)
			must(t, err)
			_, err = store.Get(t.Context(), "packs/a", 10)
			must(t, err)
			if len(r.signed) != 1 || !strings.Contains(r.signed[0], c.want) || !strings.HasPrefix(r.signed[0], "/bucket/packs/a AWS4-HMAC-SHA256 ") {
				t.Errorf("%v", r.signed)
			}
		})
	}
}

// TestRefusedSettings: credentials are sent only by https or to this machine, and what pawl cannot do is an error that says so.
func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ map[string]string
		config  string
		want    string
	}{
		"no TLS":            {environ: map[string]string{"AWS_ENDPOINT_URL": "http://storage.example.com"}, want: "not encrypted"},
		"no TLS, like ours": {environ: map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1.example.com"}, want: "not encrypted"},
		"user":              {environ: map[string]string{"AWS_ENDPOINT_URL": "https://user:hunter2@storage.example.com"}, want: "must not have credentials"},
		"other scheme":      {environ: map[string]string{"AWS_ENDPOINT_URL": "ftp://storage.example.com"}, want: "not an https URL"},
		"query":             {environ: map[string]string{"AWS_ENDPOINT_URL": "https://storage.example.com/?a=b"}, want: "URL of a server"},
		"region":            {environ: map[string]string{"AWS_REGION": "eu.example.com/"}, want: "invalid region"},
		"no credentials":    {environ: map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, want: "no credentials for S3"},
		"no secret":         {environ: map[string]string{"AWS_ACCESS_KEY_ID": "id"}, want: "has no secret"},
		"sign-in":           {config: "[default]\nsso_session = work\n", want: "let it pass credentials to pawl"},
		"another role":      {config: "[default]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = work\naws_access_key_id = id\naws_secret_access_key = s\n", want: "let it pass credentials to pawl"},
		"container":         {environ: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/"}, want: "not encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			must(t, os.Mkdir(filepath.Join(home, ".aws"), 0o700))
			must(t, os.WriteFile(filepath.Join(home, ".aws", "config"), []byte(c.config), 0o600))
			getenv := func(name string) string {
				if name == "HOME" {
					return home
				}
				return c.environ[name]
			}
			store, err := s3.Open(&url.URL{Scheme: "s3", Host: "bucket"}, request.New(nil), getenv)
			if err == nil {
				_, err = store.Get(t.Context(), "packs/a", 10)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	allowed := request.New([]string{"storage.example.com"})
	getenv := func(name string) string {
		return map[string]string{"AWS_ENDPOINT_URL": "http://storage.example.com"}[name]
	}
	if _, err := s3.Open(&url.URL{Scheme: "s3", Host: "bucket"}, allowed, getenv); err != nil {
		t.Errorf("allowed: %v", err)
	}
}

// FuzzSettings: files of settings are read without panics, and only sections of the profile count.
func FuzzSettings(f *testing.F) {
	f.Add("[default]\nregion = eu\n# x\n s3 =\n   a = b\n[other]\nregion = no\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		getenv := func(name string) string {
			return map[string]string{"AWS_CONFIG_FILE": path, "HOME": filepath.Dir(path), "AWS_ENDPOINT_URL_S3": "https://storage.example.com"}[name]
		}
		if _, err := s3.Open(&url.URL{Scheme: "s3", Host: "bucket"}, request.New(nil), getenv); err != nil && !strings.Contains(err.Error(), "invalid region") {
			t.Error(err)
		}
	})
}
