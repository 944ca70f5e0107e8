package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/project"
)

// TestUsersSettings reads the settings of a project without a file: every setting of the user's own file counts.
func TestUsersSettings(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PAWL_STATE", filepath.Join(dir, "state"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "settings"))
	const own = `
parallel: 3
output_cap: 1KiB
heartbeat: 1m
warning: 2m
stalled: 3m
pid_namespace: true
snapshots: {quota: 2KiB, ignore: [x], derived: true, off: true, every: 1m}
evaluator: {provider: command, command: judge}
notify: [{on: [gate], command: call}]
traces: {endpoint: "http://localhost:4318", headers: {Authorization: key}}
temporal: {address: "127.0.0.1:7233", queues: [gpu]}
`
	for path, text := range map[string]string{"settings/pawl/config.yaml": own, "work/file": ""} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.Init(filepath.Join(dir, "work"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Parallel: 3, OutputCap: 1 << 10, Heartbeat: pawl.Duration(time.Minute), Warning: pawl.Duration(2 * time.Minute), Stalled: pawl.Duration(3 * time.Minute),
		PIDNamespace: true,
		Snapshots:    config.Snapshots{Quota: 2 << 10, Ignore: []string{"x"}, Derived: true, Off: true, Every: pawl.Duration(time.Minute)},
		Evaluator:    config.Evaluator{Provider: config.Command, Command: "judge"},
		Notify:       []pawl.Notify{{Name: "command-1", On: []pawl.NoticeKind{pawl.NoticeGate}, Command: "call"}},
		Traces:       config.Traces{Endpoint: "http://localhost:4318", Headers: map[string]string{"Authorization": "key"}},
		Temporal:     config.Temporal{Address: "127.0.0.1:7233", Queues: []string{"gpu"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestUsersFaults reads invalid values of settings that only the user's own file has.
func TestUsersFaults(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	for text, want := range map[string]string{
		"gates: anybody":                                                              `invalid "gates": "anybody"; expected server-only`,
		"run_as: agent\npid_namespace: true":                                          `"run_as" does not work with "pid_namespace"`,
		"proxy: {header: X-User}":                                                     `"proxy" needs peers, header and users`,
		"proxy: {peers: [\"::1\"], users: {ann: [read]}}":                             `"proxy" needs peers, header and users`,
		"proxy: {peers: [10.0.0.1/8], header: X-User, users: {ann: [read]}}":          `invalid peer "10.0.0.1/8"`,
		"proxy: {peers: [proxy.example.com], header: X-User, users: {ann: [read]}}":   `invalid peer "proxy.example.com"`,
		"proxy: {peers: [10.0.0.1], header: Authorization, users: {ann: [read]}}":     `"Authorization" cannot be the header`,
		"proxy: {peers: [10.0.0.1], header: \"X User\", users: {ann: [read]}}":        `"X User" cannot be the header`,
		"proxy: {peers: [10.0.0.1], header: Sec-Fetch-Site, users: {ann: [read]}}":    `"Sec-Fetch-Site" cannot be the header`,
		"proxy: {peers: [10.0.0.1], header: X-Forwarded-For, users: {ann: [read]}}":   `"X-Forwarded-For" cannot be the header`,
		"proxy: {peers: [10.0.0.1], header: X-User, users: {ann: [read]}, secret: x}": `unknown key "secret"`,
		"temporal: {queues: [gpu]}":                                                   `"temporal" needs "address"`,
		"temporal: {address: temporal.example.com}":                                   `invalid address "temporal.example.com" of a server`,
		"temporal: {address: \"127.0.0.1:7233\", queues: [a b]}":                      `invalid queue "a b"`,
		"temporal: {address: \"t:7233\", plaintext: true, api_key_file: key}":         `an API key needs TLS`,
		"temporal: {address: \"t:7233\", cert_file: cert.pem}":                        `needs "cert_file" and "key_file"`,
		"temporal: {address: \"t:7233\", plaintext: true, ca_file: ca.pem}":           `"plaintext" is without TLS`,
	} {
		path := filepath.Join(dir, "pawl/config.yaml")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got, err := config.ReadUser(""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, got, err, want)
		}
	}
}

// TestTemporal: which queues Temporal carries, and when the connection is encrypted.
func TestTemporal(t *testing.T) {
	t.Parallel()
	some := config.Temporal{Address: "t.example.com:7233", Queues: []string{"gpu"}}
	all := config.Temporal{Address: "127.0.0.1:7233"}
	if !some.Carries("gpu") || some.Carries("cpu") || !all.Carries("cpu") || new(config.Temporal).Carries("cpu") {
		t.Error("carries the wrong queues")
	}
	for want, list := range map[bool][]config.Temporal{
		true:  {some, {Address: "[2001:db8::1]:7233"}, {Address: "127.0.0.1:7233", CAFile: "ca.pem"}, {Address: "localhost.example.com:1"}},
		false: {all, {Address: "localhost:7233"}, {Address: "[::1]:7233"}, {Address: "t.example.com:7233", Plaintext: true}},
	} {
		for _, c := range list {
			if c.Encrypted() != want {
				t.Errorf("%+v: encrypted %v", c, !want)
			}
		}
	}
}
