package jupyter_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/kernel/kerneltest"
	"pawl/internal/supervise/process"
)

func TestCells(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Spec{})
	if info := k.Info(); info.Language != "python" || info.Driver != kernel.Jupyter || info.Name != "python3" || info.Interpreter.Path != kerneltest.PythonPath() ||
		!strings.HasPrefix(info.Implementation, "ipython ") || !strings.Contains(string(info.LanguageInfo), `"mimetype"`) {
		t.Errorf("%+v", info)
	}
	if e := k.Run("a", "import sys; print('out'); print('err', file=sys.stderr); x = 20; x + 1", kernel.OK); e.Count != 1 || e.Peak < 1<<20 {
		t.Errorf("%+v", e)
	}
	var kinds []string
	for _, m := range k.Messages() {
		if m.Cell == "a" {
			kinds = append(kinds, strings.TrimSuffix(fmt.Sprintf("%s %s", m.Kind, m.Stream), " "))
		}
	}
	for _, want := range []string{"busy", "started", "stream stdout", "stream stderr", "result", "reply", "idle"} {
		if !strings.Contains(strings.Join(kinds, ","), want) {
			t.Errorf("no %s in %s", want, kinds)
		}
	}
	if e := k.Run("b", "1/0", kernel.Failed); e.Error == nil || e.Error.Name != "ZeroDivisionError" || len(e.Error.Traceback) == 0 || e.Count != 2 {
		t.Errorf("%+v", e)
	}
	k.Run("c", "assert x == 20", kernel.OK) // may have been aborted and sent again
	if e, err := k.Execute(t.Context(), kernel.Cell{ID: "s", Code: "print('quiet')", Silent: true}); err != nil || e.Status != kernel.OK || k.Output("s") != "quiet\n" {
		t.Error(e, err, k.Output("s"))
	}
	if e := k.Run("d", "print(In[-1])", kernel.OK); e.Count != 4 {
		t.Errorf("%+v: a silent cell was counted", e)
	}
}

// TestDisplays checks what widgets and displays bring.
func TestDisplays(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Spec{})
	k.Run("a", `
from IPython.display import display, update_display, clear_output, HTML
display(HTML("<b>x</b>"), display_id="one")
update_display(HTML("<i>y</i>"), display_id="one")
clear_output(wait=True)
from ipykernel.comm import Comm
c = Comm(target_name="t", data={"n": 1}, buffers=[b"\x00\xff"])
c.send({"n": 2})
c.close()`, kernel.OK)
	var got []string
	for _, m := range k.Messages() {
		switch m.Kind {
		case kernel.KindDisplay, kernel.KindUpdate:
			got = append(got, fmt.Sprint(m.Kind, " ", m.DisplayID, " ", string(m.Data["text/html"])))
		case kernel.KindClear:
			got = append(got, fmt.Sprint(m.Kind, " ", m.Wait))
		case kernel.KindComm:
			got = append(got, fmt.Sprintf("comm %s %s %s %x", m.Comm.Type, m.Comm.Target, m.Comm.Data, m.Comm.Buffers))
		}
	}
	want := `display one "<b>x</b>"|update one "<i>y</i>"|clear true|comm open t {"n": 1} [00ff]|comm msg  {"n": 2} []|comm close  {} []`
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// TestInterrupt interrupts a cell. The variables stay, and the next cell is executed although the kernel aborts its first request.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Spec{})
	for i, code := range []string{
		"import time; time.sleep(1000)",
		"!echo started; sleep 1000",
		"import subprocess; subprocess.run(['sh', '-c', 'echo started; sleep 1000; true'])",
		"while True: pass",
	} {
		id := cellID("i", i)
		c := k.Begin(id, fmt.Sprintf("x%d = 1; print('go', flush=True)\n%s", i, code))
		k.AwaitOutput(id, "go")
		if i == 1 {
			k.AwaitOutput(id, "started")
		}
		if err := k.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if e := k.End(c); e.Status != kernel.Interrupted && !(i == 1 && e.Status == kernel.OK) {
			t.Errorf("%s: %+v", code, e)
		}
		k.Run(cellID("after", i), fmt.Sprintf("assert x%d == 1", i), kernel.OK)
	}
	if list := descendants(t, k.Info().PID); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
	if err := k.Interrupt(t.Context()); err != nil { // nothing runs
		t.Error(err)
	}
	k.Run("last", "1", kernel.OK)
}

func descendants(t *testing.T, pid int) (commands []string) {
	t.Helper()
	table, err := process.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range process.Below(table, pid) {
		commands = append(commands, process.Command(s.PID))
	}
	return commands
}

// TestHelperDies kills the helper in the middle of a cell. Another one gets the rest of it; the cell is not executed again.
func TestHelperDies(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Spec{})
	file := filepath.Join(t.TempDir(), "go")
	c := k.Begin("a", fmt.Sprintf(`
import os, time
print('first', flush=True)
n = globals().get('n', 0) + 1
while not os.path.exists(%q): time.sleep(0.01)
print('second', flush=True)
n`, file))
	k.AwaitOutput("a", "first")
	if !jupyter.KillHelper(k.Kernel) {
		t.Fatal("no helper")
	}
	k.Await("news of the loss", func(m kernel.Message) bool { return strings.HasPrefix(m.Text, "the connection was lost") })
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := k.End(c); e.Status != kernel.OK || e.Why != "" {
		t.Errorf("%+v", e)
	}
	if got := k.Output("a"); got != "first\nsecond\n" {
		t.Errorf("output %q", got)
	}
	k.Run("b", "assert n == 1", kernel.OK)
	if !jupyter.KillHelper(k.Kernel) { // while nothing runs
		t.Fatal("no helper")
	}
	k.Run("c", "assert n == 1", kernel.OK)
}

// TestStacks asks for the stacks of a kernel that holds the interpreter's lock in native code.
func TestStacks(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Spec{})
	if stacks, err := k.Stacks(t.Context()); err != nil || !strings.Contains(stacks, "most recent call first") {
		t.Errorf("while idle: %v: %s", err, stacks)
	}
	file := filepath.Join(t.TempDir(), "go") // a line of output could wait for the lock
	c := k.Begin("a", fmt.Sprintf("def deep():\n    open(%q, 'w').close()\n    import re; re.match('(a+)+$', 'a'*40 + 'b')\ndeep()", file))
	kerneltest.Retry(t, func() bool { _, err := os.Stat(file); return err == nil })
	stacks, err := k.Stacks(t.Context())
	if err != nil || !strings.Contains(stacks, "in deep") {
		t.Errorf("%v: %s", err, stacks)
	}
	if err := k.Signal(kernel.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.End(c)
	if _, err := k.Stacks(t.Context()); err == nil {
		t.Error("stacks of a dead kernel")
	}
}

func TestInputIsRefused(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Spec{})
	if e := k.Run("a", "input('name? ')", kernel.Failed); e.Error.Name != "StdinNotImplementedError" || !strings.Contains(e.Error.Value, "input") {
		t.Errorf("%+v", e)
	}
	// A cell that makes the kernel ask all the same is interrupted.
	k.Run("b", "get_ipython().kernel._allow_stdin = True; input('name? ')", kernel.Interrupted)
	if !strings.Contains(k.Output("b"), "nobody can answer") {
		t.Errorf("output %q", k.Output("b"))
	}
	k.Run("c", "1", kernel.OK)
}

// TestLateOutput: what a thread prints after its cell belongs to that cell.
func TestLateOutput(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Spec{})
	file := filepath.Join(t.TempDir(), "go")
	k.Run("a", fmt.Sprintf(`
import os, threading, time
def late():
    while not os.path.exists(%q): time.sleep(0.01)
    print('late', flush=True)
threading.Thread(target=late).start()`, file), kernel.OK)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k.AwaitOutput("a", "late")
	k.Run("b", "1", kernel.OK)
}

// TestKeepsToItself: a kernel leaves nothing in the user's home.
func TestKeepsToItself(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	k := start(t, kernel.Spec{Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + home, "JPY_PARENT_PID=1"}})
	k.Run("a", "secret = 1", kernel.OK)
	if err := k.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if d := k.Death(); d.Why != "shut down" {
		t.Errorf("%+v", d)
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}

// TestRunAs runs the kernel as another user.
func TestRunAs(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root can
	}
	nobody := &pawl.Account{Name: "nobody", UID: 65534, GID: 65534, Groups: []uint32{65534}, Home: "/nonexistent"}
	k := start(t, kernel.Spec{RunAs: nobody, Dir: "/", Project: t.TempDir()})
	k.Run("a", "import os; print(os.getuid(), os.getgroups())", kernel.OK)
	if k.Output("a") != "65534 [65534]\n" {
		t.Errorf("output %q", k.Output("a"))
	}
	if !jupyter.KillHelper(k.Kernel) {
		t.Fatal("no helper")
	}
	k.Run("b", "1", kernel.OK)
	if stacks, err := k.Stacks(t.Context()); err != nil || stacks == "" {
		t.Error(stacks, err)
	}
}

// TestLosesNothing: a slow reader gets all that a kernel prints. Meanwhile it waits in a file.
func TestLosesNothing(t *testing.T) {
	t.Parallel()
	const displays, bytes = 20000, 50 << 20
	release, n, size := make(chan struct{}), 0, 0
	emit := func(m kernel.Message) {
		switch {
		case m.Cell == "":
		case m.Kind == kernel.KindStarted && m.Cell == "a":
			<-release
		case m.Kind == kernel.KindDisplay:
			if want := fmt.Sprintf(`"%d"`, n); string(m.Data["text/plain"]) != want {
				t.Fatalf("display %s, want %s", m.Data["text/plain"], want)
			}
			n++
		case m.Kind == kernel.KindStream:
			size += len(m.Text)
		}
	}
	k, err := jupyter.Driver{}.Start(t.Context(), specOf(t, kernel.Spec{Extra: map[string]string{"memory": "100000"}}), emit)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "done")
	ended := make(chan kernel.Ending)
	go func() {
		e, err := k.Execute(t.Context(), kernel.Cell{ID: "a", Code: fmt.Sprintf(`
for i in range(%d): display(i)
for i in range(50): print('x' * ((1 << 20) - 1), flush=True)
open(%q, 'w').close()`, displays, file)})
		if err != nil {
			t.Error(err)
		}
		ended <- e
	}()
	kerneltest.Retry(t, func() bool { _, err := os.Stat(file); return err == nil })
	close(release)
	if e := <-ended; e.Status != kernel.OK || e.Why != "" || n != displays || size != bytes {
		t.Errorf("%+v: %d displays, %d bytes", e, n, size)
	}
	if err := k.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
