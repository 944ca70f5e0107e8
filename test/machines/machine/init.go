//go:build linux

package machine

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// furnish makes the file system of a machine: system folders of this system are mounted into it at each start.
func furnish(root, name string, number int) error {
	for _, folder := range []string{"etc", "proc", "dev", "tmp", "home", "var", "run", "opt"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o1777); err != nil {
		return err
	}
	for _, file := range []string{"passwd", "group", "ld.so.cache", "nsswitch.conf"} {
		data, err := os.ReadFile(filepath.Join("/etc", file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, "etc", file), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	id := fmt.Sprintf("%032x\n", number)
	err := os.WriteFile(filepath.Join(root, "etc", "machine-id"), []byte(id), 0o444)
	return errors.Join(err, os.WriteFile(filepath.Join(root, "etc", "hosts"), []byte("127.0.0.1 localhost "+name+"\n"), 0o644))
}

// Init is the first process of a machine: it mounts its file system, and then starts what it is asked to start. Without arguments it is
// that of a network, and only does the latter. It returns when nobody asks any more.
func Init(args []string) error {
	if len(args) > 0 {
		if err := enter(args[0], args[1], args[2:]); err != nil {
			return err
		}
	}
	s := &starter{answers: json.NewEncoder(os.Stdout), running: map[int]int{}}
	ended := make(chan os.Signal, 64)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			s.reap()
		}
	}()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		s.start(r)
	}
	return lines.Err()
}

// enter makes a folder the root of this mount namespace.
func enter(name, root string, shares []string) error {
	if err := errors.Join(syscall.Sethostname([]byte(name)), syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")); err != nil {
		return err
	}
	if err := bind(root, root); err != nil {
		return err
	}
	for _, folder := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/dev", "/etc/alternatives"} {
		if err := sameAs(root, folder); err != nil {
			return err
		}
	}
	for _, share := range shares {
		at, from, _ := strings.Cut(share, "=")
		if err := os.MkdirAll(filepath.Join(root, at), 0o755); err != nil {
			return err
		}
		if err := bind(from, filepath.Join(root, at)); err != nil {
			return err
		}
	}
	if err := errors.Join(
		syscall.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""),
		syscall.Mount("shm", filepath.Join(root, "dev", "shm"), "tmpfs", 0, ""),
		newBoot(root),
	); err != nil {
		return err
	}
	return pivot(root)
}

// newBoot gives this start of the machine an ID of its own, as a kernel does.
func newBoot(root string) error {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	x := hex.EncodeToString(id)
	path := filepath.Join(root, "run", "boot_id")
	if err := os.WriteFile(path, fmt.Appendf(nil, "%s-%s-%s-%s-%s\n", x[:8], x[8:12], x[12:16], x[16:20], x[20:]), 0o644); err != nil {
		return err
	}
	return bind(path, filepath.Join(root, "proc/sys/kernel/random/boot_id"))
}

// bind mounts what is at a path at another one.
func bind(from, at string) error {
	if err := syscall.Mount(from, at, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", from, at, err)
	}
	return nil
}

// sameAs gives a file system a folder of this one, or a link that this one has.
func sameAs(root, folder string) error {
	at := filepath.Join(root, folder)
	if to, err := os.Readlink(folder); err == nil {
		if err := os.Symlink(to, at); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	}
	if _, err := os.Stat(folder); err != nil {
		return nil // this system has none
	}
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	return bind(folder, at)
}

// pivot makes a mount the root, and leaves the old one.
func pivot(root string) error {
	old := filepath.Join(root, "run", "old")
	if err := os.MkdirAll(old, 0o700); err != nil {
		return err
	}
	if err := syscall.PivotRoot(root, old); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	return errors.Join(os.Chdir("/"), syscall.Unmount("/run/old", syscall.MNT_DETACH))
}

// starter starts commands, and tells how they ended.
type starter struct {
	mu      sync.Mutex // guards what follows
	answers *json.Encoder
	running map[int]int // IDs of requests by process
}

func (s *starter) start(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := startCommand(r.Command)
	if err != nil {
		_ = s.answers.Encode(answer{ID: r.ID, Code: -1, Err: err.Error()}) // without a reader this process ends soon
		return
	}
	s.running[pid] = r.ID
}

// reap waits for the processes that have ended, also for those whose parents died.
func (s *starter) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		id, asked := s.running[pid]
		delete(s.running, pid)
		if asked {
			code := -1
			if status.Exited() {
				code = status.ExitStatus()
			}
			_ = s.answers.Encode(answer{ID: id, Code: code}) // as above
		}
	}
}

func startCommand(c Command) (pid int, err error) {
	files := []uintptr{0, 0, 0}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	output := null
	if c.Output != "" {
		if output, err = os.OpenFile(c.Output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
			return 0, err
		}
		defer output.Close()
	}
	files[0], files[1], files[2] = null.Fd(), output.Fd(), output.Fd()
	program, err := find(c.Args[0], c.Env)
	if err != nil {
		return 0, err
	}
	attributes := &syscall.SysProcAttr{Setsid: true}
	if c.UID != 0 {
		attributes.Credential = &syscall.Credential{Uid: c.UID, Gid: c.GID}
	}
	return syscall.ForkExec(program, c.Args, &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: files, Sys: attributes})
}

// find returns the path of a program.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, v := range env {
		list, isPath := strings.CutPrefix(v, "PATH=")
		for _, folder := range filepath.SplitList(list) {
			if info, err := os.Stat(filepath.Join(folder, name)); isPath && err == nil && info.Mode()&0o111 != 0 {
				return filepath.Join(folder, name), nil
			}
		}
	}
	return "", fmt.Errorf("no program %s", name)
}
