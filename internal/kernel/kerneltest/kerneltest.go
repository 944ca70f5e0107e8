// Package kerneltest has the tests that all drivers of kernels pass.
package kerneltest

import (
	"fmt"
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

	Natives  string                      // writes "native out\n" to descriptor 1 and "native err\n" to descriptor 2; a child process: "child out\n" and "child err\n"
	Ordered  string                      // prints the lines one, two, three and four, of which a child process prints the second
	Thread   string                      // starts a thread that waits until Release is executed, and then prints the line "late"
	Release  string                      // returns after the thread has printed
	Updates  string                      // displays 1 with an id, updates it to 2, clears the output with wait, displays 3
	Loop     string                      // prints the line "running" and loops forever
	Sleep    string                      // prints the line "running" and sleeps for an hour
	Call     string                      // prints the line "running" and is in native code for seconds
	Join     string                      // prints the line "running" and waits for that thread
	Waiting  string                      // what the stack of that thread contains
	Asked    string                      // starts and ends threads while its process gets the signals of Stacks again and again
	Kill     string                      // prints the line "last words" and kills its process with SIGKILL
	Exit     string                      // ends its process with exit code 3
	Crash    string                      // kills its process with SIGSEGV
	Crashed  string                      // what the language prints then, with the stacks
	Clean    func(path string) string    // prints the line "running" and loops until it is interrupted; then it creates a file
	Exhaust  string                      // limits its memory and needs more
	Leave    string                      // starts a process, and one in a session of its own, that run for an hour; prints their numbers in one line
	Deaf     func(signals string) string // prints "running" and the numbers of a child and of one in a session of its own, which ignore SIGINT and SIGTERM; loops, and prints "got NAME" at each of the signals
	WaitFor  func(path string) string    // waits until a file exists, and then prints the line "found"
	Environ  string                      // prints all variables of the environment, one NAME=value a line, and the working folder as PWD=…
	Numbered string                      // the name of a variable that Set can set
}

// session is a kernel of the suite.
type session struct {
	*Session
	config Config
	dir    string // its working folder
	cells  int
}

const secretName, secret = "PAWL_TEST_SECRET", "a secret of the parent"

// Run runs the suite.
func Run(t *testing.T, c Config) {
	t.Setenv(secretName, secret)
	if c.Displays == 0 {
		c.Displays = 20_000
	}
	var shared *session
	for _, test := range []struct {
		name   string
		can    bool
		shared func(*session)           // with a kernel that the tests share
		own    func(*testing.T, Config) // starts its kernels
	}{
		{"Ready", true, testReady, nil},
		{"Environment", true, testEnvironment, nil},
		{"Streams", true, testStreams, nil},
		{"Descriptors", c.Can.Descriptors, testDescriptors, nil},
		{"Order", c.Can.Order, testOrder, nil},
		{"Threads", c.Can.Threads, testThreads, nil},
		{"Lines", true, testLines, nil},
		{"Many", true, testMany, nil},
		{"Result", true, testResult, nil},
		{"Updates", c.Can.Displays, testUpdates, nil},
		{"Error", true, testError, nil},
		{"Input", true, testInput, nil},
		{"Silent", true, testSilent, nil},
		{"Loop", true, func(s *session) { testInterrupt(s, c.Language.Loop) }, nil},
		{"Sleep", c.Can.Interrupts, func(s *session) { testInterrupt(s, c.Language.Sleep) }, nil},
		{"Call", c.Can.Native, func(s *session) { testInterrupt(s, c.Language.Call) }, nil},
		{"Idle", true, testIdle, nil},
		{"Context", true, testContext, nil},
		{"Stacks", c.Can.Stacks, testStacks, nil},
		{"StacksOfThreads", c.Can.Stacks, testStacksOfThreads, nil},
		{"Killed", true, nil, testKilled},
		{"Exited", c.Can.Local, nil, testExited},
		{"Crashed", c.Can.Local, nil, testCrashed},
		{"Exhausted", true, nil, testExhausted},
		{"Outside", c.Can.Local, nil, testOutside},
		{"Close", c.Can.Local && c.Can.Children, nil, testClose},
		{"CloseBusy", true, nil, testCloseBusy},
		{"Ladder", c.Can.Local && c.Can.Children, nil, testLadder},
		{"Two", true, nil, testTwo},
	} {
		if !test.can {
			continue
		}
		if test.own != nil {
			t.Run(test.name, func(t *testing.T) { test.own(t, c) })
			continue
		}
		if shared == nil {
			shared = start(t, c)
		}
		if !t.Run(test.name, func(t *testing.T) { test.shared(shared.of(t)) }) {
			shared = nil
		}
	}
}

// start starts a kernel in a folder of the test.
func start(t testing.TB, c Config) *session {
	t.Helper()
	spec := specOf(t, c)
	return &session{Session: Start(t, c.Driver, spec), config: c, dir: spec.Dir}
}

// specOf returns the Spec of a kernel in a folder of the test.
func specOf(t testing.TB, c Config) kernel.Spec {
	t.Helper()
	runtime, err := os.MkdirTemp("/tmp", "pawl-k-") // the paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	dir := filepath.Join(t.TempDir(), "Ordner mit 'Leerzeichen' und ü")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := kernel.Spec{
		Dir: dir, Runtime: runtime, Log: filepath.Join(runtime, "log"), Session: "session of a test",
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + runtime, "PAWL_TEST_NAME=ä = ' \" b"},
	}
	c.Prepare(t, &spec)
	return spec
}

// of gives the kernel to a test.
func (s *session) of(t testing.TB) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t = t
	return s
}

// slow is how long emit takes once. A kernel sends thousands of messages meanwhile.
const slow = 2 * time.Second

// slowDown makes emit slow for the next output.
func (s *session) slowDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = slow
}

// pending is a cell under way.
type pending struct {
	id    kernel.CellID
	ended <-chan kernel.Ending
}

// begin executes a cell in the background.
func (s *session) begin(code string) pending {
	s.cells++
	id := kernel.CellID(fmt.Sprint("cell-", s.cells))
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
