// Package servers starts servers that store remotes, for tests and benchmarks: an S3 server, and an OCI registry.
package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// A Server is a server on a loopback address that stores files in a temporary folder.
type Server struct {
	Address string // host and port
	Folder  string

	program string
	args    []string
	process *exec.Cmd
	ended   chan error
	names   atomic.Int64
}

// The credentials of the S3 server.
const (
	Key    = "pawl-test"
	Secret = "pawl-test-secret"
)

// S3 starts versitygw, which `make test-remotes` installs.
func S3() (*Server, error) {
	return start("versitygw", func(s *Server) ([]string, error) {
		data := filepath.Join(s.Folder, "data")
		return []string{"--port", s.Address, "--access", Key, "--secret", Secret, "--quiet", "posix", data}, os.Mkdir(data, 0o700)
	})
}

// Bucket makes a bucket of the S3 server, and returns its name.
func (s *Server) Bucket() (string, error) {
	name := fmt.Sprintf("bucket-%d", s.names.Add(1))
	return name, os.Mkdir(filepath.Join(s.Folder, "data", name), 0o700)
}

// Environ returns the variables by which clients find the S3 server.
func (s *Server) Environ() map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + s.Address, "AWS_ACCESS_KEY_ID": Key, "AWS_SECRET_ACCESS_KEY": Secret, "AWS_REGION": "us-east-1"}
}

const registrySettings = `version: 0.1
log: {level: error}
storage:
  filesystem: {rootdirectory: %s}
  delete: {enabled: true}
http: {addr: %s}
`

// Registry starts docker-registry.
func Registry() (*Server, error) {
	return start("docker-registry", func(s *Server) ([]string, error) {
		path := filepath.Join(s.Folder, "config.yml")
		return []string{"serve", path}, os.WriteFile(path, fmt.Appendf(nil, registrySettings, filepath.Join(s.Folder, "data"), s.Address), 0o600)
	})
}

// Repository returns the name of a repository of the registry that nobody uses.
func (s *Server) Repository() string { return fmt.Sprintf("test/repository-%d", s.names.Add(1)) }

func start(program string, prepare func(*Server) (args []string, err error)) (*Server, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("no %s: make test-remotes installs it", program)
	}
	folder, err := os.MkdirTemp("", "pawl-server-")
	if err != nil {
		return nil, err
	}
	s := &Server{Folder: folder, program: path}
	if s.Address, err = freeAddress(); err != nil {
		return nil, err
	}
	if s.args, err = prepare(s); err != nil {
		return nil, err
	}
	return s, s.Restart()
}

// Restart starts the server on its address, with its files, after Kill.
func (s *Server) Restart() error {
	log, err := os.OpenFile(filepath.Join(s.Folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command(s.program, s.args...)
	s.process.Dir, s.process.Stdout, s.process.Stderr = s.Folder, log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	go func(process *exec.Cmd, ended chan<- error) { ended <- process.Wait() }(s.process, s.ended)
	if err := s.await(); err != nil {
		said, _ := os.ReadFile(log.Name())
		return errors.Join(fmt.Errorf("start %s: %w: %s", s.program, err, strings.TrimSpace(string(said))), s.Remove())
	}
	return nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// await waits until the server answers.
func (s *Server) await() error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/", http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("it ended: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return ctx.Err()
}

// Kill kills the server. Its files stay.
func (s *Server) Kill() error {
	err := s.process.Process.Kill()
	s.ended <- <-s.ended // it has ended, and a later call finds that too
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return err
}

// Remove ends the server, and removes its files.
func (s *Server) Remove() error {
	return errors.Join(s.Kill(), os.RemoveAll(s.Folder))
}
