package bridge

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/kernel/kerneltest"
)

func start(t testing.TB, change func(*kernel.Spec)) *kerneltest.Session {
	t.Helper()
	spec := kernel.Spec{Python: python(t), Dir: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}}
	if change != nil {
		change(&spec)
	}
	return kerneltest.Start(t, Driver{}, spec)
}

func TestCells(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	for i, test := range []struct{ code, prints, fails string }{
		{"print(__name__, __import__('sys').argv)", "__main__ ['']\n", ""},
		{"import pickle\nclass Point: pass\nprint(type(pickle.loads(pickle.dumps(Point()))).__module__)", "__main__\n", ""},
		{"x = 1;\nx;", "", ""},
		{"_ = 5\n_", "", ""},
		{"", "", ""},
		{"# nothing", "", ""},
		{"print('a', end='')\nprint('b')", "ab\n", ""},
		{"import sys\n_ = sys.stdout.buffer.write(b'bytes\\n')\nprint('text')", "bytes\ntext\n", ""},
		{"print('\\udc80' + '\\x00')", "�\x00\n", ""},
		{"print(sys.stdout.isatty(), sys.stdout.encoding, sys.stdin.read() == '')", "False utf-8 True\n", ""},
		{"sys.stdout.write(1)", "", "write() argument must be str, not int"},
		{"from __future__ import annotations\ndef f(x: missing): pass", "", ""},
		{"def g(x: missing): pass", "", ""}, // the cell before is in force
		{"!ls -l", "", "`!ls -l` is a command of IPython, and the driver \"python\" runs plain Python: use the driver \"jupyter\""},
		{"files = !ls", "", "`files = !ls` is a command of IPython"},
		{"x = 1\n%matplotlib inline\nx", "", "`%matplotlib inline` is a command of IPython"},
		{"%%bash\necho hello", "", "`%%bash` is a command of IPython"},
		{"x?", "", "`x?` is a command of IPython"},
		{"import asyncio\nawait asyncio.sleep(0)", "", "use asyncio.run, or the driver \"jupyter\""},
		{"7 %3", "", ""},
		{"(7\n%3)", "", ""},
		{"def f(:", "", "invalid syntax"},
		{"raise SystemExit(3)", "", "3"},
		{"class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd", "", "<error without a text>"},
		{"import getpass\ngetpass.getpass()", "", ""},
		{"import os\nif os.fork() == 0:\n    print('child')\n    display(1)\nelse:\n    _ = os.wait()", "child\n1\n", ""},
		{"import multiprocessing\np = multiprocessing.get_context('fork').Process(target=print, args=('forked',))\np.start()\np.join()", "forked\n", ""},
		{"import atexit, signal\n_ = signal.signal(signal.SIGINT, signal.SIG_IGN)", "", ""},
		{"import warnings\nwarnings.simplefilter('always')\nwarnings.warn('careful')", "<cell c27>:3: UserWarning: careful\n  warnings.warn('careful')\n", ""},
		{"import inspect\ndef shown():\n    return 5\nprint(inspect.getsource(shown))", "def shown():\n    return 5\n\n", ""},
		{"import os\nos.write(4, b'forged\\n')\nprint('after')", "pawl: a line of a cell that is no message: \"forged\"\nafter\n", ""},
	} {
		id := kernel.CellID(fmt.Sprint("c", i-1))
		ending := k.Cell(id, test.code)
		if got := k.Output(id); got != test.prints && test.prints+test.fails != "" && test.fails == "" {
			t.Errorf("%s printed %q, want %q", test.code, got, test.prints)
		}
		switch {
		case test.fails != "" && (ending.Status != kernel.Failed || !strings.Contains(ending.Error.Value, test.fails)):
			t.Errorf("%s: %+v %+v, want %s", test.code, ending, ending.Error, test.fails)
		case test.fails == "" && ending.Status != kernel.OK && !strings.Contains(test.code, "getpass"):
			t.Errorf("%s: %+v %+v", test.code, ending, ending.Error)
		}
	}
}

func TestTraceback(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	k.Cell("load", "def load():\n    return 1 / 0")
	ending := k.Cell("use", "try:\n    load()\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e")
	got := strings.Join(ending.Error.Traceback, "\n")
	for _, want := range []string{
		`File "<cell load>", line 2, in load`, "return 1 / 0", `File "<cell use>", line 2, in <module>`,
		"ZeroDivisionError: division by zero\n\nThe above exception was the direct cause", "KeyError: 'k'",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "bridge") {
		t.Errorf("frames of the bridge in\n%s", got)
	}
	if ending.Error.Name != "KeyError" || ending.Error.Value != "'k'" {
		t.Errorf("error %+v", ending.Error)
	}
}

func TestDisplays(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	k.Cell("classes", `
class Rich:
    def __repr__(self): return "rich"
    def _repr_html_(self): return "<b>", {"isolated": True}
    def _repr_png_(self): return b"\x89PNG"
    def _repr_json_(self): return {"nan": float("nan"), 1: [None, {2}]}
    def _repr_latex_(self): return None
    def _repr_svg_(self): raise ValueError("no picture")
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None): return {"text/plain": "bundle", "application/x-own": {"a": 1}}, {"m": 1}
class Answers:
    def __getattr__(self, name): return lambda *a, **k: "anything"
    def __repr__(self): return "answers"
`)
	for code, want := range map[string]string{
		"display(Rich())":    `{"application/json":{"nan":"nan","1":[null,"{2}"]},"image/png":"iVBORw==","text/html":"<b>","text/plain":"rich"} {"text/html":{"isolated":true}}`,
		"display(Bundle())":  `{"application/x-own":{"a":1},"text/plain":"bundle"} {"m":1}`,
		"display(Answers())": `{"text/plain":"answers"} {}`,
		"display(Rich)":      `{"text/plain":"<class '__main__.Rich'>"} {}`,
		"display({'text/plain': 'raw', 'image/png': b'\\x00'}, raw=True, metadata={'a': 1})": `{"image/png":"AA==","text/plain":"raw"} {"a":1}`,
		"display(Rich(), include=['text/plain'])":                                            `{"text/plain":"rich"} {"text/html":{"isolated":true}}`,
	} {
		if ending := k.Cell("display", code); ending.Status != kernel.OK {
			t.Errorf("%s: %+v", code, ending.Error)
			continue
		}
		m := k.Last(kernel.KindDisplay)
		data, err := json.Marshal(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		data = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(data)))
		var metadata any
		if err := json.Unmarshal(m.Metadata, &metadata); err != nil {
			t.Fatal(err)
		}
		meta, _ := json.Marshal(metadata)
		if got := string(data) + " " + string(meta); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", code, got, want)
		}
	}
	if got := k.Output("display"); !strings.Contains(got, "ValueError: no picture") {
		t.Errorf("the error of _repr_svg_ is not printed: %q", got)
	}
	k.Cell("handle", "h = display(1, display_id=True)\nh.update(2)")
	if first, then := k.Last(kernel.KindDisplay), k.Last(kernel.KindUpdate); first.DisplayID == "" || first.DisplayID != then.DisplayID {
		t.Errorf("ids %q and %q", first.DisplayID, then.DisplayID)
	}
	if ending := k.Cell("bad", "class Bad:\n    def __repr__(self): raise ValueError('no repr')\nBad()"); ending.Status != kernel.Failed || ending.Error.Value != "no repr" {
		t.Errorf("%+v", ending)
	}
}

// A large display is one message.
func TestLargeDisplay(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	k.Cell("c", "display({'text/plain': 'x' * (60 << 20)}, raw=True)")
	if n := len(k.Last(kernel.KindDisplay).Data["text/plain"]); n != 60<<20+2 {
		t.Errorf("%d bytes", n)
	}
}

// The text that was printed before the kernel is killed is reported, also if it is longer than the pipe.
func TestHalfMessage(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	ending := k.Cell("c", "import os, signal, threading\nprint('x' * (3 << 20))\n"+
		"threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()\nwhile True:\n    print('x' * (3 << 20))")
	if ending.Status != kernel.Lost || len(k.Output("c")) < 3<<20 {
		t.Errorf("%+v with %d bytes", ending, len(k.Output("c")))
	}
}

// Interrupts at random moments end the cell or come too late; they never break the kernel or a message.
func TestInterruptStorm(t *testing.T) {
	t.Parallel()
	k := start(t, nil)
	interrupted := 0
	for i := range 100 {
		id := kernel.CellID(fmt.Sprint("c", i))
		late := time.After(time.Duration(i) * 20 * time.Microsecond)
		sent := make(chan error)
		go func() {
			<-late
			sent <- k.Interrupt(t.Context())
		}()
		ending := k.Cell(id, "for i in range(300):\n    print(i)\n    display(i)")
		if err := <-sent; err != nil {
			t.Error(err)
		}
		switch ending.Status {
		case kernel.Interrupted:
			interrupted++
		case kernel.OK:
		default:
			t.Fatalf("%+v %+v", ending, ending.Error)
		}
		if strings.Contains(k.Output(id), "pawl:") {
			t.Fatalf("a broken message: %q", k.Output(id))
		}
	}
	if interrupted == 0 {
		t.Error("no cell was interrupted")
	}
}

// Modules in the working folder replace none that the bridge needs, and cells can import them.
func TestShadowedModules(t *testing.T) {
	t.Parallel()
	k := start(t, func(spec *kernel.Spec) {
		for _, name := range []string{"json", "io", "signal", "linecache", "traceback", "termios", "own"} {
			if err := os.WriteFile(filepath.Join(spec.Dir, name+".py"), []byte("value = 'of the folder'"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	k.Cell("c", "import own\nprint(own.value)\n1/0")
	if got := k.Output("c"); got != "of the folder\n" {
		t.Errorf("printed %q", got)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	good := kernel.Spec{Python: python(t), Dir: t.TempDir()}
	for _, test := range []struct {
		change func(*kernel.Spec)
		want   string
	}{
		{func(s *kernel.Spec) { s.Python.Path = "python3" }, "is no absolute path"},
		{func(s *kernel.Spec) { s.Python.Path = "/nowhere/python3" }, "start /nowhere/python3 (test): "},
		{func(s *kernel.Spec) { s.Python.Path = "/bin/true" }, "/bin/true (test) ended before it was ready for cells: exited with code 0"},
		{func(s *kernel.Spec) { s.Python.Path = "/bin/ls" }, "before it was ready for cells"},
		{func(s *kernel.Spec) { s.Dir = "/nowhere" }, "working folder: stat /nowhere"},
		{func(s *kernel.Spec) { s.Dir = "/dev/null" }, "/dev/null is not a folder"},
		{func(s *kernel.Spec) { s.StartLimit = 1 }, "was not ready for cells within 1ns"},
		{func(s *kernel.Spec) { s.Environ = []string{"PYTHONHOME=/nowhere"} }, "before it was ready for cells"},
	} {
		spec := good
		test.change(&spec)
		k, err := Driver{}.Start(t.Context(), spec, func(kernel.Message) {})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
		if k != nil {
			t.Error("a kernel")
		}
	}
}

// A kernel runs as another user.
func TestRunAs(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 { // only root can do this
		return
	}
	k := start(t, func(spec *kernel.Spec) {
		spec.RunAs = &pawl.Account{Name: "nobody", UID: 65534, GID: 65534}
		spec.Dir = "/"
	})
	k.Cell("c", "import os\nprint(os.getuid(), os.getgid(), os.getgroups())")
	if got := k.Output("c"); got != "65534 65534 []\n" {
		t.Errorf("printed %q", got)
	}
	if stacks, err := k.Stacks(t.Context()); err != nil || stacks == "" {
		t.Errorf("stacks %q, error %v", stacks, err)
	}
}

// No goroutine is left of a kernel that was closed.
func TestGoroutines(t *testing.T) {
	before := goleak.IgnoreCurrent()
	k := start(t, nil)
	k.Cell("c", "1")
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

// parentVar makes the test program start a kernel and wait.
const parentVar = "PAWL_TEST_KERNEL_PARENT"

// TestParent starts a kernel in a process of its own, which TestDiesWithParent kills.
func TestParent(t *testing.T) {
	if os.Getenv(parentVar) == "" {
		return
	}
	k := start(t, nil)
	go func() { _, _ = k.Execute(t.Context(), kernel.Cell{ID: "c", Code: "while True: pass"}) }()
	fmt.Println(k.Info().PID)
	<-k.Done()
}

// A kernel that is busy dies when the process that started it is killed.
func TestDiesWithParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" { // elsewhere the kernel ends after the cell
		return
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestParent$")
	parent.Env = append(os.Environ(), parentVar+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	kerneltest.Retry(t, func() bool { return kerneltest.Gone(pid) })
}

// BenchmarkStart reports how long a kernel takes until the first cell has run, as a multiple of python3 -c pass.
func BenchmarkStart(b *testing.B) {
	var plain, first, end time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := exec.Command(python(b).Path, "-c", "pass").Run(); err != nil {
			b.Fatal(err)
		}
		plain += time.Since(begin)
		begin = time.Now()
		k := start(b, nil)
		k.Cell("c", "pass")
		first += time.Since(begin)
		begin = time.Now()
		if err := k.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		end += time.Since(begin)
	}
	b.ReportMetric(float64(first)/float64(plain), "×python")
	b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "ms/start")
	b.ReportMetric(float64(end.Milliseconds())/float64(b.N), "ms/close")
}

func BenchmarkCell(b *testing.B) {
	k := start(b, nil)
	for b.Loop() {
		k.Cell("c", "pass")
	}
}

func BenchmarkPrint(b *testing.B) {
	k := start(b, nil)
	for b.Loop() {
		k.Cell("c", "for i in range(1000):\n    print(i)")
	}
}
