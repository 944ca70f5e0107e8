package supervise

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// A Pool starts attempts under supervisors that it uses again: each has one attempt at a time, so that every process that it adopts belongs to
// that one. It takes the next after the caller has noted the end of the last in the journal. Until then, and as long as the caller lives, the
// records are not synced. When the caller dies, a supervisor completes its attempt, makes the records durable and exits.
type Pool struct {
	dir  string // above the folders of all attempts
	mu   sync.Mutex
	all  map[*slot]bool // that live
	idle []*slot
}

// NewPool returns an empty pool for attempts whose folders lie below dir. It must be closed.
func NewPool(dir string) *Pool { return &Pool{dir: dir, all: map[*slot]bool{}} }

// slot is a supervisor of a pool.
type slot struct {
	pool *Pool
	link *os.File // our end of the socket pair
	runs *Running // the attempt that runs; nil if none does. Its gone is closed when it, or the supervisor, has ended.
	last bool     // it takes no more attempts
}

// An order is what a slot receives for each attempt: the length of the rest in four bytes, the order and the job as lines of JSON, and the
// environment; the attempt's lock comes along. A length of zero says that the end of the last attempt is noted.
type order struct {
	Dir     string   `json:"dir"`
	Key     []byte   `json:"key"` // private key of the seal
	environ []string // KEY=VALUE; separated by NUL behind the job, since it is not always UTF-8
}

// What a slot says when the attempt has ended and its lock is released. The length of the exit record in four bytes and the record follow.
const (
	sayEnded byte = 'e'
	sayLast  byte = 'l' // and takes no more: a process of the attempt survives
)

// takes reports whether a job is executed by a supervisor of the pool: most scripts are short. What may run without an engine for long has a
// supervisor and durable records of its own.
func (p *Pool) takes(job pawl.Job) bool {
	return p != nil && reusable && len(job.Command) == 0 && job.Away == nil && !job.Serves()
}

// Prepare is like the function Prepare. It does not sync the folders if the pool takes the job. A nil pool takes none.
func (p *Pool) Prepare(dir string, job pawl.Job) (*Lock, error) {
	if !p.takes(job) {
		return Prepare(dir)
	}
	fresh, err := disk.MakePassingFolders(dir)
	if err != nil {
		return nil, fmt.Errorf("prepare attempt: %w", err)
	}
	return lockFolder(dir, fresh)
}

// Start starts an attempt, under a supervisor that is idle or a new one if the pool takes the job. The caller's lock is released in any
// case. After the end the caller must call Noted.
func (p *Pool) Start(lock *Lock, job pawl.Job, seal Seal) (*Running, error) {
	if !p.takes(job) {
		return Start(lock, job, seal)
	}
	defer lock.Release()
	running, err := p.start(lock, job, seal)
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	return running, nil
}

func (p *Pool) start(lock *Lock, job pawl.Job, seal Seal) (*Running, error) {
	encoded, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	write := disk.Put
	if lock.fresh {
		write = disk.PutNew // the supervisor does not read it
	}
	if err := putJob(lock, job, encoded, write); err != nil {
		return nil, err
	}
	if err := disk.BeforeSpawn(); err != nil {
		return nil, err
	}
	environ := job.Inherited
	if environ == nil {
		environ = os.Environ()
	}
	data, err := json.Marshal(order{Dir: lock.dir, Key: seal.private})
	if err != nil {
		return nil, err
	}
	data = slices.Concat(data, []byte("\n"), encoded, []byte("\n"), []byte(strings.Join(environ, "\x00")))
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	for s := p.take(); s != nil; s = p.take() {
		if running := s.begin(frame, lock); running != nil {
			return running, nil
		}
	}
	s, err := p.grow(job)
	if err != nil {
		return nil, err
	}
	if running := s.begin(frame, lock); running != nil {
		return running, nil
	}
	never := &Running{dir: lock.dir, gone: make(chan struct{})} // as when a supervisor is killed before it begins
	close(never.gone)
	return never, nil
}

// take returns an idle supervisor, or nil.
func (p *Pool) take() *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		s := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if !s.last {
			return s
		}
	}
	return nil
}

// grow starts a supervisor.
func (p *Pool) grow(job pawl.Job) (*slot, error) {
	path, err := programFor(job)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := newLink()
	if err != nil {
		return nil, err
	}
	s := &slot{pool: p, link: ours}
	defer theirs.Close()
	cmd := exec.Command(path)
	cmd.Args = []string{"pawl", Verb, SlotFlag, p.dir}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		s.link.Close()
		return nil, err
	}
	p.mu.Lock()
	p.all[s] = true
	p.mu.Unlock()
	go s.follow(cmd)
	return s, nil
}

// newLink returns the ends of a socket pair. No other process inherits them: it would keep the link alive.
func newLink() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no process is forked meanwhile
	defer syscall.ForkLock.RUnlock()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range ends {
		syscall.CloseOnExec(fd)
	}
	err = unix.SetNonblock(ends[0], true)
	ours, theirs = os.NewFile(uintptr(ends[0]), "slot"), os.NewFile(uintptr(ends[1]), "slot")
	if err != nil {
		return nil, nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	return ours, theirs, nil
}

// begin gives the supervisor an attempt. It returns nil if the supervisor has died and was given nothing. Otherwise the attempt may have begun,
// even if the supervisor dies now, and no other one may have it.
func (s *slot) begin(frame []byte, lock *Lock) *Running {
	running := &Running{dir: lock.dir, gone: make(chan struct{}), slot: s}
	s.pool.mu.Lock()
	s.runs = running
	s.pool.mu.Unlock()
	n, err := s.pass(frame, lock.file)
	if n > 0 && err == nil {
		_, err = s.link.Write(frame[n:])
	}
	if err != nil {
		s.link.Close()
		s.free(true, nil)
	}
	if n <= 0 {
		return nil
	}
	return running
}

// free notes that the supervisor has no attempt, the exit record of the last one, and whether it takes no more.
func (s *slot) free(last bool, exit []byte) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if s.runs != nil {
		s.runs.exit = exit
		close(s.runs.gone)
	}
	s.runs, s.last = nil, s.last || last
}

// pass sends the first bytes of a frame, with a file.
func (s *slot) pass(frame []byte, file *os.File) (n int, err error) {
	conn, err := s.link.SyscallConn()
	if err != nil {
		return 0, err
	}
	waitErr := conn.Write(func(fd uintptr) bool {
		n, err = unix.SendmsgN(int(fd), frame, unix.UnixRights(int(file.Fd())), nil, unix.MSG_NOSIGNAL)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if waitErr != nil {
		err = waitErr
	}
	return n, err
}

// follow notes what the supervisor says until it has ended.
func (s *slot) follow(cmd *exec.Cmd) {
	for said := bufio.NewReader(s.link); ; {
		word, exit, err := hear(said)
		if s.free(err != nil || word == sayLast, exit); err != nil {
			break
		}
	}
	s.pool.mu.Lock()
	delete(s.pool.all, s)
	s.pool.mu.Unlock()
	s.link.Close()
	cmd.Wait() // all that counts is in the exit records
}

// hear returns what a slot says.
func hear(said io.Reader) (word byte, exit []byte, err error) {
	head := make([]byte, 1+frameHead)
	if _, err := io.ReadFull(said, head); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxExit {
		return 0, nil, fmt.Errorf("an exit record of %d bytes", size)
	}
	exit = make([]byte, size)
	if _, err := io.ReadFull(said, exit); err != nil {
		return 0, nil, err
	}
	return head[0], exit, nil
}

// Noted says that the end of the attempt is durable in the journal, or that the attempt needs no end. The error is always nil.
func (r *Running) Noted() error {
	if r.slot == nil {
		return nil
	}
	s, p := r.slot, r.slot.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.slot = nil; s.runs != nil || !p.all[s] {
		return nil
	}
	if _, err := s.link.Write(make([]byte, frameHead)); err == nil && !s.last { // an error says that it has died
		p.idle = append(p.idle, s)
	}
	return nil
}

// Close ends the idle supervisors. The others complete their attempts.
func (p *Pool) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.all {
		s.link.Close()
	}
	p.idle = nil
}

// AttemptOf returns the folder of the attempt that the supervisor of a pool executes now, "" if there is none. dir is the folder in its arguments.
func AttemptOf(dir string, supervisor int) (attempt string) {
	_ = disk.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what is unreadable proves nothing
		if err != nil || d.IsDir() || d.Name() != pawl.BegunFile {
			return nil
		}
		begun, err := readBegun(filepath.Dir(path))
		if err != nil || begun == nil || begun.Supervisor.PID != supervisor {
			return nil
		}
		if status, err := Probe(filepath.Dir(path)); err != nil || status.State != Live {
			return nil
		}
		attempt = filepath.Dir(path)
		return fs.SkipAll
	})
	return attempt
}

// frameHead is the length of a frame's head in bytes.
const frameHead = 4

// SlotFlag marks the supervisor of a pool.
const SlotFlag = "--slot"

// errFile is where the messages of a supervisor go: to the attempt's error output, where users look.
func errFile(dir string) (*os.File, error) { return openLog(filepath.Join(dir, pawl.ErrFile)) }
