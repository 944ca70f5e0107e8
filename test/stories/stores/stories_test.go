// Package stores has stories of remotes in an S3 server and in an OCI registry. `make test-remotes` installs both.
//
// Each story has a bucket and a repository of its own: $S3 and $OCI are their URLs.
package stores

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pawl/internal/remote/remotetest/servers"
	"pawl/test/stories/storytest"
)

var storage, registry *servers.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if storage, err = servers.S3(); err == nil {
		registry, err = servers.Registry()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := storytest.Main(m)
	if err := errors.Join(storage.Remove(), registry.Remove()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestScript(t *testing.T) {
	storytest.RunWith(t, func(env *testscript.Env) error {
		bucket, err := storage.Bucket()
		for name, value := range storage.Environ() {
			env.Setenv(name, value)
		}
		env.Setenv("S3", "s3://"+bucket+"/pawl")
		env.Setenv("OCI", "oci://"+registry.Address+"/"+registry.Repository())
		return err
	}, nil)
}
