package variables

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/disk"
	"pawl/internal/oneline"
)

// Verifier loads checkpoints in fresh processes. Its own process has never executed code of a session, and forks one for each
// verification, so that only the first has to start Python and import large libraries. The zero value is not usable: Python is needed.
type Verifier struct {
	Python  string        // path of the interpreter
	Environ []string      // environment of the kernel
	RunAs   *pawl.Account // the user who executes the kernel. Defaults to that of this process.
	Limits  Limits        // Time and Each limit a verification

	mu     sync.Mutex // guards the rest; held during a verification
	cmd    *exec.Cmd  // nil: not started
	input  io.WriteCloser
	output *bufio.Reader
	stderr *limited
	unsent []byte // the program, before the first request. It is not an argument, so lists of processes stay readable.
}

// verdict is what a verification found.
type verdict struct {
	ID       string
	Error    string
	Failed   map[string]string // variable → why it does not load
	Unstable []string          // variables whose content hash is different after each loading
}

// verify loads the manifest at path. If the process was killed meanwhile, it tries again once.
func (v *Verifier) verify(ctx context.Context, m Manifest, path, objects string) (verdict, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	result, err := v.try(ctx, m, path, objects)
	if errors.Is(err, ErrEnded) && ctx.Err() == nil {
		result, err = v.try(ctx, m, path, objects)
	}
	return result, err
}

// try loads the manifest at path. The caller holds mu.
func (v *Verifier) try(ctx context.Context, m Manifest, path, objects string) (verdict, error) {
	if err := v.start(); err != nil {
		return verdict{}, fmt.Errorf("start %s to verify variables: %w", v.Python, err)
	}
	limits := v.Limits.withDefaults()
	id := disk.RandomHex(8)
	request, err := json.Marshal(map[string]any{"id": id, "manifest": path, "sha256": m.SHA256, "objects": objects, "preload": m.Environment.Loaded,
		"seconds": limits.Time.Seconds(), "variable_seconds": limits.Each.Seconds()})
	if err != nil {
		return verdict{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limits.Time+10*time.Second)
	defer cancel()
	group := v.cmd.Process.Pid
	stop := context.AfterFunc(ctx, func() { syscall.Kill(-group, syscall.SIGKILL) }) // it has not been waited for: v.mu is held
	var result verdict
	line, err := v.exchange(request)
	switch {
	case !stop():
		err = context.Cause(ctx)
	case err != nil:
		err = fmt.Errorf("%w (%v)", ErrEnded, err)
	}
	if err == nil {
		err = json.Unmarshal(line, &result)
	}
	if err == nil && result.ID != id {
		err = errors.New("the answer belongs to another request")
	}
	if err != nil {
		text := v.stderr.String()
		v.close()
		return verdict{}, errors.Join(fmt.Errorf("verify variables: %w", err), textError(text))
	}
	if result.Error != "" {
		return verdict{}, fmt.Errorf("verify variables: %s", result.Error)
	}
	return result, nil
}

func textError(text string) error {
	if text = oneline.Printable(strings.TrimSpace(text)); text == "" {
		return nil
	}
	return errors.New(text)
}

func (v *Verifier) exchange(request []byte) ([]byte, error) {
	if _, err := v.input.Write(append(append(v.unsent, request...), '\n')); err != nil {
		return nil, err
	}
	v.unsent = nil
	return v.output.ReadBytes('\n')
}

// start starts the process, if it does not run.
func (v *Verifier) start() error {
	if v.cmd != nil {
		return nil
	}
	code := program() + "\nserve()\n"
	cmd := exec.Command(v.Python, "-c", "import sys; exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), 'pawl', 'exec'))", strconv.Itoa(len(code)))
	cmd.Env = account.Environ(v.RunAs, append(v.Environ, "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1"), nil) // no threads before a fork
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: account.Credential(v.RunAs)}
	v.stderr = &limited{}
	cmd.Stderr = v.stderr
	cmd.WaitDelay = time.Second
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	v.cmd, v.input, v.output, v.unsent = cmd, input, bufio.NewReader(output), []byte(code)
	return nil
}

// Close ends the process. The verifier may be used again.
func (v *Verifier) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.close()
}

func (v *Verifier) close() {
	if v.cmd == nil {
		return
	}
	syscall.Kill(-v.cmd.Process.Pid, syscall.SIGKILL)
	v.input.Close()
	v.cmd.Wait() // it was killed
	v.cmd = nil
}

// limited keeps the start of what a process prints.
type limited struct {
	mu   sync.Mutex // guards data
	data bytes.Buffer
}

func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := 4096 - l.data.Len(); room > 0 {
		l.data.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (l *limited) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.data.String()
}
