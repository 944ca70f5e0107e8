package config

import (
	"os"
	"path/filepath"
	"slices"

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
	if c.Traces.Endpoint != "" || len(c.Traces.Headers) > 0 {
		wrong(&c.Traces, `"traces" counts only in your own settings`)
	}
	if c.Mirrors != (Mirrors{}) {
		wrong(&c.Mirrors, `"mirrors" counts only in your own settings`)
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
