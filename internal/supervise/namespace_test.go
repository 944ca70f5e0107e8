//go:build linux

package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
)

// inNamespace gives the attempt a PID namespace.
func (a *attempt) inNamespace() {
	a.Helper()
	if err := checkNamespaces(); err != nil {
		a.Skip(err)
	}
	a.job.PIDNamespace = true
}

// here returns the processes that are in the attempt's folder, by what they are called inside.
func (a *attempt) here() map[int]int {
	found := map[int]int{}
	folders, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, folder := range folders {
		if at, err := os.Readlink(folder); err != nil || at != a.work {
			continue
		}
		data, _ := os.ReadFile(filepath.Join(filepath.Dir(folder), "status"))
		_, line, _ := strings.Cut(string(data), "\nNSpid:")
		line, _, _ = strings.Cut(line, "\n")
		if pids := strings.Fields(line); len(pids) > 0 {
			inside, _ := strconv.Atoi(pids[len(pids)-1])
			found[inside], _ = strconv.Atoi(pids[0])
		}
	}
	return found
}

func (a *attempt) seenFromHere(pid int) int { return a.here()[pid] }

// users are who may start an engine: whoever runs the tests, and an ordinary user.
var users = map[string]func(*attempt) *exec.Cmd{
	"self":   func(a *attempt) *exec.Cmd { return a.engine() },
	"nobody": (*attempt).nobodysEngine,
}

// nobodysEngine returns an engine of an ordinary user, who may not even reach the folder of our binary.
func (a *attempt) nobodysEngine() *exec.Cmd {
	a.Helper()
	if os.Geteuid() != 0 {
		a.Skip("only root can be someone else")
	}
	const nobody = 65534
	cmd := a.engine()
	binary, err := os.Open("/proc/self/exe")
	a.no(err)
	a.Cleanup(func() { binary.Close() })
	cmd.Path, cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{binary}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	root := filepath.Dir(a.work)
	a.no(os.Chmod(filepath.Dir(root), 0o711))
	a.no(filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, nobody, nobody)
	}))
	return cmd
}

func TestNamespace(t *testing.T) {
	for user, engine := range users {
		t.Run(user, func(t *testing.T) {
			a := sh(t, `echo $PPID $PAWL_TOKEN $(pwd) $(id -u); grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status >&2
				test "$(readlink /proc/$$/cwd)" = "$(pwd)" || echo its /proc is not its own
				test ! -e /proc/$$/fd/3 || echo it has a descriptor of ours
				(echo $$ > leader.pid); until test -e go; do sleep 0.01; done; exit 7`)
			a.inNamespace()
			cmd := engine(a)
			a.no(cmd.Start())
			a.waitFor("leader")
			if pid, err := os.Readlink("/proc/self"); pid != strconv.Itoa(os.Getpid()) {
				t.Errorf("its /proc shows here: %q, %v", pid, err)
			}
			a.no(os.WriteFile(filepath.Join(a.work, "go"), nil, 0o600))
			a.no(cmd.Wait())
			if exit := a.exit(); exit.Exit == nil || *exit.Exit != 7 || exit.Killed != 0 {
				t.Errorf("exit %+v", exit)
			}
			uid := os.Getuid()
			if c := cmd.SysProcAttr; c != nil {
				uid = int(c.Credential.Uid)
			}
			if want := fmt.Sprintf("1 %s %s %d\n", a.job.Token, a.work, uid); a.read(pawl.OutFile) != want {
				t.Errorf("out %q, want %q", a.read(pawl.OutFile), want)
			}
			if rights := a.read(pawl.ErrFile); uid != 0 && strings.Trim(rights, "CapPrmEfAb:\t0\n") != "" {
				t.Errorf("the step has rights: %s", rights)
			}
			if status, err := Probe(a.dir); err != nil || status.Begun.Scope != "pid-namespace" {
				t.Errorf("begun %+v, %v", status.Begun, err)
			}
		})
	}
}

// A command that dies by a signal is seen to, although its init does not.
func TestNamespaceSignals(t *testing.T) {
	for _, name := range []string{"TERM", "KILL", "SEGV"} {
		t.Run(name, func(t *testing.T) {
			a := sh(t, "kill -"+name+" $$")
			a.inNamespace()
			if exit := a.run(); exit.Exit != nil || exit.Signal != "SIG"+name || exit.Reason != pawl.ReasonExited {
				t.Errorf("exit %+v", exit)
			}
		})
	}
}

func TestNamespaceCannotStart(t *testing.T) {
	for name, change := range map[string]func(*pawl.Job){
		"program": func(job *pawl.Job) { job.Command = []string{"/no/such/program"} },
		"folder":  func(job *pawl.Job) { job.Dir = "/no/such/folder" },
	} {
		t.Run(name, func(t *testing.T) {
			a := sh(t, "true")
			a.inNamespace()
			change(&a.job)
			exit := a.run()
			if exit.Reason != pawl.ReasonError || exit.Exit != nil || !strings.HasSuffix(exit.Why, a.job.Command[0]+": no such file or directory") {
				t.Errorf("exit %+v", exit)
			}
		})
	}
}

// Where the system does not have it, an attempt that asks for it fails and names who forbids it, and what asked.
func TestNamespaceForbidden(t *testing.T) {
	a := sh(t, "echo ran")
	a.inNamespace()
	cmd := a.engine()
	cmd.Args = []string{"sh", "-c", `echo 0 > /proc/sys/user/max_pid_namespaces && exec "$0" engine "$1"`, cmd.Path, a.dir}
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	a.no(cmd.Run())
	exit := a.exit()
	for _, want := range []string{"pid_namespace: true", "user.max_pid_namespaces=0", "/bin/sh"} {
		if exit.Reason != pawl.ReasonError || !strings.Contains(exit.Why, want) || a.read(pawl.OutFile) != "" {
			t.Errorf("exit %+v; want %s", exit, want)
		}
	}
}

// A supervisor killed -9 takes everything along, also the daemon without a name, a parent or our session, with nobody
// there to sweep and without a cgroup.
func TestNamespaceDiesWithSupervisor(t *testing.T) {
	for user, engine := range users {
		t.Run(user, func(t *testing.T) {
			a := doing(t, "family")
			a.withoutCgroup()
			a.inNamespace()
			cmd := engine(a)
			a.no(cmd.Start())
			a.waitFor("leader", "child", "session", "group", "nameless", "daemon")
			a.no(Kill(a.dir))
			a.no(cmd.Wait())
			a.until("nobody left", func() bool { return len(a.here()) == 0 })
			if _, left, err := Sweep(a.dir, ""); left != nil || err != nil {
				t.Errorf("sweep: left %v, %v", left, err)
			}
		})
	}
}

func TestNamespaceCounts(t *testing.T) {
	a := sh(t, `(echo $$ > leader.pid); sh -c 'ulimit -t 1; while :; do :; done'; sleep 1000 & wait`)
	a.inNamespace()
	a.job.Beat = pawl.Duration(100 * time.Millisecond)
	a.start()
	a.until("a heartbeat with its processor time, of two processes", func() bool {
		beat, _ := readRecord[pawl.Beat](filepath.Join(a.dir, pawl.BeatFile))
		return beat != nil && beat.Processes == 2 && beat.CPUSeconds > 0.2
	})
	a.no(RequestAbort(a.dir, pawl.Abort{Reason: pawl.ReasonAbort}))
	a.no(Attach(a.dir).Wait(a.soon()))
	if exit := a.exit(); exit.CPUSeconds < 0.2 || exit.Unkilled != nil {
		t.Errorf("exit %+v", exit)
	}
}

func TestNamespaceIsSaidByDoctor(t *testing.T) {
	t.Parallel()
	possible := checkNamespaces() == nil
	if !slices.ContainsFunc(Guarantees(), func(f pawl.Finding) bool {
		return strings.Contains(f.What, "pid_namespace") && (f.Level == pawl.OK) == possible
	}) {
		t.Errorf("guarantees: %+v", Guarantees())
	}
}
