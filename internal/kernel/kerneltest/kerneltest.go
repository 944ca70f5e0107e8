// Package kerneltest has the tests that all drivers of kernels pass.
package kerneltest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl/internal/kernel"
)

// Config is a driver to test, with one kind of kernel.
type Config struct {
	Driver   kernel.Driver
	Prepare  func(t testing.TB, spec *kernel.Spec) // completes a Spec: the interpreter, the kernelspec or the server
	Language Language
	Can      Can
	Displays int // how many displays one cell shows while emit is slow. Defaults to 20,000.
}

// Can says what a driver with this kind of kernel can do. A test of something that it cannot do is not run.
type Can struct {
	Local       bool // the kernel is a process on this machine: its signal and exit code are known
	Descriptors bool // output of native code and of child processes is reported
	Order       bool // such output keeps its order among the kernel's own
	Durable     bool // output that was printed before the kernel is killed is reported
	Threads     bool // output of a thread belongs to the cell that started it
	Displays    bool // displays have ids, and can be updated and cleared
	Stacks      bool // the stacks of a running cell are known
	Interrupts  bool // interrupts reach sleeping code; the kernel keeps its variables
	Native      bool // the snippet NativeCall ends within seconds
	Children    bool // cells can start processes
}

// Everything is what the best driver can do.
func Everything() Can {
	return Can{
		Local: true, Descriptors: true, Order: true, Durable: true, Threads: true, Displays: true, Stacks: true, Interrupts: true,
		Native: true, Children: true,
	}
}

// Language has the code of cells. Snippets of what Can does not list may be empty.
type Language struct {
	Name  string // as in kernel.Info
	Pass  string // does nothing
	Both  string // prints the line "to stdout" to standard output and the line "to stderr" to standard error
	Print func(text string) string
	Set   func(name string, value int) string // sets a variable
	Value func(name string) string            // an expression: the value of a variable
	Fail  string                              // raises an error with "what went wrong" in its text, in a function blame
	Input string                              // asks for input
	Lines func(lines, length int) string      // prints lines: the number of the line in 8 digits, and x up to the length
	Many  func(n int) string                  // displays the numbers from 0 to n-1
	Rich  string                              // the result has text/plain, and text/html with <b>rich</b>

	Natives  string                   // writes "native out\n" to descriptor 1 and "native err\n" to descriptor 2; a child process: "child out\n" and "child err\n"
	Ordered  string                   // prints the lines one, two, three and four, of which a child process prints the second
	Thread   string                   // starts a thread that waits until Release is executed, and then prints the line "late"
	Release  string                   // returns after the thread has printed
	Updates  string                   // displays 1 with an id, updates it to 2, clears the output with wait, displays 3
	Loop     string                   // prints the line "running" and loops forever
	Sleep    string                   // prints the line "running" and sleeps for an hour
	Call     string                   // prints the line "running" and is in native code for seconds
	Kill     string                   // prints the line "last words" and kills its process with SIGKILL
	Exit     string                   // ends its process with exit code 3
	Crash    string                   // kills its process with SIGSEGV
	Exhaust  string                   // limits its memory and needs more
	Leave    string                   // starts a process, and one in a session of its own, that run for an hour; prints their numbers in one line
	WaitFor  func(path string) string // waits until a file exists, and then prints the line "found"
	Environ  string                   // prints all variables of the environment, one NAME=value a line, and the working folder as PWD=…
	Numbered string                   // the name of a variable that Set can set
}

// session is a kernel of the suite.
type session struct {
	*Session
	config Config
	cells  int
}

const secretName, secret = "PAWL_TEST_SECRET", "a secret of the parent"

// Run runs the suite.
func Run(t *testing.T, c Config) {
	t.Setenv(secretName, secret)
	if c.Displays == 0 {
		c.Displays = 20_000
	}
	for _, test := range []struct {
		name string
		can  bool
		run  func(*testing.T, Config)
	}{
		{"Ready", true, testReady},
		{"Streams", true, testStreams},
		{"Descriptors", c.Can.Descriptors, testDescriptors},
		{"Order", c.Can.Order, testOrder},
		{"Threads", c.Can.Threads, testThreads},
		{"Lines", true, testLines},
		{"Many", true, testMany},
		{"Result", true, testResult},
		{"Updates", c.Can.Displays, testUpdates},
		{"Error", true, testError},
		{"Input", true, testInput},
		{"Silent", true, testSilent},
		{"Loop", true, func(t *testing.T, c Config) { testInterrupt(t, c, c.Language.Loop) }},
		{"Sleep", c.Can.Interrupts, func(t *testing.T, c Config) { testInterrupt(t, c, c.Language.Sleep) }},
		{"Call", c.Can.Native, func(t *testing.T, c Config) { testInterrupt(t, c, c.Language.Call) }},
		{"Idle", true, testIdle},
		{"Context", true, testContext},
		{"Killed", true, testKilled},
		{"Exited", c.Can.Local, testExited},
		{"Crashed", c.Can.Local, testCrashed},
		{"Exhausted", true, testExhausted},
		{"Outside", c.Can.Local, testOutside},
		{"Close", c.Can.Local && c.Can.Children, testClose},
		{"CloseBusy", true, testCloseBusy},
		{"Two", true, testTwo},
		{"Environment", true, testEnvironment},
		{"Stacks", c.Can.Stacks, testStacks},
	} {
		if test.can {
			t.Run(test.name, func(t *testing.T) { test.run(t, c) })
		}
	}
}

// start starts a kernel in a folder of the test.
func start(t testing.TB, c Config) *session { return startAt(t, c, t.TempDir(), 0) }

func startAt(t testing.TB, c Config, dir string, pause time.Duration) *session {
	t.Helper()
	runtime, err := os.MkdirTemp("/tmp", "pawl-k-") // the paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	spec := kernel.Spec{
		Dir: dir, Runtime: runtime, Log: filepath.Join(runtime, "log"), Session: "session of a test",
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + runtime, "PAWL_TEST_NAME=ä = ' \" b"},
	}
	c.Prepare(t, &spec)
	s := &Session{t: t, changed: make(chan struct{}), pause: pause}
	if err := s.start(c.Driver, spec); err != nil {
		t.Fatal(err)
	}
	return &session{Session: s, config: c}
}

// pending is a cell under way.
type pending struct {
	id    kernel.CellID
	ended <-chan kernel.Ending
}

// begin executes a cell in the background.
func (s *session) begin(code string) pending {
	s.cells++
	id := kernel.CellID("cell-" + string(rune('a'+s.cells)))
	return pending{id, s.Begin(id, code)}
}

// execute executes a cell, and returns its messages.
func (s *session) execute(code string) (kernel.Ending, []kernel.Message) {
	s.t.Helper()
	p := s.begin(code)
	ending := s.End(p.ended)
	return ending, s.Of(p.id)
}

// ok executes a cell that must end well.
func (s *session) ok(code string) []kernel.Message {
	s.t.Helper()
	ending, messages := s.execute(code)
	if ending.Status != kernel.OK {
		s.t.Fatalf("%s: %s, error %+v, because %s", code, ending.Status, ending.Error, ending.Why)
	}
	return messages
}

// value returns the value of a variable, as text.
func (s *session) value(name string) string {
	s.t.Helper()
	for _, m := range s.ok(s.config.Language.Value(name)) {
		if m.Kind == kernel.KindResult {
			return plain(s.t, m)
		}
	}
	s.t.Fatalf("the value of %s is no result", name)
	return ""
}
