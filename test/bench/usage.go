package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// usage is what a program took.
type usage struct {
	time time.Duration
	peak int64 // bytes of memory that it held at most
}

func (u usage) and(then usage) usage {
	return usage{time: u.time + then.time, peak: max(u.peak, then.peak)}
}

// timedVerb makes this binary a program that runs another and says what it took. A program counts at first as large as
// the one that started it, so that must be small: the bench itself is not.
const timedVerb = "timed-program"

// usageFile is the descriptor on which the timed program's usage is said.
const usageFile = 3

func timedProgram(args []string) error {
	syscall.CloseOnExec(usageFile)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if err != nil {
		return err
	}
	rusage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	peak := rusage.Maxrss
	if runtime.GOOS != "darwin" { // which counts bytes, and the others KiB
		peak <<= 10
	}
	_, err = fmt.Fprintln(os.NewFile(usageFile, "usage"), int64(took), peak)
	return err
}

// timed runs a program in a folder and says what it took, and what it printed.
func (b *bench) timed(folder string, env []string, args ...string) (u usage, out string, err error) {
	return b.timedWith(nil, folder, env, args...)
}

// timedWith is timed for a program that reads what stands in a file.
func (b *bench) timedWith(stdin *os.File, folder string, env []string, args ...string) (u usage, out string, err error) {
	self, err := os.Executable()
	if err != nil {
		return usage{}, "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return usage{}, "", err
	}
	defer r.Close()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(self, append([]string{timedVerb}, args...)...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = folder, append(os.Environ(), env...), &stdout, &stderr, []*os.File{w}
	err = cmd.Run()
	w.Close()
	if err == nil {
		_, err = fmt.Fscan(r, &u.time, &u.peak)
	}
	if err != nil {
		return usage{}, "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return u, strings.TrimSpace(stdout.String()), nil
}

// blocksOf is how much a file takes on disk.
func blocksOf(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
