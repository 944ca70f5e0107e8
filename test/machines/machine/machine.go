//go:build linux

// Package machine runs machines for tests: trees of processes, each with a process table, a file system, a network interface and a host
// name of its own. They are namespaces of this system, so the package needs root.
//
// A machine keeps its files when it is killed, as a computer does without power. What it runs is lost.
package machine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// namespaces are those of a machine.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// Machine is a machine. Its methods may be called concurrently.
type Machine struct {
	Name    string
	Address string // in the network
	Root    string // its file system, as this process sees it

	network *Network
	shares  map[string]string // folders of this system, by where the machine sees them
	number  int

	mu   sync.Mutex // guards what follows
	init *initProcess
	port string // of the network, while it runs
}

// ErrDown means that the machine does not run.
var ErrDown = errors.New("the machine is down")

// Boot starts the machine. Nothing runs on it yet.
func (m *Machine) Boot() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.init != nil {
		return nil
	}
	shares := []string{}
	for at, from := range m.shares {
		shares = append(shares, at+"="+from)
	}
	p, err := startInit(namespaces, append([]string{m.Name, m.Root}, shares...)...)
	if err != nil {
		return fmt.Errorf("boot %s: %w", m.Name, err)
	}
	m.port = m.network.newPort()
	script := fmt.Sprintf("ip address add %s/24 dev eth0 && ip link set eth0 up && ip link set lo up", m.Address)
	if err = m.network.connect(m.port, p.cmd.Process.Pid, m.number); err == nil {
		err = p.run("sh", "-c", script)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("boot %s: %w", m.Name, err), p.kill())
	}
	m.init = p
	return nil
}

// Kill ends everything that runs on the machine, at once.
func (m *Machine) Kill() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.init == nil {
		return nil
	}
	p := m.init
	m.init = nil
	return p.kill()
}

// Up reports whether the machine runs.
func (m *Machine) Up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.init != nil
}

// Path returns where this process sees a path of the machine.
func (m *Machine) Path(path string) string { return filepath.Join(m.Root, path) }

// Command is what a machine runs.
type Command struct {
	Args   []string
	Env    []string
	Dir    string
	Output string // a file of the machine, to which output is appended. Defaults to none.
	UID    uint32
	GID    uint32
}

// Run runs a command, and returns its exit code; -1 if it was killed. The error is ErrDown if the machine was killed meanwhile.
func (m *Machine) Run(c Command) (code int, err error) {
	m.mu.Lock()
	p := m.init
	m.mu.Unlock()
	if p == nil {
		return -1, ErrDown
	}
	return p.start(c)
}

// Unplug takes the cable of the machine out. silent keeps its interface up, so that what it sends is lost without a trace.
func (m *Machine) Unplug(silent bool) error { return m.cable(silent, "down", "0") }

// Plug puts it back.
func (m *Machine) Plug() error { return errors.Join(m.cable(false, "up", ""), m.cable(true, "", "3")) }

func (m *Machine) cable(silent bool, link, state string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.init == nil {
		return ErrDown
	}
	if silent {
		return m.network.run("bridge", "link", "set", "dev", m.port, "state", state)
	}
	return m.network.run("ip", "link", "set", m.port, link)
}

// Block drops what the machine sends to another one; Unblock ends that.
func (m *Machine) Block(other *Machine) error { return m.route("add", other) }

// Unblock ends what Block began.
func (m *Machine) Unblock(other *Machine) error { return m.route("delete", other) }

func (m *Machine) route(verb string, other *Machine) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.init == nil {
		return ErrDown
	}
	return m.init.run("ip", "route", verb, "blackhole", other.Address+"/32")
}

// Processes returns the processes of the machine but its first one: their numbers on this system, and their arguments.
func (m *Machine) Processes() map[int][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[int][]string{}
	if m.init == nil {
		return found
	}
	first := m.init.cmd.Process.Pid
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first))
	links, globErr := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil || globErr != nil {
		return found
	}
	for _, link := range links {
		if in, err := os.Readlink(link); err != nil || in != space {
			continue
		}
		var pid int
		_, scanErr := fmt.Sscanf(link, "/proc/%d/ns/pid", &pid)
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if scanErr == nil && err == nil && len(line) > 0 && pid != first {
			found[pid] = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		}
	}
	return found
}

// initProcess is the first process of a machine, or that of the network.
type initProcess struct {
	cmd  *exec.Cmd
	in   io.Closer
	over chan struct{} // closed when it has ended

	mu      sync.Mutex // guards what follows
	send    *json.Encoder
	last    int
	waiting map[int]chan answer
}

// request asks the first process to start a command; answer is how the command ended.
type request struct {
	ID int
	Command
}

type answer struct {
	ID   int
	Code int
	Err  string
}

// Verb is the first argument of a program that is to be the first process of a machine: it calls Init with the others.
const Verb = "machine-init"

func startInit(flags uintptr, args ...string) (*initProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{Verb}, args...)...)
	cmd.Env, cmd.Stderr = []string{path}, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &initProcess{cmd: cmd, in: in, over: make(chan struct{}), send: json.NewEncoder(in), waiting: map[int]chan answer{}}
	go p.receive(out)
	return p, nil
}

const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// receive passes on the answers, until the process ends.
func (p *initProcess) receive(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue
		}
		p.mu.Lock()
		to := p.waiting[a.ID]
		delete(p.waiting, a.ID)
		p.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
	_ = p.cmd.Wait() // it is killed in the end
	close(p.over)
}

func (p *initProcess) start(c Command) (code int, err error) {
	if len(c.Env) == 0 {
		c.Env = []string{path}
	}
	to := make(chan answer, 1)
	p.mu.Lock()
	p.last++
	p.waiting[p.last] = to
	err = p.send.Encode(request{ID: p.last, Command: c})
	p.mu.Unlock()
	if err != nil {
		return -1, ErrDown
	}
	select {
	case a := <-to:
		if a.Err != "" {
			err = fmt.Errorf("%v: %s", c.Args, a.Err)
		}
		return a.Code, err
	case <-p.over:
		return -1, ErrDown
	}
}

// run runs a command that must succeed.
func (p *initProcess) run(args ...string) error {
	code, err := p.start(Command{Args: args})
	if err == nil && code != 0 {
		err = fmt.Errorf("%v: exit code %d", args, code)
	}
	return err
}

// kill kills the process, thus all of its machine, and waits for their end.
func (p *initProcess) kill() error {
	err := p.cmd.Process.Kill()
	<-p.over
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return errors.Join(err, ignoreClosed(p.in.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
