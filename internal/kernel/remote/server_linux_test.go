package remote

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/kerneltest"
	"pawl/internal/supervise/process"
)

const token = "token-of-a-test"

// startServer starts a Jupyter server for a test, and returns its address.
func startServer(t testing.TB, options ...string) kernel.Server {
	t.Helper()
	dir := t.TempDir()
	folder := filepath.Join(dir, "runtime")
	var log strings.Builder
	args := append([]string{
		"-m", "jupyter_server", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--ServerApp.port_retries=0", "--ServerApp.root_dir=" + dir,
	}, options...)
	server := exec.Command(kerneltest.PythonPath(), args...)
	server.Dir, server.Stdout, server.Stderr = dir, &log, &log
	server.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=" + dir, "JUPYTER_TOKEN=" + token, "JUPYTER_RUNTIME_DIR=" + folder, "JUPYTER_CONFIG_DIR=" + dir,
		"JUPYTER_DATA_DIR=" + dir, "IPYTHONDIR=" + dir,
	}
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	exited, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // the server dies with the thread that starts it
		defer close(exited)
		err := server.Start()
		started <- err
		if err == nil {
			_ = server.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-server.Process.Pid, syscall.SIGKILL)
		<-exited
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		select {
		case <-exited:
			t.Fatalf("the server has ended: %s", log.String())
		default:
		}
		addresses, err := process.Listens(server.Process.Pid) // the server writes down port 0
		if err == nil && len(addresses) > 0 {
			return kernel.Server{URL: "http://" + addresses[0], Token: token}
		}
	}
	return kernel.Server{}
}

// childOf returns the number of the process of a kernel.
func childOf(t testing.TB, id string) string {
	t.Helper()
	table, err := process.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range table {
		if !s.Dead && strings.Contains(strings.Join(process.Args(s.PID), " "), "kernel-"+id+".json") {
			return strconv.Itoa(s.PID)
		}
	}
	return ""
}
