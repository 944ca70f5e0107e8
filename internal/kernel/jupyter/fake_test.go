package jupyter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/kernel/kerneltest"
)

// silence is how long half of a cell's end may be missing in tests of that. In others a busy machine may take longer.
const silence = 300 * time.Millisecond

// fake starts the kernel of testdata/fake.py.
func fake(t *testing.T, mode string, options ...string) (*kerneltest.Session, error) {
	t.Helper()
	return begin(t, fakeSpec(t, mode, options...))
}

func fakeSpec(t *testing.T, mode string, options ...string) kernel.Spec {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("testdata", "fake.py"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]any{
		"argv": append([]string{kerneltest.PythonPath(), program, "{connection_file}"}, options...), "language": "fake", "interrupt_mode": mode,
	})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	install(t, root, "fake", string(content))
	return kernel.Spec{Name: "fake", Environ: environ(t, "JUPYTER_PATH="+root), Silence: kerneltest.Patience, StartLimit: kerneltest.Patience}
}

// TestEndsOfCells plays what kernels do wrong at the end of a cell. After each case the kernel executes another cell.
func TestEndsOfCells(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "signal")
	patient := start(t, spec)
	spec.Silence = silence
	impatient := start(t, spec)
	for i, c := range []struct {
		name, code string
		status     kernel.Status
		why        string
		count      int
		replies    int
	}{
		{"whole", "k.ok()", kernel.OK, "", 7, 1},
		{"idle is first", "k.busy(); k.idle(); time.sleep(0.05); k.reply()", kernel.OK, "", 7, 1},
		{"no idle", "k.busy(); k.reply()", kernel.OK, "the kernel replied, but published no idle status for 300ms", 7, 1},
		{"no idle, output goes on", "k.busy(); k.reply(); [(k.print('x'), time.sleep(0.1)) for i in range(10)]", kernel.OK, "no idle status", 7, 1},
		{"no reply", "k.busy(); k.started(); k.idle()", kernel.OK, "the kernel became idle, but did not reply for 300ms", 7, 0},
		{"no reply, error", "k.busy(); k.publish('error', {'ename': 'E', 'evalue': 'v', 'traceback': []}); k.idle()", kernel.Failed, "did not reply", 0, 0},
		{"no reply, interrupted", "k.busy(); k.publish('error', {'ename': 'KeyboardInterrupt', 'evalue': '', 'traceback': []}); k.idle()", kernel.Interrupted, "did not reply", 0, 0},
		{"error", "k.busy(); k.reply('error', ename='E', evalue='v', traceback=[]); k.idle()", kernel.Failed, "", 7, 1},
		{"aborted once", "k.reply('aborted') if times == 1 else k.ok()", kernel.OK, "", 7, 2},
		{"abort once", "(k.busy(), k.reply('abort'), k.idle()) if times == 1 else k.ok()", kernel.OK, "", 7, 2},
		{"aborted for ever", "k.reply('aborted') if times < 3 else k.ok()", kernel.Aborted, "twice without executing it", 0, 2},
		{"aborted after it began", "k.busy(); k.started(); k.reply('aborted'); k.idle() if times == 1 else k.ok()", kernel.Aborted, "after it had begun", 7, 1},
		{"three replies", "k.busy(); k.reply(); k.reply('error'); time.sleep(0.05); k.idle(); k.reply('error')", kernel.OK, "", 7, 1},
		{"reply to a stranger", "s = dict(k.parent, msg_id='x'); k.reply('error', parent=s); k.publish('status', {'execution_state': 'idle'}, parent=s); time.sleep(0.05); k.ok()", kernel.OK, "", 7, 1},
		{"old parent", "s = dict(k.parent, msg_id=k.parent['msg_id'] + 'old'); k.reply('error', parent=s); k.publish('status', {'execution_state': 'idle'}, parent=s); time.sleep(0.05); k.ok()", kernel.OK, "", 7, 1},
	} {
		k := patient
		if strings.Contains(c.why, "no idle") || strings.Contains(c.why, "not reply") {
			k = impatient
		}
		id := cellID("c", i)
		e := k.Run(id, c.code, c.status)
		if !strings.Contains(e.Why, c.why) || c.why == "" && e.Why != "" || e.Count != c.count {
			t.Errorf("%s: %+v, want count %d and %q", c.name, e, c.count, c.why)
		}
		k.Run(id+"after", fmt.Sprint("k.ok() # ", i), kernel.OK)
		replies := 0
		for _, m := range k.Messages() {
			if m.Cell == kernel.CellID(id) && m.Kind == kernel.KindReply {
				replies++
			}
		}
		if replies != c.replies {
			t.Errorf("%s: %d replies, want %d", c.name, replies, c.replies)
		}
	}
}

// TestBadMessages: pawl reports what is not signed or not JSON, and delivers it nowhere. What has a stranger's request is of no cell.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	k, err := fake(t, "")
	if err != nil {
		t.Fatal(err)
	}
	k.Run("a", "k.busy(); k.started(); k.publish('stream', {'name': 'stdout', 'text': 'forged'}, session=k.stranger); k.print('a'); k.reply(); k.idle()", kernel.OK)
	k.Await("refusal", func(m kernel.Message) bool { return strings.Contains(m.Text, "Invalid Signature") })
	for i, content := range []string{`{"name": "stdout", "text": `, "not\\nJSON", `}{"channel":"shell"`, `{"name": 1}`, `[]`, ``, `{"text": "\xff"}`} {
		id := cellID("b", i)
		k.Run(id, fmt.Sprintf("k.busy(); k.started(); k.signed(b'%s'); k.print('b'); k.reply(); k.idle()", content), kernel.OK)
		if got := k.Output(id); got != "b" && got != "\ufffdb" {
			t.Errorf("%s: output %q", content, got)
		}
	}
	k.Run("c", "k.busy(); k.publish('stream', {'name': 'stdout', 'text': 'strange'}, parent=dict(k.parent, msg_id='x')); k.reply(); k.idle()", kernel.OK)
	k.Await("output of no cell", func(m kernel.Message) bool { return m.Cell == "" && m.Text == "strange" })
	if got := k.Output("a") + k.Output("c"); got != "a" {
		t.Errorf("output %q", got)
	}
	n := 0
	for _, m := range k.Messages() {
		if strings.HasPrefix(m.Text, "a message was refused") {
			n++
		}
	}
	if n != 7 {
		t.Errorf("%d messages were refused: %+v", n, k.Messages())
	}
	k.Run("d", "k.busy(); [k.signed(b'[') for i in range(1000)]; k.reply(); k.idle()", kernel.OK)
	n = 0
	for _, m := range k.Messages() {
		if strings.HasPrefix(m.Text, "a message was refused") {
			n++
		}
	}
	if n != 20 {
		t.Errorf("%d refused messages are reported", n)
	}
}

// TestLargeMessage sends 30 MB in one message.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	k := start(t, fakeSpec(t, ""))
	k.Run("a", "k.busy(); k.print('x' * 30_000_000); k.reply(); k.idle()", kernel.OK)
	if got := len(k.Output("a")); got != 30_000_000 {
		t.Errorf("%d bytes", got)
	}
}

// TestSlowReader: a kernel drops what a subscriber does not take, after 1,000 messages. The helper takes all, however slow pawl is. The
// kernel pauses, because on a busy machine the helper may not run for a while, and nothing in pawl can help that.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	release, n := make(chan struct{}), 0
	emit := func(m kernel.Message) {
		if m.Kind == kernel.KindStream {
			if n == 0 {
				<-release
			}
			n++
		}
	}
	spec := specOf(t, fakeSpec(t, ""))
	k, err := jupyter.Driver{}.Start(t.Context(), spec, emit)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close(context.WithoutCancel(t.Context()))
	file := filepath.Join(t.TempDir(), "sent")
	ended := make(chan kernel.Ending)
	go func() {
		e, err := k.Execute(t.Context(), kernel.Cell{ID: "a", Code: fmt.Sprintf("k.busy()\nfor i in range(6000):\n  k.print('x')\n  if i %% 100 == 0: time.sleep(0.01)\nopen(%q, 'w').close(); k.reply(); k.idle()", file)})
		if err != nil {
			t.Error(err)
		}
		ended <- e
	}()
	kerneltest.Retry(t, func() bool { _, err := os.Stat(file); return err == nil })
	close(release)
	if e := <-ended; e.Status != kernel.OK || n != 6000 {
		t.Errorf("%+v: %d messages", e, n)
	}
}

func TestMuteBeforeReady(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "", "mute")
	spec.StartLimit = 2 * time.Second
	pid := 0
	spec.Process = func(p int) { pid = p }
	if _, err := begin(t, spec); err == nil || !strings.Contains(err.Error(), "kernel fake is not ready after 2s") {
		t.Error(err)
	}
	if pid == 0 || syscall.Kill(pid, 0) == nil {
		t.Errorf("process %d is left", pid)
	}
}

// TestLateStart: a kernel may miss requests, and what it publishes may get lost, before it is ready.
func TestLateStart(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"late=4", "unheard=4"} {
		begun := time.Now()
		k, err := fake(t, "", option)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begun); d < 1400*time.Millisecond {
			t.Errorf("%s: ready after %s", option, d)
		}
		k.Run("a", "k.ok()", kernel.OK)
	}
}

// TestMuteInCell: a kernel that says nothing any more keeps its cell. The caller decides; an interrupt by message is followed by the
// signal.
func TestMuteInCell(t *testing.T) {
	t.Parallel()
	k, err := fake(t, "message")
	if err != nil {
		t.Fatal(err)
	}
	c := k.Begin("a", "k.busy(); k.started(); k.print('go'); time.sleep(1000)")
	k.AwaitOutput("a", "go")
	begun := time.Now()
	if err := k.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begun); d < time.Second {
		t.Errorf("the signal came after %s", d)
	}
	if e := k.End(c); e.Status != kernel.Interrupted {
		t.Errorf("%+v", e)
	}
}

// TestControlIsMute closes a kernel that answers nothing on the control channel, and one that ignores SIGTERM, too.
func TestControlIsMute(t *testing.T) {
	t.Parallel()
	for _, options := range [][]string{{"nocontrol"}, {"nocontrol", "deaf"}} {
		k, err := fake(t, "", options...)
		if err != nil {
			t.Fatal(err)
		}
		k.Run("a", "k.ok()", kernel.OK)
		if err := k.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		want := []string{"SIGTERM", "SIGKILL"}[len(options)-1]
		if k.Death().Signal != want {
			t.Errorf("%v: %+v", options, k.Death())
		}
	}
}

// TestDiesBetweenReplyAndIdle: the cell has ended as the kernel replied.
func TestDiesBetweenReplyAndIdle(t *testing.T) {
	t.Parallel()
	k, err := fake(t, "")
	if err != nil {
		t.Fatal(err)
	}
	e := k.Run("a", "k.busy(); k.print('x'); k.reply(); k.flush(); os._exit(5)", kernel.OK)
	if e.Death == nil || e.Death.Exit == nil || *e.Death.Exit != 5 || e.Why != "the kernel replied, and then died: exited with code 5" || k.Output("a") != "x" {
		t.Errorf("%+v", e)
	}
}

// TestRestartsItself: the variables are lost, so the kernel counts as dead.
func TestRestartsItself(t *testing.T) {
	t.Parallel()
	k, err := fake(t, "")
	if err != nil {
		t.Fatal(err)
	}
	e := k.Run("a", "k.busy(); k.publish('status', {'execution_state': 'starting'}); time.sleep(1000)", kernel.Lost)
	if !strings.Contains(e.Why, "the kernel restarted itself") {
		t.Errorf("%+v", e)
	}
	k.Await("news", func(m kernel.Message) bool { return m.Kind == kernel.KindStatus && m.Text == "restarting" })
}

// TestLostWithTheHelper: a cell that ended, or was sent, while there was no helper. It is never sent again.
func TestLostWithTheHelper(t *testing.T) {
	t.Parallel()
	k, err := fake(t, "")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "go")
	c := k.Begin("a", fmt.Sprintf(`
k.busy(); k.started(); k.print('go')
open(%[1]q, 'a').write('x')
while os.path.getsize(%[1]q) < 2: time.sleep(0.001)
k.reply(); k.idle()`, file))
	k.AwaitOutput("a", "go")
	if !jupyter.KillHelper(k.Kernel) {
		t.Fatal("no helper")
	}
	if err := appendTo(file, "y"); err != nil { // the new helper takes 100 ms
		t.Fatal(err)
	}
	if e := k.End(c); e.Status != kernel.Lost || !strings.Contains(e.Why, "the cell ended while the connection was lost") {
		t.Errorf("%+v", e)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "xy" {
		t.Errorf("%q %v: executed again", data, err)
	}
	k.Run("b", "k.ok()", kernel.OK)

	if !jupyter.SignalHelper(k.Kernel, syscall.SIGSTOP) {
		t.Fatal("no helper")
	}
	c = k.Begin("c", fmt.Sprintf("open(%q, 'a').write('z'); k.ok()", file))
	kerneltest.Retry(t, func() bool { return jupyter.Waits(k.Kernel) })
	if !jupyter.KillHelper(k.Kernel) {
		t.Fatal("no helper")
	}
	if e := k.End(c); e.Status != kernel.Lost || !strings.Contains(e.Why, "it is unknown whether the kernel executed it") {
		t.Errorf("%+v", e)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "xy" {
		t.Errorf("%q %v: executed after all", data, err)
	}
	k.Run("d", "k.ok()", kernel.OK)
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// TestHelperDiesTooOften: a connection that is lost again and again is given up, and the kernel with it.
func TestHelperDiesTooOften(t *testing.T) {
	t.Parallel()
	k, err := fake(t, "")
	if err != nil {
		t.Fatal(err)
	}
	for k.Death().Why == "" {
		kerneltest.Retry(t, func() bool { return jupyter.KillHelper(k.Kernel) || k.Death().Why != "" })
	}
	if d := k.Death(); d.Why != "the connection was lost too often" {
		t.Errorf("%+v", d)
	}
}

// TestFallsBackToTCP: a kernel of which pawl does not know that it cannot use Unix sockets gets TCP ports after half of the limit.
func TestFallsBackToTCP(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "")
	root := t.TempDir()
	program, err := filepath.Abs(filepath.Join("testdata", "fake.py"))
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`import json, sys, time; json.load(open(sys.argv[1]))["transport"] == "tcp" or time.sleep(1000); import os; os.execv(%[1]q, [%[1]q, %[2]q, sys.argv[1]])`, kerneltest.PythonPath(), program)
	content, err := json.Marshal(map[string]any{"argv": []string{kerneltest.PythonPath(), "-c", script, "{connection_file}"}})
	if err != nil {
		t.Fatal(err)
	}
	install(t, root, "fake", string(content))
	spec.Environ = append(slices.Clone(spec.Environ), "JUPYTER_PATH="+root)
	spec.StartLimit = 16 * time.Second
	k := start(t, spec)
	k.Run("a", "k.ok()", kernel.OK)
	k.Await("warning", func(m kernel.Message) bool { return strings.Contains(m.Text, "other users of this machine can read") })
}
