package config

import (
	"net"
	"net/netip"
	"slices"
	"strconv"

	"pawl"
)

// Temporal says which queues are carried by a Temporal server, and how to reach it. It counts only in the user's own settings.
type Temporal struct {
	Address   string   `yaml:"address,omitempty"`   // host:port. Defaults to none: no queue is carried by Temporal.
	Namespace string   `yaml:"namespace,omitempty"` // Defaults to default.
	Queues    []string `yaml:"queues,omitempty"`    // carried by Temporal. Defaults to all.

	Plaintext  bool   `yaml:"plaintext,omitempty"`    // without TLS, also to another machine. Defaults to false: only to this machine.
	ServerName string `yaml:"server_name,omitempty"`  // in the certificate of the server. Defaults to the host.
	CAFile     string `yaml:"ca_file,omitempty"`      // certificates that sign the server's. Defaults to those of the system.
	CertFile   string `yaml:"cert_file,omitempty"`    // certificate of the client, in PEM. Defaults to none.
	KeyFile    string `yaml:"key_file,omitempty"`     // its key
	APIKeyFile string `yaml:"api_key_file,omitempty"` // an API key, instead of a certificate. Defaults to none.
}

// Carries reports whether a queue is carried by Temporal.
func (t *Temporal) Carries(queue string) bool {
	return t.Address != "" && (len(t.Queues) == 0 || slices.Contains(t.Queues, queue))
}

// Encrypted reports whether the connection uses TLS.
func (t *Temporal) Encrypted() bool {
	return !t.Plaintext && (!loopback(t.Address) || t.CAFile != "" || t.CertFile != "" || t.ServerName != "")
}

// given reports whether anything is set.
func (t *Temporal) given() bool {
	return t.Address != "" || t.Namespace != "" || len(t.Queues) > 0 || t.Plaintext || t.ServerName != "" || t.CAFile != "" || t.CertFile != "" || t.KeyFile != "" || t.APIKeyFile != ""
}

// check reports what does not fit together.
func (t *Temporal) check(wrong func(pointer any, format string, args ...any)) {
	if !t.given() {
		return
	}
	if t.Address == "" {
		wrong(t, `"temporal" needs "address", host:port of a server`)
		return
	}
	host, port, err := net.SplitHostPort(t.Address)
	if number, errPort := strconv.ParseUint(port, 10, 16); err != nil || errPort != nil || host == "" || number == 0 {
		wrong(&t.Address, "invalid address %q of a server; use a form such as temporal.example.com:7233", t.Address)
		return
	}
	for i, queue := range t.Queues {
		if _, err := pawl.ParseStepID(queue); err != nil { // the same letters
			wrong(&t.Queues[i], "invalid queue %q: use 1 to 64 letters, digits, '.', '_' or '-'", queue)
		}
	}
	if t.Plaintext && (t.ServerName != "" || t.CAFile != "" || t.CertFile != "") {
		wrong(&t.Plaintext, `"plaintext" is without TLS, so there is no certificate`)
	}
	if (t.CertFile != "") != (t.KeyFile != "") {
		wrong(t, `a certificate of the client needs "cert_file" and "key_file"`)
	}
	if t.APIKeyFile != "" && !loopback(t.Address) && !t.Encrypted() {
		wrong(&t.APIKeyFile, `an API key needs TLS, unless the server is on this machine`)
	}
}

// loopback reports whether an address is one of this machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
