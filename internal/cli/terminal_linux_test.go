package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/cli"
)

// terminal is a terminal at which a person sits.
type terminal struct {
	*place
	person *os.File // what the person types goes in here, what they see comes out
	screen *safeBuffer
	tty    *os.File
}

// atTerminal opens a terminal in a folder. What is printed there is kept.
func (p *place) atTerminal() *terminal {
	p.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		p.Fatal(err)
	}
	var number int
	if err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		number, err = unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	}
	if err != nil {
		p.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		p.Fatal(err)
	}
	t := &terminal{place: p, person: person, screen: &safeBuffer{}, tty: tty}
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		part := make([]byte, 4096)
		for {
			n, err := person.Read(part)
			t.screen.Write(part[:n])
			if err != nil {
				return
			}
		}
	}()
	p.Cleanup(func() {
		tty.Close() // then the other end reads an error
		<-seen
		person.Close()
	})
	return t
}

// types runs a command at the terminal, at which a person has typed a text.
func (t *terminal) types(text string, args ...string) error {
	t.Helper()
	if _, err := t.person.WriteString(text); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return cli.Run(ctx, append([]string{"-C", t.dir}, args...), cli.IO{In: t.tty, Out: t.tty, Err: t.tty}, "test", parts())
}

// TestConfirm asks a person before files are changed, and takes only yes for yes.
func TestConfirm(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("a.txt", "one\n")
	p.ok("checkpoint")
	p.write("a.txt", "two\n")
	at := p.atTerminal()
	for _, answer := range []string{"n\n", "\n", "what\n", "\x04"} {
		if err := at.types(answer, "restore", "latest"); pawl.KindOf(err) != pawl.KindUsage || p.read("a.txt") != "two\n" {
			t.Errorf("%q: %v, %q", answer, err, p.read("a.txt"))
		}
	}
	p.wants(at.screen.String(), "[y/N]", "a.txt")
	if err := at.types("y\n", "restore", "latest"); err != nil || p.read("a.txt") != "one\n" {
		t.Errorf("%v: %q", err, p.read("a.txt"))
	}
}

// TestScreen runs a plan at a terminal, with a gate and a failure, and watches it.
func TestScreen(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", `name: demo
steps:
  - id: draft
    run: pawl progress 1/2; until test -e seen; do sleep 0.02; done; pawl progress 2/2
  - {id: each, needs: [draft], foreach: {items: [a, b]}, run: echo "$PAWL_ITEM"}
  - {id: look, needs: [each], gate: {type: human_verify, ask: Good?}}
`)
	at := p.atTerminal()
	ended := make(chan error, 1)
	go func() { ended <- at.types("l\n", "run", "plan.yaml") }()
	p.until("the progress is on the screen", func() bool { return strings.Contains(at.screen.String(), "1/2") })
	p.write("seen", "")
	if err := <-ended; pawl.KindOf(err) != pawl.KindAtGate {
		t.Error(err)
	}
	p.wants(at.screen.String(), "draft", "each", "look", "Good?", "\x1b[")
	if err := at.types("", "watch"); pawl.KindOf(err) != pawl.KindAtGate {
		t.Error(err)
	}
	if err := at.types("", "status"); err != nil {
		t.Error(err)
	}
}

// TestRerunConfirmed resumes a run with a changed input at a terminal. The person decides whether finished work runs again.
func TestRerunConfirmed(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("in.txt", "one\n")
	p.write("plan.yaml", `name: demo
steps:
  - {id: copy, inputs: [in.txt], run: "echo copy >> ran.txt"}
  - {id: look, needs: [copy], gate: {type: human_verify, ask: Good?}}
`)
	p.fails(pawl.KindAtGate, "run", "plan.yaml")
	p.write("in.txt", "two\n")
	at := p.atTerminal()
	if err := at.types("n\n", "resume"); pawl.KindOf(err) != pawl.KindUsage || len(p.ran()) != 1 {
		t.Errorf("%v: %q", err, p.ran())
	}
	if err := at.types("y\nl\n", "resume"); pawl.KindOf(err) != pawl.KindAtGate || len(p.ran()) != 2 {
		t.Errorf("%v: %q", err, p.ran())
	}
}

// TestAttachConfirmed attaches an agent at a terminal. The person decides whether files are changed.
func TestAttachConfirmed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	at := p.atTerminal()
	if err := at.types("n\n", "attach", "claude"); err == nil || p.exists(".claude") {
		t.Errorf("attached: %v", err)
	}
	if err := at.types("y\n", "attach", "claude"); err != nil || !p.exists(".claude") {
		t.Errorf("not attached: %v", err)
	}
}

// TestImportConfirmed imports work at a terminal. Its system asks whether to archive it and start over.
func TestImportConfirmed(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	for answer, imported := range map[string]bool{"y\n": false, "n\n": true} {
		folder := t.TempDir()
		p.ok("export", "dotagent", folder)
		q := &place{T: t, dir: folder}
		if err := q.atTerminal().types(answer, "import", "dotagent"); err != nil {
			t.Error(err)
		}
		if got := q.pawl("status").err == nil; got != imported {
			t.Errorf("%q: imported: %t", answer, got)
		}
	}
}

// TestInheritedAsked works in a project that an older pawl registered. The person is asked once whether to trust it.
func TestInheritedAsked(t *testing.T) {
	for answer, trusted := range map[string]bool{"n\n": false, "y\n": true} {
		state := t.TempDir()
		t.Setenv("PAWL_STATE", state)
		p := newPlace(t)
		p.ok("checkpoint")
		entries, err := filepath.Glob(state + "/projects/*.json")
		if err != nil || len(entries) != 1 {
			t.Fatalf("%q, %v", entries, err)
		}
		entry, err := os.ReadFile(entries[0])
		if err != nil {
			t.Fatal(err)
		}
		older := strings.Replace(string(entry), `"consent": "trusted"`, `"consent": ""`, 1)
		if err := errors.Join(os.WriteFile(entries[0], []byte(older), 0o600), os.RemoveAll(state+"/trusted"), os.Remove(filepath.Join(p.dir, ".pawl", "local"))); err != nil {
			t.Fatal(err)
		}
		p.fails(pawl.KindDamaged, "learn", "x")
		at := p.atTerminal()
		if err := at.types(answer, "learn", "x"); (err == nil) != trusted {
			t.Errorf("%q: %v", answer, err)
		}
		p.until("the question is on the screen", func() bool { return strings.Contains(at.screen.String(), "[y/N]") })
		p.wants(at.screen.String(), "If you trust it, pawl uses from now on:", "An earlier pawl", "Trust this project? [y/N]")
		if err := at.types("", "learn", "y"); (err == nil) != trusted || strings.Count(at.screen.String(), "[y/N]") != 1 {
			t.Errorf("%q, again: %v: %s", answer, err, at.screen.String())
		}
	}
}
