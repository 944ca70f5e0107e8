//go:build linux

package machine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Verb {
		if err := Init(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestMachines: two machines see only their own files, processes and names, and each other by the network.
func TestMachines(t *testing.T) {
	network, err := NewNetwork()
	if errors.Is(err, ErrUnable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	}()
	folder := t.TempDir()
	var machines []*Machine
	for _, name := range []string{"one", "two"} {
		m, err := network.Machine(name, folder, nil)
		if err == nil {
			err = m.Boot()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := m.Kill(); err != nil {
				t.Error(err)
			}
		}()
		machines = append(machines, m)
	}
	one, two := machines[0], machines[1]
	said := func(m *Machine, script string) string {
		t.Helper()
		if code, err := m.Run(Command{Args: []string{"sh", "-c", script}, Output: "/tmp/said"}); err != nil || code != 0 {
			t.Fatalf("%s: %s: exit code %d, %v", m.Name, script, code, err)
		}
		data, err := os.ReadFile(m.Path("/tmp/said"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got := said(one, "hostname; cat /etc/machine-id; ls /home; echo $(ls -d /proc/[0-9]* | wc -l)"); !strings.HasPrefix(got, "one\n") {
		t.Errorf("it said %q", got)
	}
	boot := said(one, "cat /proc/sys/kernel/random/boot_id")
	reaches := func() bool {
		code, err := one.Run(Command{Args: []string{"timeout", "1", "bash", "-c", "exec 3<>/dev/tcp/" + two.Address + "/7"}})
		if err != nil {
			t.Fatal(err)
		}
		return code == 0
	}
	ended := make(chan struct{})
	go func() {
		_, _ = two.Run(Command{Args: []string{"perl", "-MIO::Socket::INET", "-e", `$s = IO::Socket::INET->new(Listen => 9, LocalPort => 7); while (1) { $s->accept() }`}})
		close(ended)
	}()
	for end := time.Now().Add(time.Minute); !reaches(); {
		if time.Now().After(end) {
			t.Fatal("the machines do not reach each other")
		}
	}
	if err := two.Unplug(false); err != nil || reaches() {
		t.Errorf("reached without a cable: %v", err)
	}
	if err := two.Plug(); err != nil || !reaches() {
		t.Errorf("not reached after the cable is back: %v", err)
	}
	if err := one.Block(two); err != nil || reaches() {
		t.Errorf("reached although it is blocked: %v", err)
	}
	if !slices.Contains(flatten(two.Processes()), "perl") {
		t.Errorf("processes: %v", two.Processes())
	}
	if err := errors.Join(two.Kill(), one.Kill()); err != nil {
		t.Fatal(err)
	}
	<-ended
	if code, err := one.Run(Command{Args: []string{"true"}}); !errors.Is(err, ErrDown) {
		t.Errorf("a killed machine runs a command: %d, %v", code, err)
	}
	if err := one.Boot(); err != nil {
		t.Fatal(err)
	}
	if now := said(one, "cat /proc/sys/kernel/random/boot_id"); strings.Count(now, "\n") != strings.Count(boot, "\n")+1 || strings.Contains(boot, now[len(boot):]) {
		t.Errorf("the same boot ID after a reboot: %q, %q", boot, now)
	}
}

func flatten(processes map[int][]string) (words []string) {
	for _, args := range processes {
		words = append(words, args...)
	}
	return words
}
