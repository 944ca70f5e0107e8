package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk/disktest"
)

// actVar makes the test binary another process that works on snapshots: "<root> <deed>…", see actor.do.
const actVar = "PAWL_TEST_ACT"

func TestMain(m *testing.M) {
	disktest.Inject()
	for name, value := range map[string]string{ // far from the settings of whoever runs the tests
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "XDG_CONFIG_HOME": os.DevNull,
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if os.Getenv(actVar) != "" {
		os.Exit(act(strings.Fields(os.Getenv(actVar))))
	}
	goleak.VerifyTestMain(m)
}

// act does its deeds in order, says a line of each on standard output, and stops at the first that fails.
func act(words []string) int {
	ctx := context.Background()
	store, err := Open(ctx, Config{Root: words[0], Dir: filepath.Join(words[0], ".pawl", "snapshots")})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	for i, deed := range words[1:] {
		if err := (actor{store}).do(ctx, deed, i); err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
	if err := store.Close(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

type actor struct{ *Store }

// do takes a snapshot at the word "take", lets no more files be open at "files=N", else restores the newest one for a checkpoint of that name.
func (a actor) do(ctx context.Context, deed string, i int) error {
	if n, ok := strings.CutPrefix(deed, "files="); ok {
		most, err := strconv.ParseUint(n, 10, 64)
		r, w, _ := os.Pipe() // Go's own descriptors, of which it cannot do without
		defer r.Close()
		defer w.Close()
		return errors.Join(err, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: most}))
	}
	stamp := Stamp{Checkpoint: pawl.CheckpointID(fmt.Sprintf("%04x%04x", os.Getpid()&0xffff, i)), Kind: pawl.CheckpointStep, Run: "run"}
	if deed == "take" {
		r, err := a.Take(ctx, stamp)
		fmt.Println("took", r.ID)
		return err
	}
	records, err := a.Records()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(records, func(r Record) bool { return string(r.Checkpoint) == deed })
	if at < 0 {
		return fmt.Errorf("no checkpoint %s", deed)
	}
	restoration, err := a.Prepare(ctx, records[at], nil)
	if err != nil {
		return err
	}
	stamp.Kind = pawl.CheckpointBeforeRestore
	before, err := restoration.Save(ctx, stamp)
	if err == nil {
		fmt.Println("saved", before.ID)
		err = restoration.Apply(ctx)
	}
	return errors.Join(err, restoration.Close())
}

// actor is another process that does the deeds in the workspace.
func (w *workspace) actor(env []string, deeds ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), actVar+"="+w.root+" "+strings.Join(deeds, " ")), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// nobody is an actor for whom modes mean something: an ordinary user, to whom the whole workspace is given. Root can be
// one; anybody else already is.
func (w *workspace) nobody(deeds ...string) *exec.Cmd {
	w.t.Helper()
	cmd := w.actor(nil, deeds...)
	if os.Geteuid() != 0 {
		return cmd
	}
	const nobody = 65534
	binary, err := os.Open("/proc/self/exe") // its folder may be closed to others
	w.must(err)
	w.t.Cleanup(func() { binary.Close() })
	cmd.Path, cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{binary}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	w.must(os.Chmod(filepath.Dir(w.root), 0o711))
	w.must(filepath.WalkDir(w.root, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	}))
	return cmd
}

// said is how an actor ended.
type said struct {
	ids    []string // of the snapshots that it took
	err    string
	killed bool
}

func (w *workspace) run(cmd *exec.Cmd) said {
	w.t.Helper()
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	s := said{}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		s.killed = exit.Sys().(syscall.WaitStatus).Signaled()
	} else if err != nil {
		w.t.Fatal(err)
	}
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Credential != nil { // root uses no .pawl of others
		w.must(filepath.WalkDir(w.path(".pawl"), func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, os.Geteuid(), os.Getegid()))
		}))
	}
	for line := range strings.Lines(out.String()) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "took", "saved":
			s.ids = append(s.ids, rest)
		case "error":
			s.err = rest
		}
	}
	return s
}

// calledBy reports whether a function is among the callers.
func calledBy(name string) bool {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}
