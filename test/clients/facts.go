package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// check is one property of a brief, and the error if it does not hold.
type check struct {
	name string
	err  error
}

// facts compares the brief with the truth about a session with every kind of work.
func (b brief) facts(is facts) []check {
	return []check{
		{"doubt", b.doubt(is)},
		{"whole", b.whole(is)},
		{"denial", b.denial()},
		{"folder", b.folder(is)},
		{"refused", b.refused(pushing, is.forgets)},
		{"background", b.background(is.bg)},
		{"sub-agent", b.subagent()},
		{"failure", b.failure()},
		{"finished", b.finished()},
		{"own prompt", b.ownPrompt()},
	}
}

// lines returns the lines that contain some words.
func (b brief) lines(words string) []string {
	return slices.DeleteFunc(strings.Split(b.text, "\n"), func(l string) bool { return !strings.Contains(l, words) })
}

// about returns the line about the interrupted command; "" if there is none.
func (b brief) about() string {
	for line := range strings.Lines(b.section("in doubt")) {
		if strings.Contains(line, "until test -e") {
			return line
		}
	}
	return ""
}

// evidence returns that line without the command, which may be truncated.
func (b brief) evidence(command string) string {
	return regexp.MustCompile("`[^`]*echo[^`]*`").ReplaceAllString(strings.ReplaceAll(b.about(), command, ""), "")
}

// verdictOnTheSteps returns the verdict on the interrupted command.
func (b brief) verdictOnTheSteps() string { return brief{"\n## in doubt\n" + b.about()}.verdict() }

// whole checks that the interrupted command is complete.
func (b brief) whole(is facts) error {
	if strings.Contains(b.about(), is.command) {
		return nil
	}
	return errors.New("the interrupted command is not complete: " + b.about())
}

// denial checks that the brief does not claim that the call was not denied.
func (b brief) denial() error {
	if noDenial.MatchString(b.text) {
		return errors.New("the brief says that there was no denial, which is unknown")
	}
	return nil
}

// doubt checks the line about the interrupted command.
func (b brief) doubt(is facts) error {
	line := b.evidence(is.command)
	for _, c := range []struct {
		what  string
		holds bool
	}{
		{"the command in doubt", line != ""},
		{"when it began", strings.Contains(line, is.began.UTC().Format("15:04:05"))},
		{"whose it was", strings.Contains(line, is.agent)},
		{"that it was done partly", strings.Contains(line, "partly")},
		{"that step1.txt was changed", strings.Contains(line, "step1.txt")},
		{"its process, if and only if that is alive", is.dying() || names(line, is.pid) == is.alive},
	} {
		if !c.holds {
			return fmt.Errorf("the brief does not report %s: %s", c.what, line)
		}
	}
	return nil
}

// names reports whether a process is named.
func names(text string, pid int) bool {
	return regexp.MustCompile(fmt.Sprintf(`\b(process|pid) %d\b`, pid)).MatchString(text)
}

// noDenial matches claims that cannot be known: agents do not report a person's refusal to hooks.
var noDenial = regexp.MustCompile(`nobody (denied|refused) it|not denied|no denial was recorded`)

// folder checks that the brief names the folder of a command if it is not the project's. A command may itself change to it.
func (b brief) folder(is facts) error {
	line := strings.ReplaceAll(b.evidence(is.command), "db/step1.txt", "")
	if is.folder == "" || regexp.MustCompile(`\b(in|folder|directory|worktree|cd)\W+`+regexp.QuoteMeta(is.folder)+`\b`).MatchString(line) {
		return nil
	}
	return fmt.Errorf("the brief does not say that the command ran in %s: %s", is.folder, line)
}

// refused checks that refused work is not proposed, and is called refused; or unknown, if the refusal cannot be known.
func (b brief) refused(command string, unknowable bool) error {
	if strings.Contains(b.section("next"), command) {
		return errors.New("refused work is proposed as next: " + b.section("next"))
	}
	for _, line := range b.lines(command) {
		honest := unknowable && strings.Contains(line, "verdict: unknown")
		if !honest && !refusal.MatchString(noDenial.ReplaceAllString(line, "")) {
			return errors.New("this is not called refused: " + line)
		}
	}
	return nil
}

// refusal matches the words for a refusal, pawl's or the agent's.
var refusal = regexp.MustCompile(`refus|den(ied|ial)|reject|forbid|rule which prevents`)

// background checks that a background process is named as long as it is alive.
func (b brief) background(bg process) error {
	switch {
	case bg.before != bg.after:
		return nil // it ended while the brief was written
	case bg.after && !names(b.text, bg.pid):
		return fmt.Errorf("process %d runs in the background, and is not named: %s", bg.pid, strings.Join(b.lines("while ! test"), "\n"))
	case !bg.after && names(b.text, bg.pid):
		return fmt.Errorf("process %d has ended, and is named", bg.pid)
	}
	return nil
}

// byAnother matches the paths that an interrupted call perhaps did not change: another call did.
var byAnother = regexp.MustCompile(`changed since, by it or by another call: [^;]*`)

// subagent checks that finished work of a sub-agent is reported as finished.
func (b brief) subagent() error {
	if doubt := byAnother.ReplaceAllString(b.section("in doubt"), ""); strings.Contains(doubt, "sub.md") || strings.Contains(doubt, subtask) {
		return errors.New("the sub-agent's work is in doubt: " + doubt)
	}
	if strings.Contains(b.section("next"), "sub.md") {
		return errors.New("the sub-agent's work is proposed as next: " + b.section("next"))
	}
	if len(b.lines("sub.md")) == 0 {
		return errors.New("the file that the sub-agent wrote is not reported")
	}
	return nil
}

// failure checks that a failed command is reported as failed.
func (b brief) failure() error {
	said := b.lines("tried.txt")
	if len(said) == 0 {
		return errors.New("the failed command is not reported")
	}
	for _, line := range said {
		if !regexp.MustCompile(`fail|exit (code|status)? ?4|exited with`).MatchString(strings.ReplaceAll(line, failing, "")) {
			return errors.New("this is not called failed: " + line)
		}
	}
	return nil
}

// finished checks that finished work is listed only as finished.
func (b brief) finished() error {
	for _, file := range []string{"notes.md", "count.txt"} {
		if b.asksFor(file) {
			return fmt.Errorf("%s is finished, and is listed as in doubt or next", file)
		}
	}
	return nil
}

// ownPrompt checks that the brief does not propose the session's own prompt as earlier work.
func (b brief) ownPrompt() error {
	if next := b.section("next"); strings.Contains(next, goOn) {
		return errors.New("the brief proposes the session's own prompt: " + next)
	}
	return nil
}

// asksForNothing checks that the brief proposes no prompt of a session that ended well.
func (b brief) asksForNothing() error {
	if next := b.section("next"); strings.Contains(next, goOn) || strings.Contains(next, beginWithNotes) {
		return errors.New("a session ended well, and its prompt is proposed as next: " + next)
	}
	return nil
}

// hooksFailed returns the errors that hooks logged.
func (s *story) hooksFailed() error {
	complaints, err := os.ReadFile(s.place.project(".pawl", "hook.log"))
	if err == nil {
		return fmt.Errorf("hooks failed:\n%s", complaints)
	}
	return nil
}

// onlyOneGone checks that of all sessions, also those of sub-agents, only the killed one has ended unexpectedly.
func (s *story) onlyOneGone(ctx context.Context) error { return s.gone(ctx, 1) }

// noneGone checks that no session has ended unexpectedly.
func (s *story) noneGone(ctx context.Context) error { return s.gone(ctx, 0) }

func (s *story) gone(ctx context.Context, want int) error {
	is, err := s.status(ctx)
	if err != nil {
		return err
	}
	gone := 0
	for _, one := range is.Sessions {
		if one.Gone && one.Doing != "ended" && one.Doing != "idle" {
			gone++
		}
	}
	if gone != want {
		return fmt.Errorf("%d sessions were killed, and %d of %d are reported as ended unexpectedly", want, gone, len(is.Sessions))
	}
	return nil
}

// aliveStill checks that the interrupted command is reported as long as its process is alive.
func (b brief) aliveStill(pid int) error {
	if living(pid) && !names(b.text, pid) {
		return fmt.Errorf("process %d of the interrupted command is alive, and is no longer reported", pid)
	}
	return nil
}
