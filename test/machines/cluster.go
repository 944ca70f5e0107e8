//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl/internal/postgres/postgrestest"
	"pawl/test/machines/machine"
)

// The machines, besides the workers.
const (
	workers  = 3
	places   = 3 // steps at a time on each worker
	project  = "/home/project"
	programs = "/opt/pawl"
	key      = "pawl-test"
	secret   = "pawl-test-secret"
	bucket   = "s3://bucket/pawl"
)

// cluster is the machines, and what runs on them.
type cluster struct {
	options
	dir      string
	network  *machine.Network
	database *machine.Machine
	storage  *machine.Machine
	workers  []*machine.Machine
	engines  []*machine.Machine
	env      []string // of pawl's processes
	postgres string   // folder of the programs of Postgres
	owner    machine.Command

	quit chan struct{}
	all  sync.WaitGroup
}

// newCluster boots the machines, and starts what runs on them.
func newCluster(o options) (c *cluster, err error) {
	c = &cluster{options: o, dir: o.folder, quit: make(chan struct{})}
	if c.dir == "" {
		c.dir, err = os.MkdirTemp("", "pawl-machines-")
	} else {
		c.dir, err = filepath.Abs(c.dir)
	}
	if err != nil {
		return nil, err
	}
	if c.network, err = machine.NewNetwork(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	err = c.installPrograms()
	if err == nil {
		err = c.makeMachines()
	}
	if err == nil {
		err = c.startServers()
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	dice := o.dice("outages")
	for i, m := range c.workers {
		c.keep(m, rand.New(rand.NewPCG(dice.Uint64(), uint64(i))), machine.Command{
			Args: []string{programs + "/pawl", "worker", "--postgres", "--queue", "work", "--remote", bucket, "--parallel", strconv.Itoa(places)},
			Env:  c.env, Dir: "/home", Output: "/home/worker.log",
		})
	}
	return c, nil
}

// installPrograms collects the programs that all machines have.
func (c *cluster) installPrograms() (err error) {
	to := filepath.Join(c.dir, "programs")
	if err := errors.Join(os.MkdirAll(to, 0o755), os.Chmod(c.dir, 0o755)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.dir, "ledger"), 0o777); err != nil {
		return err
	}
	if c.postgres, err = postgrestest.Programs(); err != nil {
		return err
	}
	if c.pawl == "" {
		build := exec.Command("go", "build", "-o", to+"/", "./cmd/pawl", "./cmd/pawl-hook")
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build pawl: %w\n%s", err, said)
		}
	} else if err := errors.Join(copyFile(c.pawl, to), copyFile(filepath.Join(filepath.Dir(c.pawl), "pawl-hook"), to)); err != nil {
		return err
	}
	if err := copyFile(c.gateway, to); err != nil {
		return fmt.Errorf("the S3 server, which make bin/versitygw installs: %w", err)
	}
	return nil
}

func copyFile(from, folder string) error {
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, filepath.Base(from)), data, 0o755)
	}
	return err
}

func (c *cluster) makeMachines() error {
	shares := map[string]string{programs: filepath.Join(c.dir, "programs")}
	made := func(name string, shares map[string]string) (m *machine.Machine, err error) {
		if m, err = c.network.Machine(name, c.dir, shares); err == nil {
			err = m.Boot()
		}
		return m, err
	}
	var err error
	if c.database, err = made("database", shares); err != nil {
		return err
	}
	if c.storage, err = made("storage", shares); err != nil {
		return err
	}
	for i := range 2 {
		m, err := made(fmt.Sprintf("engine%d", i+1), shares)
		if err != nil {
			return err
		}
		c.engines = append(c.engines, m)
	}
	for i := range workers { // only steps reach the ledger
		m, err := made(fmt.Sprintf("worker%d", i+1), map[string]string{programs: shares[programs], "/ledger": filepath.Join(c.dir, "ledger")})
		if err != nil {
			return err
		}
		c.workers = append(c.workers, m)
	}
	c.env = []string{
		"PATH=" + programs + ":/usr/local/bin:/usr/bin:/bin", "HOME=/home", "LANG=C.UTF-8",
		"PAWL_POSTGRES=postgres://postgres@" + c.database.Address + "/postgres",
		"AWS_ENDPOINT_URL_S3=http://" + c.storage.Address + ":7070", "AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_REGION=us-east-1",
	}
	for _, m := range append(c.workers, c.engines...) {
		folder := m.Path("/home/.config/pawl")
		settings := fmt.Sprintf("remotes: {allow_http: [%q]}\n", c.storage.Address+":7070")
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(settings), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// startServers starts the database and the object store.
func (c *cluster) startServers() error {
	owner, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, errUID := strconv.Atoi(owner.Uid)
	gid, errGID := strconv.Atoi(owner.Gid)
	folder := c.database.Path("/var/pg")
	err = errors.Join(errUID, errGID, os.MkdirAll(folder, 0o755), os.Chown(folder, uid, gid), os.MkdirAll(c.storage.Path("/var/data/bucket"), 0o700))
	if err != nil {
		return err
	}
	c.owner = machine.Command{UID: uint32(uid), GID: uint32(gid), Dir: "/var/pg", Output: "/var/pg/log", Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}}
	initdb := c.owner
	initdb.Args = []string{c.postgres + "/initdb", "-D", "/var/pg/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}
	if code, err := c.database.Run(initdb); err != nil || code != 0 {
		return fmt.Errorf("initdb: exit code %d, %w", code, err)
	}
	settings := "listen_addresses = '*'\nunix_socket_directories = '/var/pg'\nmax_connections = 300\nshared_buffers = 32MB\nmax_wal_size = 256MB\n"
	access := "local all all trust\nhost all all 10.77.0.0/24 trust\n"
	if err := errors.Join(appendTo(filepath.Join(folder, "data", "postgresql.conf"), settings), os.WriteFile(filepath.Join(folder, "data", "pg_hba.conf"), []byte(access), 0o644)); err != nil {
		return err
	}
	server := c.owner
	server.Args = []string{c.postgres + "/postgres", "-D", "/var/pg/data"}
	c.keep(c.database, c.dice("database"), server)
	c.keep(c.storage, c.dice("storage"), machine.Command{
		Args: []string{programs + "/versitygw", "--port", ":7070", "--access", key, "--secret", secret, "--quiet", "posix", "/var/data"},
		Env:  []string{"PATH=/usr/bin:/bin"}, Dir: "/var", Output: "/var/log",
	})
	return await(time.Minute, func() bool {
		conn, err := net.Dial("unix", filepath.Join(folder, ".s.PGSQL.5432"))
		return err == nil && conn.Close() == nil
	}, func() string { return "Postgres starts: " + c.tail(c.database, "/var/pg/log") })
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// dsn is the database, as this process reaches it: by a socket in the machine's files.
func (c *cluster) dsn() string {
	return "postgres:///postgres?host=" + c.database.Path("/var/pg") + "&user=postgres"
}

// longestOutage is the longest time until something that was killed is started again.
const longestOutage = 3 * time.Second

// keep runs a command on a machine whenever the machine is up, and starts it again some time after it has ended.
func (c *cluster) keep(m *machine.Machine, dice *rand.Rand, command machine.Command) {
	c.all.Go(func() {
		for {
			_, _ = m.Run(command) // it was killed, or the machine is down
			select {
			case <-c.quit:
				return
			case <-time.After(time.Duration(dice.IntN(int(longestOutage))) / 2):
			}
		}
	})
}

// close kills all machines.
func (c *cluster) close() error {
	close(c.quit)
	var err error
	for _, m := range c.machines() {
		err = errors.Join(err, m.Kill())
	}
	c.all.Wait()
	return errors.Join(err, c.network.Close())
}

func (c *cluster) machines() (all []*machine.Machine) {
	for _, m := range append(append([]*machine.Machine{c.database, c.storage}, c.workers...), c.engines...) {
		if m != nil {
			all = append(all, m)
		}
	}
	return all
}

// tail returns the end of a file of a machine.
func (c *cluster) tail(m *machine.Machine, path string) string {
	data, err := os.ReadFile(m.Path(path))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(data[max(0, len(data)-1500):]))
}

// await waits until done returns true. If that takes too long, the error says what it waited for.
func await(limit time.Duration, done func() bool, what func() string) error {
	for end := time.Now().Add(limit); !done(); {
		if time.Now().After(end) {
			return fmt.Errorf("not within %s: %s", limit, what())
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}
