// Package remotes checks remotes on servers that others wrote. `make test-remotes` installs them.
package remotes

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"

	"pawl/internal/remote"
	"pawl/internal/remote/oci"
	"pawl/internal/remote/remotetest"
	"pawl/internal/remote/remotetest/servers"
	"pawl/internal/remote/request"
	"pawl/internal/remote/s3"
)

var storage, registry *servers.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if storage, err = servers.S3(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if registry, err = servers.Registry(); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, storage.Remove()))
		return 1
	}
	code := m.Run()
	if err := errors.Join(storage.Remove(), registry.Remove()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func openS3(t *testing.T, bucket, prefix string) remote.Store {
	t.Helper()
	environ := storage.Environ()
	s, err := s3.Open(&url.URL{Scheme: "s3", Host: bucket, Path: prefix}, request.New(nil), func(name string) string { return environ[name] })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestS3(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "/runs/of/us"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			bucket, err := storage.Bucket()
			if err != nil {
				t.Fatal(err)
			}
			remotetest.Run(t, func(t *testing.T) remote.Store { return openS3(t, bucket, prefix) })
		})
	}
}

// TestRegistry: docker-registry ignores conditions.
func TestRegistry(t *testing.T) {
	t.Parallel()
	repository := registry.Repository()
	remotetest.RunUnconditional(t, func(t *testing.T) remote.Store {
		s, err := oci.Open(&url.URL{Scheme: "oci", Host: registry.Address, Path: "/" + repository}, request.New(nil), func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
