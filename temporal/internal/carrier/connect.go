// Package carrier carries tasks by Temporal: one standalone activity for each attempt.
//
// The ID of the activity is that of the task, which contains the token of the attempt. Temporal starts an ID once, and tries an activity
// once. So an attempt reaches at most one worker, and whoever knows the ID joins it. An activity has no workflow. Its input is the task
// and its result the report of the worker, both less than 64 KB; bytes travel by the remote.
//
// The heartbeat timeout of the activity is the lease of the task. Temporal reports an activity without heartbeats as timed out, and the
// carrier reports it as lost. It is never started again.
package carrier

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/internal/userdir"
)

// ActivityType is the type of the activities, with the format of their input.
const ActivityType = "pawl.attempt.v1"

// DefaultNamespace is the namespace that Temporal creates itself.
const DefaultNamespace = "default"

// oldest is the first version of the server that has standalone activities.
const oldest = "1.31"

// callLimit is the longest time of a call that does not wait.
const callLimit = 10 * time.Second

// Connect returns a client of the server in the user's settings. It connects on the first use, and again after the server was away. The
// server shows people the identity of a client.
func Connect(c config.Temporal, identity string) (client.Client, error) {
	options := client.Options{
		HostPort: c.Address, Namespace: cmp.Or(c.Namespace, DefaultNamespace), Identity: identity, Logger: silent{}, DisableWorkerEnvironmentInfo: true,
	}
	options.ConnectionOptions.TLSDisabled = !c.Encrypted()
	if c.Encrypted() {
		settings, err := tlsOf(c)
		if err != nil {
			return nil, err
		}
		options.ConnectionOptions.TLS = settings
	}
	if c.APIKeyFile != "" {
		key, err := readFile(c.APIKeyFile)
		if err != nil {
			return nil, err
		}
		options.Credentials = client.NewAPIKeyStaticCredentials(strings.TrimSpace(string(key)))
	}
	return client.NewLazyClient(options)
}

func tlsOf(c config.Temporal) (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if c.CAFile != "" {
		data, err := readFile(c.CAFile)
		if err != nil {
			return nil, err
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(data) {
			return nil, usage("temporal: no certificate in ca_file %s", c.CAFile)
		}
	}
	if c.CertFile != "" {
		cert, err := readFile(c.CertFile)
		if err != nil {
			return nil, err
		}
		key, err := readFile(c.KeyFile)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, usage("temporal: cert_file and key_file: %v", err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings, nil
}

// readFile reads a file that the user's settings name: absolute, or relative to their folder.
func readFile(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		var err error
		if path, err = userdir.Config(path); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("temporal: %v", err)
	}
	return data, nil
}

// Check returns an error that says what is wrong, if the server does not have what pawl needs, or does not answer.
func Check(ctx context.Context, c client.Client, settings config.Temporal) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	system, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return explain(err, settings)
	}
	namespace := cmp.Or(settings.Namespace, DefaultNamespace)
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return explain(err, settings)
	}
	if !described.GetNamespaceInfo().GetCapabilities().GetStandaloneActivities() {
		return &pawl.Error{
			Kind: pawl.KindUsage,
			Err: fmt.Errorf("the Temporal server at %s has version %s and no standalone activities in namespace %s; pawl needs Temporal %s or newer, with activity.enableStandalone on",
				settings.Address, system.GetServerVersion(), namespace, oldest),
			Hint: "update the server, or turn on activity.enableStandalone in its dynamic configuration",
		}
	}
	return nil
}

// explain names the server in an error of a call, and says what to do where that is known.
func explain(err error, settings config.Temporal) error {
	if Away(err) {
		return fmt.Errorf("the Temporal server at %s: %w: %w", settings.Address, dispatch.ErrUnreachable, err)
	}
	text := fmt.Errorf("the Temporal server at %s: %w", settings.Address, err)
	namespace := cmp.Or(settings.Namespace, DefaultNamespace)
	switch {
	case is[*serviceerror.Unimplemented](err):
		return &pawl.Error{Kind: pawl.KindUsage, Err: text, Hint: "update the server: pawl needs Temporal " + oldest + " or newer, with standalone activities"}
	case is[*serviceerror.NamespaceNotFound](err):
		return &pawl.Error{Kind: pawl.KindUsage, Err: text, Hint: "temporal operator namespace create --namespace " + namespace}
	}
	return text
}

// Away reports whether an error says that the server did not answer, or cannot at the moment. What was asked for may have been done.
func Away(err error) bool {
	return is[*serviceerror.Unavailable](err) || is[*serviceerror.DeadlineExceeded](err) || is[*serviceerror.ResourceExhausted](err) ||
		is[*serviceerror.Canceled](err) || is[*serviceerror.Aborted](err) || is[*serviceerror.Internal](err) || is[*serviceerror.NamespaceUnavailable](err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func usage(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...)}
}

// silent logs nothing: what matters is returned as an error.
type silent struct{}

var _ log.Logger = silent{}

// Debug does nothing.
func (silent) Debug(string, ...any) {}

// Info does nothing.
func (silent) Info(string, ...any) {}

// Warn does nothing.
func (silent) Warn(string, ...any) {}

// Error does nothing.
func (silent) Error(string, ...any) {}
