// Package postgrestest starts servers of Postgres for tests.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Server is a server of Postgres in a temporary folder. It listens on a socket there.
type Server struct {
	Folder string

	programs string
	process  *exec.Cmd
	ended    <-chan error
	owner    *syscall.Credential // nil: this user
	names    atomic.Int64
}

// Start creates and starts a server. Its settings are lines of postgresql.conf.
func Start(settings ...string) (*Server, error) {
	programs, err := Programs()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "pg") // the path of a socket may have 107 bytes
	if err != nil {
		return nil, err
	}
	s := &Server{Folder: folder, programs: programs}
	if os.Getuid() == 0 { // Postgres does not run as root
		if err := s.useOwner(); err != nil {
			return nil, err
		}
	}
	if out, err := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	config := strings.Join(append([]string{
		"listen_addresses = ''", "unix_socket_directories = '" + folder + "'", "max_connections = 200", "shared_buffers = 16MB", "max_wal_size = 256MB",
	}, settings...), "\n") + "\n"
	file, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(config)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return s, s.Up()
}

// Programs returns the folder with initdb and postgres of version 15 or later. Debian keeps it out of PATH.
func Programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.Join(errors.New("no Postgres: make test-server installs it"), err)
	}
	slices.SortFunc(found, func(a, b string) int { return versionOf(a) - versionOf(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func versionOf(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for other names
	return n
}

func (s *Server) useOwner() error {
	owner, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, errUID := strconv.ParseUint(owner.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(owner.Gid, 10, 32)
	if err := errors.Join(errUID, errGID); err != nil {
		return err
	}
	s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.Folder, int(uid), int(gid))
}

func (s *Server) data() string { return filepath.Join(s.Folder, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.programs, name), args...)
	c.Dir = s.Folder
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	return c
}

// limit is how long a server may take to end, and to accept connections; after a crash it recovers first.
const limit = time.Minute

// Up starts the server, and waits until it accepts connections.
func (s *Server) Up() error {
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); { // processes of a killed server may still hold its memory
		if err = s.up(end); err == nil {
			return nil
		}
	}
	said, _ := os.ReadFile(filepath.Join(s.Folder, "log"))
	return fmt.Errorf("start Postgres: %w: %s", err, said)
}

func (s *Server) up(end time.Time) error {
	log, err := os.OpenFile(filepath.Join(s.Folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = s.command("postgres", "-D", s.data())
	s.process.SysProcAttr.Setpgid = true
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func(p *exec.Cmd) { ended <- p.Wait() }(s.process)
	s.ended = ended
	for {
		ctx, cancel := context.WithDeadline(context.Background(), end)
		c, err := pgx.Connect(ctx, s.DSN("postgres"))
		if err == nil {
			err = c.Close(ctx)
		}
		cancel()
		if err == nil || time.Now().After(end) {
			return err
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the server ended: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Stop stops the server, and waits for it. Sessions are ended.
func (s *Server) Stop() error { return s.signal(syscall.SIGINT) }

// Kill kills the server. Its other processes end when they notice.
func (s *Server) Kill() error { return s.signal(syscall.SIGKILL) }

func (s *Server) signal(with syscall.Signal) error {
	if err := s.process.Process.Signal(with); err != nil {
		return err
	}
	select {
	case <-s.ended: // its exit status says how it was ended
		return nil
	case <-time.After(limit):
		return fmt.Errorf("the server does not end within %s after %v", limit, with)
	}
}

// Remove stops the server, and deletes its folder.
func (s *Server) Remove() error {
	err := s.signal(syscall.SIGQUIT)
	return errors.Join(err, os.RemoveAll(s.Folder))
}

// Database creates an empty database, and returns its DSN.
func (s *Server) Database(ctx context.Context) (dsn string, err error) {
	name := fmt.Sprintf("test%d", s.names.Add(1))
	c, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return "", err
	}
	_, err = c.Exec(ctx, "create database "+name)
	return s.DSN(name), errors.Join(err, c.Close(ctx))
}

// DSN returns the DSN of a database.
func (s *Server) DSN(name string) string {
	return "postgres:///" + name + "?host=" + s.Folder + "&user=postgres"
}
