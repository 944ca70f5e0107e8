package stepenv_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/stepenv"
)

func TestCheckWebhook(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"https://example.com/hook?x=1", "https://[2001:db8::1]:8443/", "http://localhost:8080/x", "http://LOCALHOST", "http://127.0.0.1:1", "http://127.8.9.1/", "http://[::1]:80/x",
	} {
		if err := stepenv.CheckWebhook(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"": "must be a URL", "example.com": "must be a URL", "https://": "must be a URL", "ftp://example.com": "must be a URL", "file:///etc/passwd": "must be a URL",
		"unix:///run/x": "must be a URL", "https://exa mple.com": "must be a URL",
		"http://example.com": "must use https", "http://127.0.0.1.example.com": "must use https", "http://localhost.example.com": "must use https",
		"http://169.254.169.254/": "must use https", "http://0.0.0.0/": "must use https", "http://[::ffff:10.0.0.1]/": "must use https", "http://2130706433/": "must use https",
		"https://ann:pw@example.com": "no user and password", "http://ann@localhost": "no user and password",
	} {
		if err := stepenv.CheckWebhook(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
}

const notifying = `name: demo
env: {REGION: $REGION}
on_failure: {run: ./no, env: {WHERE: $REGION}}
notify:
  - {name: chat, on: [gate], webhook: $HOOK, headers: {Authorization: Bearer $SESAME, X-Region: $REGION, X-Team: docs}}
steps:
  - {id: a, run: "true"}
`

// TestAddressesAreSecrets: what a webhook and its headers refer to is never recorded, however harmless it looks.
func TestAddressesAreSecrets(t *testing.T) {
	t.Parallel()
	plan, file, err := planfile.ReadPositions("plan.yaml", []byte(notifying))
	if err != nil {
		t.Fatal(err)
	}
	source := stepenv.Source{
		Environ: []string{"REGION=eu", "HOOK=https://example.com/abc", "SESAME=open"},
		Key:     func() ([]byte, error) { return []byte("key"), nil },
	}
	c, err := source.Collect(plan, pawl.GivenValues{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HOOK", "SESAME", "REGION"} {
		if given := c.New.Env[name]; given.Hash == "" || given.Value != "" {
			t.Errorf("%s is recorded as %+v", name, given)
		}
	}
	resolved := stepenv.Resolve(plan, c.New)
	url, headers, err := c.Secrets.Address(&resolved.Notify[0])
	if err != nil || url != "https://example.com/abc" {
		t.Errorf("%q, %v", url, err)
	}
	if diff := cmp.Diff(map[string]string{"Authorization": "Bearer open", "X-Region": "eu", "X-Team": "docs"}, headers); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, secret, err := c.Secrets.Of(resolved, resolved.Step(pawl.OnFailure)); err != nil || secret["WHERE"] != "eu" {
		t.Errorf("the handler gets %v, %v", secret, err)
	}

	source.Environ, source.Resuming = []string{"REGION=eu", "SESAME=open"}, true
	if _, err := source.Collect(plan, c.New); err == nil || !strings.Contains(err.Error(), "HOOK") {
		t.Errorf("a resume without HOOK: %v", err)
	}
	err = planfile.MissingVariables("plan.yaml", plan, file, []string{"HOOK", "SESAME"})
	for _, want := range []string{"plan.yaml:5:39: variable HOOK is not set", "plan.yaml:5:56: variable SESAME is not set"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestAddressIsCheckedAgain: a variable may hold a URL that a plan may not have.
func TestAddressIsCheckedAgain(t *testing.T) {
	t.Parallel()
	n := pawl.Notify{Webhook: &pawl.Variable{Value: "$HOOK"}}
	if _, _, err := stepenv.AddressFor(&n, []string{"HOOK=http://example.com"}); err == nil || !strings.Contains(err.Error(), "must use https") {
		t.Errorf("plain http: %v", err)
	}
	if _, _, err := stepenv.AddressFor(&n, nil); err == nil || !strings.Contains(err.Error(), "HOOK is not set") {
		t.Errorf("without the variable: %v", err)
	}
	if url, _, err := stepenv.AddressFor(&n, []string{"HOOK=https://a.example", "HOOK=https://b.example"}); err != nil || url != "https://b.example" {
		t.Errorf("%q, %v", url, err)
	}
}
