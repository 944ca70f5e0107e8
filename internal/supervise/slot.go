package supervise

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

// link is a supervisor's end of the socket pair to the pool that started it. A nil link is that of a supervisor of one attempt.
type link struct{ fd int }

// hardenAfter is how long an exit record may be without sync while the engine does not note it.
const hardenAfter = time.Second

// serveSlot executes one attempt after another, until the engine is gone or a process of an attempt survives.
func serveSlot(caught signals) error {
	l, err := openLink()
	if err != nil {
		return fmt.Errorf("supervise: %w", err)
	}
	for {
		o, job, err := l.receive()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("supervise: %w", err)
		}
		s := newSupervisor(o.Dir, o.Key, o.environ, caught)
		s.link = l
		if err := s.attempt(job); err != nil {
			return fmt.Errorf("supervise %s: %w", o.Dir, err)
		}
		noted, err := s.awaitNoted()
		if err != nil || !noted || len(s.exit.Unkilled) > 0 {
			return err
		}
	}
}

// attempt executes an attempt and says that it has ended, after the lock is released.
func (s *supervisor) attempt(job *pawl.Job) error {
	complaints, err := errFile(s.dir)
	if err != nil {
		return err
	}
	err = dupTo(int(complaints.Fd()), 2)
	complaints.Close()
	if err == nil {
		err = s.supervise(job)
	}
	if err != nil {
		return err
	}
	s.begunFile.Close()
	s.events.close()
	if err := dupTo(s.link.fd, lockFD); err != nil { // this closes the lock
		return err
	}
	syscall.CloseOnExec(lockFD)
	word := sayEnded
	if len(s.exit.Unkilled) > 0 {
		word = sayLast
	}
	return s.link.say(word, s.record)
}

// say sends a word and an exit record, in a frame. It does not matter whether the engine lives.
func (l *link) say(word byte, record []byte) error {
	frame := append(binary.BigEndian.AppendUint32([]byte{word}, uint32(len(record))), record...)
	for len(frame) > 0 {
		n, err := unix.SendmsgN(l.fd, frame, nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == unix.EPIPE || err == unix.ECONNRESET:
			return nil
		case err != nil && err != unix.EINTR:
			return err
		}
		frame = frame[max(n, 0):]
	}
	return nil
}

// awaitNoted waits until the engine has noted the end of the attempt. If the engine is slow or gone, the exit record is made durable.
func (s *supervisor) awaitNoted() (noted bool, err error) {
	if !s.link.readable(hardenAfter) {
		err = s.hardenRecord()
	}
	noted, noteErr := s.link.noted()
	if !noted {
		err = errors.Join(err, s.hardenRecord())
	}
	return noted, errors.Join(err, noteErr)
}

// hardenRecord makes the exit record durable, unless it is, or was replaced. It retries until that succeeds, since a full disk may be temporary.
func (s *supervisor) hardenRecord() error {
	for s.exit.Boot != "" {
		status, err := Probe(s.dir)
		if err != nil || status.State != Ended || status.Exit.Token != s.job.Token {
			return err
		}
		if err := s.harden(); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(time.Second)
	}
	return nil
}

// openLink returns the link that this process was started with. Descriptor 3 is afterwards that of the lock.
func openLink() (*link, error) {
	fd, err := unix.FcntlInt(lockFD, unix.F_DUPFD_CLOEXEC, keyFD+1)
	if err == nil {
		_, err = unix.Getpeername(fd)
	}
	if err != nil {
		return nil, errors.New("descriptor 3 is not the link to an engine: only pawl itself starts supervisors")
	}
	syscall.CloseOnExec(lockFD)
	return &link{fd}, nil
}

// attached reports whether the engine lives.
func (l *link) attached() bool {
	if l == nil {
		return false
	}
	seen := l.poll(0)
	return seen&(unix.POLLHUP|unix.POLLERR) == 0
}

// readable waits until the engine has written something or is gone, at most for limit.
func (l *link) readable(limit time.Duration) bool { return l.poll(limit) != 0 }

// poll returns what can be done now, or within limit.
func (l *link) poll(limit time.Duration) int16 {
	for end := time.Now().Add(limit); ; {
		fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, int(max(time.Until(end), 0)/time.Millisecond)); err != unix.EINTR {
			return fds[0].Revents
		}
	}
}

// noted reads that the end of an attempt is noted. It is false if the engine is gone.
func (l *link) noted() (bool, error) {
	head := make([]byte, frameHead)
	if _, err := io.ReadFull(l, head); err != nil {
		return false, nil
	}
	if binary.BigEndian.Uint32(head) != 0 {
		return false, errors.New("an order before the end of the last attempt was noted")
	}
	return true, nil
}

// Read implements io.Reader.
func (l *link) Read(data []byte) (int, error) {
	for {
		n, err := unix.Read(l.fd, data)
		switch {
		case err == unix.EINTR:
		case err == unix.ECONNRESET || err == nil && n == 0:
			return 0, io.EOF
		default:
			return n, err
		}
	}
}

// receive reads the next order, and makes the lock that comes along descriptor 3. At the end it returns io.EOF.
func (l *link) receive() (o order, job *pawl.Job, err error) {
	head, rights := make([]byte, frameHead), make([]byte, unix.CmsgSpace(4))
	n, control, err := l.receiveHead(head, rights)
	if err != nil {
		return o, nil, err
	}
	if err := takeLock(rights[:control]); err != nil {
		return o, nil, err
	}
	if _, err := io.ReadFull(l, head[n:]); err != nil {
		return o, nil, io.EOF // the engine died in between
	}
	data := make([]byte, binary.BigEndian.Uint32(head))
	if _, err := io.ReadFull(l, data); err != nil {
		return o, nil, io.EOF
	}
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	encoded, environ, _ := bytes.Cut(rest, []byte("\n"))
	o.environ = strings.Split(string(environ), "\x00")
	if err := errors.Join(json.Unmarshal(line, &o), json.Unmarshal(encoded, &job)); err != nil {
		return o, nil, err
	}
	if len(o.Key) != ed25519.PrivateKeySize || job == nil {
		return o, nil, errors.New("an order without a key or a job")
	}
	return o, job, nil
}

func (l *link) receiveHead(head, rights []byte) (n, control int, err error) {
	for {
		n, control, _, _, err = unix.Recvmsg(l.fd, head, rights, 0)
		switch {
		case err == unix.EINTR:
		case err == unix.ECONNRESET || err == nil && n == 0:
			return 0, 0, io.EOF
		default:
			return n, control, err
		}
	}
}

// takeLock makes the file in a control message descriptor 3.
func takeLock(control []byte) error {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return errors.Join(errors.New("an order without a lock"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return errors.Join(errors.New("an order without a lock"), err)
	}
	err = dupTo(fds[0], lockFD)
	syscall.CloseOnExec(lockFD)
	return errors.Join(err, os.NewFile(uintptr(fds[0]), "lock").Close())
}
