package stepenv

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// MaxNotify is the maximum number of notifications of a plan.
const MaxNotify = 20

// CheckNotify reports what is wrong with a list of notifications, and names those without a name. wrong reports an error in the value
// that a pointer refers to.
func CheckNotify(list []pawl.Notify, wrong func(pointer any, format string, args ...any)) {
	if len(list) > MaxNotify {
		wrong(&list[MaxNotify], "there are %d notifications; the maximum is %d", len(list), MaxNotify)
	}
	names := map[string]bool{}
	for i := range list {
		n := &list[i]
		switch {
		case n.Name == "" && n.Webhook != nil:
			n.Name = fmt.Sprintf("webhook-%d", i+1)
		case n.Name == "":
			n.Name = fmt.Sprintf("command-%d", i+1)
		default:
			if _, err := pawl.ParseStepID(n.Name); err != nil {
				wrong(&n.Name, "invalid name %q of a notification: use 1 to 64 letters, digits, '.', '_' or '-'", n.Name)
			}
		}
		if names[n.Name] {
			wrong(n, "duplicate notification %q; change its name", n.Name)
		}
		names[n.Name] = true
		checkKinds(n, wrong)
		checkReceiver(n, wrong)
	}
}

func checkKinds(n *pawl.Notify, wrong func(pointer any, format string, args ...any)) {
	words := make([]string, len(pawl.NoticeKinds))
	for i, kind := range pawl.NoticeKinds {
		words[i] = string(kind)
	}
	if len(n.On) == 0 {
		wrong(&n.On, `"on" is empty; list some of %s`, strings.Join(words, ", "))
	}
	seen := map[pawl.NoticeKind]bool{}
	for i, kind := range n.On {
		switch {
		case !slices.Contains(pawl.NoticeKinds, kind):
			wrong(&n.On[i], "unknown kind of notification %q; %s", kind, strictyaml.DidYouMean(string(kind), words))
		case seen[kind]:
			wrong(&n.On[i], "duplicate kind %q", kind)
		}
		seen[kind] = true
	}
}

// ownHeaders are the headers that pawl sets itself, in lower case.
var ownHeaders = []string{"content-type", "content-length", "host", "idempotency-key", "transfer-encoding", "connection"}

func checkReceiver(n *pawl.Notify, wrong func(pointer any, format string, args ...any)) {
	switch {
	case n.Webhook == nil && strings.TrimSpace(n.Command) == "":
		wrong(n, `a notification needs a "command" or a "webhook"`)
	case n.Webhook != nil && n.Command != "":
		wrong(&n.Command, `a notification has a "command" or a "webhook", not both; split it`)
	case n.Webhook == nil && len(n.Headers) > 0:
		wrong(&n.Headers, `"headers" requires "webhook"; remove it`)
	case n.Webhook != nil:
		if err := checkURL(n.Webhook.Value); err != nil {
			wrong(n.Webhook, "%v", err)
		}
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(n.Headers)) {
		at, folded := strictyaml.Entry{Of: &n.Headers, Key: name}, strings.ToLower(name)
		value := n.Headers[name].Value
		switch _, err := Parse(value); {
		case !headerName(name):
			wrong(at, "invalid header name %q; use letters, digits and '-'", name)
		case slices.Contains(ownHeaders, folded):
			wrong(at, "pawl sets the header %s itself; remove it", name)
		case seen[folded]:
			wrong(at, "duplicate header %q; names of headers ignore case", name)
		case err != nil:
			wrong(at, "header %s: %v", name, err)
		case strings.ContainsAny(value, "\r\n"):
			wrong(at, "header %s: a value must be a single line", name)
		}
		seen[folded] = true
	}
}

// checkURL checks a webhook. What has references is checked when it is used.
func checkURL(text string) error {
	t, err := Parse(text)
	if err != nil {
		return err
	}
	if names, _ := t.Names(); len(names)+len(t.Expressions()) > 0 {
		return nil
	}
	text, err = t.Expand(nil)
	if err != nil {
		return err
	}
	return CheckWebhook(text)
}

func headerName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// webhookName stands for a webhook's URL among its headers, whose names have no space.
const webhookName = "webhook URL"

// addresses returns the values of a notification that may refer to variables: the webhook's URL and its headers.
func addresses(n *pawl.Notify) pawl.Env {
	all := maps.Clone(n.Headers)
	if n.Webhook != nil {
		if all == nil {
			all = pawl.Env{}
		}
		all[webhookName] = *n.Webhook
	}
	return all
}

// resolveNotify returns the list with the known values in place of references and expressions.
func resolveNotify(list []pawl.Notify, known, values map[string]pawl.Given) []pawl.Notify {
	resolved := slices.Clone(list)
	for i := range resolved {
		n := &resolved[i]
		n.Headers = resolveEnv(n.Headers, known, values)
		if n.Webhook != nil {
			n.Webhook = new(resolveEnv(pawl.Env{webhookName: *n.Webhook}, known, values)[webhookName])
		}
	}
	return resolved
}

// Address returns the URL and the headers of a notification of a resolved plan.
func (s Secrets) Address(n *pawl.Notify) (webhook string, headers map[string]string, err error) {
	return address(n, true, func(name string) (string, bool) {
		value, has := s.Env[name]
		return value, has
	})
}

// AddressFor is Address for a notification of the user's settings, with the variables of environ.
func AddressFor(n *pawl.Notify, environ []string) (webhook string, headers map[string]string, err error) {
	return address(n, false, func(name string) (string, bool) {
		for _, v := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	})
}

// address expands the values of a notification. In a resolved plan, only those marked as secret still have references.
func address(n *pawl.Notify, resolved bool, lookup func(string) (string, bool)) (webhook string, headers map[string]string, err error) {
	expand := func(v pawl.Variable) (string, error) {
		if resolved && !v.Secret {
			return v.Value, nil
		}
		t, err := Parse(v.Value)
		if err != nil {
			return "", err
		}
		return t.Expand(lookup)
	}
	headers = map[string]string{}
	for name, v := range n.Headers {
		if headers[name], err = expand(v); err != nil {
			return "", nil, fmt.Errorf("header %s: %w", name, err)
		}
	}
	if n.Webhook == nil {
		return "", headers, nil
	}
	if webhook, err = expand(*n.Webhook); err == nil {
		err = CheckWebhook(webhook)
	}
	return webhook, headers, err
}

// CheckWebhook returns an error for a URL to which pawl sends no notices: they go by https, or to this machine.
func CheckWebhook(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("a webhook must be a URL such as https://example.com/hook")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("a webhook must use https; http is only for this machine, such as http://localhost:8080")
	case u.User != nil:
		return errors.New("a webhook must have no user and password in its URL; use headers: {Authorization: $TOKEN}")
	}
	return nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
