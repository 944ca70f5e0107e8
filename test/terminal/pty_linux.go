package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Terminal has a person at one end and a program at the other.
type Terminal struct {
	*Screen
	TTY    *os.File // the program's end
	person *os.File
	seen   chan struct{}
	mu     sync.Mutex
	raw    []byte
}

// Open opens a terminal of a size.
func Open(width, height int) (*Terminal, error) {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	number := 0
	if err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		number, err = unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	}
	if err != nil {
		return nil, errors.Join(err, person.Close())
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Join(err, person.Close())
	}
	t := &Terminal{Screen: NewScreen(width, height), TTY: tty, person: person, seen: make(chan struct{})}
	go t.watch()
	return t, t.Resize(width, height)
}

func (t *Terminal) watch() {
	defer close(t.seen)
	part := make([]byte, 4096)
	for {
		n, err := t.person.Read(part)
		t.mu.Lock()
		t.raw = append(t.raw, part[:n]...)
		t.mu.Unlock()
		_, _ = t.Write(part[:n])
		if err != nil {
			return
		}
	}
}

// Resize changes the size.
func (t *Terminal) Resize(width, height int) error {
	t.Screen.Resize(width, height)
	return unix.IoctlSetWinsize(int(t.TTY.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
}

// Type types a text.
func (t *Terminal) Type(text string) error {
	_, err := t.person.WriteString(text)
	return err
}

// Raw returns all that was written to the terminal.
func (t *Terminal) Raw() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.raw)
}

// Start starts a program at the terminal, which becomes its controlling one: Ctrl-C interrupts it.
func (t *Terminal) Start(c *exec.Cmd) error {
	c.Stdin, c.Stdout, c.Stderr = t.TTY, t.TTY, t.TTY
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return c.Start()
}

// Close closes the terminal and waits until all of its output is on the screen.
func (t *Terminal) Close() error {
	err := t.TTY.Close() // then the other end reads an error
	<-t.seen
	return errors.Join(err, t.person.Close())
}
