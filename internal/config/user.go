package config

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/redact"
	"pawl/internal/userdir"
)

// Agents says which commands attached agents may use, in addition to those that they may use anyway. It counts only in the user's
// own settings.
type Agents struct {
	Allow  []string `yaml:"allow,omitempty"`  // commands for persons that agents may use too. Defaults to none.
	Refuse []string `yaml:"refuse,omitempty"` // commands that agents may not use. Defaults to none.
}

// Mirrors says what counts of what others write into the files of another system. It counts only in the user's own
// settings.
type Mirrors struct {
	Answers  bool   `yaml:"answers,omitempty"`  // answers to gates in mirrored files count as the user's. Defaults to false.
	Database string `yaml:"database,omitempty"` // the SQLite database or SQL dump of projectstate: absolute, or relative to each project; or "postgres:". Defaults to none.
}

// GatePolicy says who may answer gates. It counts only in the user's own settings.
type GatePolicy string

// ServerOnly accepts answers to gates, reviews and other words of a person only from clients of `pawl serve`.
const ServerOnly GatePolicy = "server-only"

// Remotes says how remotes are reached. It counts only in the user's own settings.
type Remotes struct {
	AllowHTTP []string `yaml:"allow_http,omitempty"` // hosts, with their ports, that are reached without TLS. Defaults to none.
}

// Proxy says how a proxy in front of `pawl serve --behind-proxy` names the clients. It counts only in the user's own settings.
type Proxy struct {
	Peers  []string            `yaml:"peers,omitempty"`  // addresses from which the proxy connects, such as 10.0.0.2 or 10.0.0.0/24
	Header string              `yaml:"header,omitempty"` // has the name of the client, such as X-Forwarded-User
	Users  map[string][]string `yaml:"users,omitempty"`  // rights of each client, by name
}

// ParsePeer reads an address, or a range of addresses.
func ParsePeer(text string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Masked() == prefix {
		return prefix, nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" || addr.Is4In6() {
		return netip.Prefix{}, fmt.Errorf("invalid peer %q; use a form such as 10.0.0.2 or 10.0.0.0/24", text)
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// ownHeaders are headers with another meaning than the name of a client.
var ownHeaders = []string{"authorization", "cookie", "host", "origin", "pawl-key", "forwarded", "x-forwarded-for", "idempotency-key", "if-match"}

// check reports what does not fit together.
func (p *Proxy) check(wrong func(pointer any, format string, args ...any)) {
	for _, peer := range p.Peers {
		if _, err := ParsePeer(peer); err != nil {
			wrong(&p.Peers, "%v", err)
		}
	}
	if (p.Header != "") != (len(p.Peers) > 0) || (p.Header != "") != (len(p.Users) > 0) {
		wrong(p, `"proxy" needs peers, header and users`)
	}
	name := strings.ToLower(p.Header)
	if slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "sec-") || strings.ContainsFunc(name, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		wrong(&p.Header, "%q cannot be the header with the name of a client", p.Header)
	}
}

// Traces says where the traces of runs are sent. It counts only in the user's own settings.
type Traces struct {
	Endpoint string            `yaml:"endpoint,omitempty"` // of an OpenTelemetry collector, for OTLP over HTTP, without /v1/traces. Defaults to none.
	Headers  map[string]string `yaml:"headers,omitempty"`  // sent with the traces, such as a key. Defaults to none.
}

// DatabaseIn returns the absolute path of the database of a project; "" for none.
func (m Mirrors) DatabaseIn(root string) string {
	if m.Database == "" || filepath.IsAbs(m.Database) {
		return m.Database
	}
	return filepath.Join(root, m.Database)
}

// PostgresVariable is the environment variable with the DSN of the database for runs. No step inherits it.
const PostgresVariable = redact.StoreVariable

// Postgres returns the DSN of the database for runs: that of the environment, else that of the user's own settings; "" for none. A file
// in the project at root does not count.
func Postgres(getenv func(string) string, root string) (dsn string, err error) {
	if dsn := getenv(PostgresVariable); dsn != "" {
		return dsn, nil
	}
	user, err := ReadUserOf(getenv, root)
	return user.Postgres, err
}

// ReadUser returns the user's own settings, as the environment of this process names them. A file in the project at root has none.
func ReadUser(root string) (Config, error) { return ReadUserOf(os.Getenv, root) }

// ReadUserOf is ReadUser for another environment.
func ReadUserOf(getenv func(string) string, root string) (Config, error) {
	path, err := userdir.ConfigOf(getenv, "config.yaml")
	if err != nil || root != "" && userdir.Within(path, root) {
		return Config{}, nil // without a folder of the user's there are no settings
	}
	return read(path, true)
}

// checkUser reports settings that count only in the user's own file.
func (c *Config) checkUser(wrong func(pointer any, format string, args ...any)) {
	if len(c.Agents.Allow)+len(c.Agents.Refuse) > 0 {
		wrong(&c.Agents, `"agents" counts only in your own settings`)
	}
	if len(c.Notify) > 0 {
		wrong(&c.Notify, `"notify" counts only in your own settings`)
	}
	if len(c.Webhooks) > 0 {
		wrong(&c.Webhooks, `"webhooks" counts only in your own settings`)
	}
	if c.Postgres != "" {
		wrong(&c.Postgres, `"postgres" counts only in your own settings`)
	}
	if c.TakeOver != 0 {
		wrong(&c.TakeOver, `"take_over" counts only in your own settings`)
	}
	if c.Temporal.given() {
		wrong(&c.Temporal, `"temporal" counts only in your own settings`)
	}
	if c.Traces.Endpoint != "" || len(c.Traces.Headers) > 0 {
		wrong(&c.Traces, `"traces" counts only in your own settings`)
	}
	if c.Mirrors != (Mirrors{}) {
		wrong(&c.Mirrors, `"mirrors" counts only in your own settings`)
	}
	if c.Proxy.Header != "" || len(c.Proxy.Peers)+len(c.Proxy.Users) > 0 {
		wrong(&c.Proxy, `"proxy" counts only in your own settings`)
	}
	if len(c.Remotes.AllowHTTP) > 0 {
		wrong(&c.Remotes, `"remotes" counts only in your own settings`)
	}
	if c.Gates != "" {
		wrong(&c.Gates, `"gates" counts only in your own settings`)
	}
	if c.RunAs != "" {
		wrong(&c.RunAs, `"run_as" counts only in your own settings`)
	}
}

// checkOwn reports invalid values of settings that count only in the user's own file.
func (c *Config) checkOwn(wrong func(pointer any, format string, args ...any)) {
	if verb := c.Agents.both(); verb != "" {
		wrong(&c.Agents, "%q is both allowed and refused", verb)
	}
	if c.Gates != "" && c.Gates != ServerOnly {
		wrong(&c.Gates, `invalid "gates": %q; expected %s`, c.Gates, ServerOnly)
	}
	c.Proxy.check(wrong)
	c.Temporal.check(wrong)
	if c.RunAs != "" && c.PIDNamespace {
		wrong(&c.RunAs, `"run_as" does not work with "pid_namespace"`)
	}
}

// both returns a command that is allowed and refused, "" for none.
func (a Agents) both() string {
	for _, verb := range a.Allow {
		if slices.Contains(a.Refuse, verb) {
			return verb
		}
	}
	return ""
}
