//go:build linux

package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Network is a switch to which machines are connected. It is in a network namespace of its own: nothing outside can reach the machines.
type Network struct {
	init *initProcess

	mu    sync.Mutex // guards what follows
	ports int
	count int
}

// ErrUnable means that this system cannot have machines, or that this user may not make them.
var ErrUnable = errors.New("machines need root, namespaces and a network bridge on Linux")

// NewNetwork starts a network.
func NewNetwork() (*Network, error) {
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("%w: this user is not root", ErrUnable)
	}
	p, err := startInit(syscall.CLONE_NEWNET)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	n := &Network{init: p}
	if err := n.run("sh", "-c", "ip link add br0 type bridge && ip link set br0 up && bridge link show"); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnable, err), n.Close())
	}
	return n, nil
}

// Close ends the network. Its machines must have been killed.
func (n *Network) Close() error { return n.init.kill() }

// Machine makes a machine, whose files are in a folder. shares are folders of this system, by where the machine sees them.
func (n *Network) Machine(name, folder string, shares map[string]string) (*Machine, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	m := &Machine{Name: name, Address: fmt.Sprintf("10.77.0.%d", n.count), Root: filepath.Join(folder, name), network: n, shares: shares, number: n.count}
	return m, furnish(m.Root, name, n.count)
}

func (n *Network) run(args ...string) error { return n.init.run(args...) }

func (n *Network) newPort() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ports++
	return fmt.Sprintf("port%d", n.ports)
}

// connect gives a network namespace an interface, with the same hardware address after each start.
func (n *Network) connect(port string, pid, number int) error {
	return n.run("sh", "-c", fmt.Sprintf(
		"ip link add %[1]s type veth peer name eth0 netns %[2]d address 02:00:00:00:00:%02[3]x && ip link set %[1]s master br0 && ip link set %[1]s up", port, pid, number))
}
