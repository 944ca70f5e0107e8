package storytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"pawl/test/terminal"
)

// terminalCommands are the commands of stories about someone at a terminal.
var terminalCommands = map[string]func(*testscript.TestScript, bool, []string){
	"terminal": startAtTerminal, "type": typeText, "screen": checkScreen, "resize": resize,
}

// startAtTerminal starts a program at a terminal of its own: terminal NAME 80x24 COMMAND…. When it has ended, NAME.out has what is on
// the screen.
func startAtTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || neg {
		ts.Fatalf("usage: terminal NAME WIDTHxHEIGHT COMMAND…")
	}
	s := storyOf(ts)
	width, height := sizeOf(ts, args[1])
	t, err := terminal.Open(width, height)
	ts.Check(err)
	path := args[2]
	if path == "pawl" {
		path = filepath.Join(s.programs, path)
	}
	p := &program{Cmd: exec.Command(path, args[3:]...), ended: make(chan struct{}), terminal: t}
	p.Dir, p.Env = ts.MkAbs("."), append(slices.Clone(s.env.Vars), "PATH="+ts.Getenv("PATH"), "TERM="+ts.Getenv("TERM"), "NO_COLOR="+ts.Getenv("NO_COLOR"))
	ts.Check(t.Start(p.Cmd))
	s.started[args[0]] = p
	out, errors := ts.MkAbs(args[0]+".out"), ts.MkAbs(args[0]+".err")
	go func() {
		p.Wait() // the story reads ProcessState
		t.Close()
		os.WriteFile(out, []byte(t.String()), 0o600)
		os.WriteFile(errors, nil, 0o600)
		close(p.ended)
	}()
}

func sizeOf(ts *testscript.TestScript, text string) (width, height int) {
	if _, err := fmt.Sscanf(text, "%dx%d", &width, &height); err != nil {
		ts.Fatalf("%s: %v", text, err)
	}
	return width, height
}

func terminalOf(ts *testscript.TestScript, name string) *terminal.Terminal {
	if p := storyOf(ts).started[name]; p != nil {
		if t, ok := p.terminal.(*terminal.Terminal); ok {
			return t
		}
	}
	ts.Fatalf("no program %s was started at a terminal", name)
	return nil
}

// typeText types a text, in which \n and \x03 (Ctrl-C) stand for these keys: type NAME TEXT.
func typeText(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: type NAME TEXT")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(terminalOf(ts, args[0]).Type(text))
}

// checkScreen waits until what is on the screen, or has scrolled off it, matches a pattern: screen NAME PATTERN. With "!", it checks
// that it does not match now.
func checkScreen(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: screen NAME PATTERN")
	}
	t := terminalOf(ts, args[0])
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	switch matches := func() bool { return pattern.MatchString(t.String()) }; {
	case neg && matches():
		ts.Fatalf("the screen matches %s:\n%s", args[1], t)
	case !neg && !Until(matches):
		ts.Fatalf("the screen does not match %s:\n%s", args[1], t)
	}
	if unknown := t.Unknown(); len(unknown) > 0 {
		ts.Fatalf("unknown sequences: %q", unknown)
	}
}

// resize changes the size of a terminal: resize NAME 40x24.
func resize(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: resize NAME WIDTHxHEIGHT")
	}
	width, height := sizeOf(ts, args[1])
	ts.Check(terminalOf(ts, args[0]).Resize(width, height))
}
